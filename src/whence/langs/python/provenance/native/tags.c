/* The tag object: tags.Tag with the same fields, in half the memory.
 *
 * Its kind, its site and the outcome of a test are numbers. The garbage collector does not see it:
 * only an activation leads from a tag back to itself, and activations drop their tags when the run
 * is forgotten; nothing else that a native tag holds belongs to the program. */

#include "tagging.h"

static TagObject *dying; /* dead tags that are still to be freed, as a list */
static bool is_freeing;
static Py_ssize_t alive;

PyObject *tag_with(int kind, PyObject *site, PyObject *control, PyObject *const *rest,
                   Py_ssize_t count)
{
    long place = PyLong_AsLong(site);
    TagObject *made =
        PyObject_Malloc(offsetof(TagObject, fields) + (size_t)(1 + count) * sizeof(PyObject *));
    if (made == NULL) {
        return PyErr_NoMemory();
    }
    PyObject_Init((PyObject *)made, &TagType);
    made->kind = (unsigned)kind;
    made->outcome = 0;
    made->count = (uint32_t)(1 + count);
    made->site = (int)place;
    made->fields[0] = Py_NewRef(control);
    for (Py_ssize_t i = 0; i < count; i++) {
        made->fields[1 + i] = Py_NewRef(rest[i]);
    }
    alive++;
    return (PyObject *)made;
}

/* The same from several arrays, one after the other. */
PyObject *tag_of_parts(int kind, PyObject *site, PyObject *control, const Parts *parts,
                              int count)
{
    PyObject *few[32] = {NULL}, **rest = few, *made;
    Py_ssize_t all = 0, place = 0;
    for (int i = 0; i < count; i++) {
        all += parts[i].count;
    }
    if (all > 32 && (rest = PyMem_New(PyObject *, all)) == NULL) {
        return PyErr_NoMemory();
    }
    for (int i = 0; i < count; i++) {
        for (Py_ssize_t j = 0; j < parts[i].count; j++) {
            rest[place++] = parts[i].tags[j];
        }
    }
    made = tag_with(kind, site, control, rest, all);
    if (rest != few) {
        PyMem_Free(rest);
    }
    return made;
}

/* The tag of a test, and whether it held; `dropped`: of a comprehension, or NULL. */
PyObject *test_tag(PyObject *site, PyObject *control, PyObject *why, PyObject *activation,
                   bool held, PyObject *dropped)
{
    PyObject *rest[] = {why, activation, dropped};
    PyObject *made = tag_with(CTL, site, control, rest, dropped != NULL ? 3 : 2);
    if (made != NULL) {
        ((TagObject *)made)->outcome = held ? 2 : 1;
    }
    return made;
}

PyObject *native_constant(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    return enabled && count == 2 ? tag_with(CONST, given[0], given[1], NULL, 0)
                                 : call_python(F_constant, given, count);
}

PyObject *native_join_branches(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    return enabled && count == 4 ? tag_with(PHI, given[0], given[1], given + 2, 2)
                                 : call_python(F_join_branches, given, count);
}

/* The same test under another control. */
PyObject *native_nest_control(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count != 2 || !Py_IS_TYPE(given[0], &TagType)) {
        return call_python(F_nest_control, given, count);
    }
    TagObject *inner = (TagObject *)given[0];
    PyObject *site = PyLong_FromLong(inner->site);
    PyObject *made =
        site ? tag_with(inner->kind, site, given[1], inner->fields + 1, inner->count - 1) : NULL;
    Py_XDECREF(site);
    if (made != NULL) {
        ((TagObject *)made)->outcome = inner->outcome;
    }
    return made;
}

/* The tag of the object that a method is bound to; borrowed. */
PyObject *receiver_tag(PyObject *tag)
{
    while (tag != Py_None) {
        int kind = kind_of(tag);
        if (kind == BOUND) {
            return tag_field(tag, FIELD_RECEIVER);
        }
        if (kind == AMBIG || kind < ARG) {
            return Py_None;
        }
        tag = tag_field(tag, FIELD_SOURCE);
    }
    return Py_None;
}

/* Frees a long chain of tags in a loop, without recursion. */
static void tag_free(PyObject *self)
{
    TagObject *tag = (TagObject *)self;
    tag->ob_base.ob_type = (PyTypeObject *)dying;
    dying = tag;
    if (is_freeing) {
        return;
    }
    is_freeing = true;
    while (dying != NULL) {
        tag = dying;
        dying = (TagObject *)tag->ob_base.ob_type;
        for (uint32_t i = 0; i < tag->count; i++) {
            Py_DECREF(tag->fields[i]);
        }
        alive--;
        PyObject_Free(tag);
    }
    is_freeing = false;
}

static Py_ssize_t tag_length(PyObject *self)
{
    TagObject *tag = (TagObject *)self;
    return FIELD_CONTROL + tag->count + (tag->outcome != 0);
}

static PyObject *tag_item(PyObject *self, Py_ssize_t place)
{
    TagObject *tag = (TagObject *)self;
    if (place == FIELD_KIND) {
        return Py_NewRef(kinds[tag->kind]);
    }
    if (place == FIELD_SITE) {
        return PyLong_FromLong(tag->site);
    }
    if (tag->outcome != 0 && place >= FIELD_OUTCOME) {
        if (place == FIELD_OUTCOME) {
            return PyBool_FromLong(tag->outcome == 2);
        }
        place--;
    }
    if (place >= FIELD_CONTROL && place < FIELD_CONTROL + tag->count) {
        return Py_NewRef(tag->fields[place - FIELD_CONTROL]);
    }
    PyErr_SetString(PyExc_IndexError, "tag index out of range");
    return NULL;
}

static PyObject *tag_slice(PyObject *self, PyObject *key)
{
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(key, &start, &stop, &step) < 0) {
        return NULL;
    }
    Py_ssize_t count = PySlice_AdjustIndices(tag_length(self), &start, &stop, step);
    PyObject *made = PyTuple_New(count);
    for (Py_ssize_t i = 0; made != NULL && i < count; i++) {
        PyObject *item = tag_item(self, start + i * step);
        if (item == NULL) {
            Py_CLEAR(made);
            break;
        }
        PyTuple_SET_ITEM(made, i, item);
    }
    return made;
}

static PyObject *tag_subscript(PyObject *self, PyObject *key)
{
    if (PySlice_Check(key)) {
        return tag_slice(self, key);
    }
    Py_ssize_t place = PyNumber_AsSsize_t(key, PyExc_IndexError);
    if (place == -1 && PyErr_Occurred()) {
        return NULL;
    }
    return tag_item(self, place < 0 ? place + tag_length(self) : place);
}

static PyObject *tag_repr(PyObject *self)
{
    PyObject *fields = PySequence_Tuple(self);
    PyObject *made = fields != NULL ? PyObject_Repr(fields) : NULL;
    Py_XDECREF(fields);
    return made;
}

/* A field by its name: the closure is its index. */
static PyObject *tag_named(PyObject *self, void *index)
{
    return tag_item(self, (Py_ssize_t)(intptr_t)index);
}

static PyObject *tag_time(PyObject *self, void *unused)
{
    (void)unused;
    bool is_whole = ((TagObject *)self)->kind == WHOLE;
    return tag_item(self, is_whole ? FIELD_WHOLE_TIME : FIELD_TIME);
}

static PyObject *tag_address(PyObject *self, void *unused)
{
    (void)unused;
    bool is_whole = ((TagObject *)self)->kind == WHOLE;
    return tag_item(self, is_whole ? FIELD_WHOLE_ADDRESS : FIELD_ADDRESS);
}

#define NAMED(name, index) {name, tag_named, NULL, NULL, (void *)(intptr_t)(index)}
static PyGetSetDef TAG_FIELDS[] = {
    NAMED("kind", FIELD_KIND),
    NAMED("site", FIELD_SITE),
    NAMED("control", FIELD_CONTROL),
    NAMED("source", FIELD_SOURCE),
    NAMED("name", FIELD_NAME),
    NAMED("text", FIELD_TEXT),
    NAMED("run", FIELD_RUN),
    NAMED("choices", FIELD_CHOICES),
    NAMED("predicate", FIELD_PREDICATE),
    NAMED("activation", FIELD_ACTIVATION),
    NAMED("returned_by", FIELD_RETURNED_BY),
    NAMED("step", FIELD_STEP),
    NAMED("receiver", FIELD_RECEIVER),
    NAMED("outcome", FIELD_OUTCOME),
    NAMED("key", FIELD_KEY),
    NAMED("dropped", FIELD_DROPPED),
    {"time", tag_time, NULL, NULL, NULL},
    {"address", tag_address, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PySequenceMethods TAG_SEQUENCE = {.sq_length = tag_length, .sq_item = tag_item};
static PyMappingMethods TAG_MAPPING = {.mp_length = tag_length, .mp_subscript = tag_subscript};

/* `Tag((kind, site, control, ...))` */
static PyObject *tag_vectorcall(PyObject *type, PyObject *const *given, size_t flags,
                                PyObject *names)
{
    (void)type;
    if (PyVectorcall_NARGS(flags) != 1 || names != NULL || !PyTuple_CheckExact(given[0]) ||
        PyTuple_GET_SIZE(given[0]) <= FIELD_CONTROL) {
        PyErr_SetString(PyExc_TypeError, "Tag: expected a tuple of a kind, a site, a control, ...");
        return NULL;
    }
    PyObject *const *fields = tuple_items(given[0]);
    Py_ssize_t count = PyTuple_GET_SIZE(given[0]);
    long kind = PyLong_AsLong(fields[FIELD_KIND]);
    if (kind < 0 || kind >= TAG_KIND_COUNT || !PyLong_Check(fields[FIELD_SITE])) {
        PyErr_SetString(PyExc_ValueError, "Tag: no such kind, or no site");
        return NULL;
    }
    if (kind == CTL && count > FIELD_OUTCOME) {
        int held = PyObject_IsTrue(fields[FIELD_OUTCOME]);
        return held < 0 ? NULL
                        : test_tag(fields[FIELD_SITE], fields[FIELD_CONTROL],
                                   fields[FIELD_PREDICATE], fields[FIELD_ACTIVATION], held,
                                   count > FIELD_DROPPED ? fields[FIELD_DROPPED] : NULL);
    }
    return tag_with((int)kind, fields[FIELD_SITE], fields[FIELD_CONTROL],
                    fields + FIELD_CONTROL + 1, count - FIELD_CONTROL - 1);
}

PyTypeObject TagType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "whence.langs.python.provenance._tagging.Tag",
    .tp_basicsize = sizeof(TagObject),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_dealloc = tag_free,
    .tp_repr = tag_repr,
    .tp_vectorcall = tag_vectorcall,
    .tp_getset = TAG_FIELDS,
    .tp_as_sequence = &TAG_SEQUENCE,
    .tp_as_mapping = &TAG_MAPPING,
};

/* The number of tags that are alive. */
PyObject *tag_count(PyObject *self, PyObject *nothing)
{
    (void)self;
    (void)nothing;
    return PyLong_FromSsize_t(alive);
}
