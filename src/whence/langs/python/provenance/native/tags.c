/* A tag in little memory: it reads as the tuple that tags.py describes, and takes half the room.
 *
 * Its kind, its place in the program, and of a test whether it held are numbers. It is out of the
 * garbage collector's sight: a tag leads back to itself only by way of an activation, which is made
 * to forget its tags when the run is forgotten, and what is made here holds nothing of the
 * program's. */

#include "tagging.h"

enum { OUTCOME = 5 }; /* where a test has whether it held */

static Tag *dying; /* tags that nobody has any more, one behind the other */
static bool is_freeing;
static Py_ssize_t alive;

static PyObject *new_tag(int kind, PyObject *site, PyObject *control, PyObject *const *rest,
                         Py_ssize_t count)
{
    long place = PyLong_AsLong(site);
    Tag *made = PyObject_Malloc(offsetof(Tag, rest) + (size_t)(1 + count) * sizeof(PyObject *));
    if (made == NULL) {
        return PyErr_NoMemory();
    }
    PyObject_Init((PyObject *)made, &TagType);
    made->kind = (uint8_t)kind;
    made->truth = 0;
    made->count = (uint16_t)(1 + count);
    made->site = (uint32_t)place;
    made->rest[0] = Py_NewRef(control);
    for (Py_ssize_t i = 0; i < count; i++) {
        made->rest[1 + i] = Py_NewRef(rest[i]);
    }
    alive++;
    return (PyObject *)made;
}

static PyObject *plain_tag(int kind, PyObject *site, PyObject *control, PyObject *const *rest,
                           Py_ssize_t count)
{
    PyObject *made = PyTuple_New(3 + count);
    if (made == NULL) {
        return NULL;
    }
    PyTuple_SET_ITEM(made, 0, Py_NewRef(kinds[kind]));
    PyTuple_SET_ITEM(made, 1, Py_NewRef(site));
    PyTuple_SET_ITEM(made, 2, Py_NewRef(control));
    for (Py_ssize_t i = 0; i < count; i++) {
        PyTuple_SET_ITEM(made, 3 + i, Py_NewRef(rest[i]));
    }
    return made;
}

PyObject *tag_with(int kind, PyObject *site, PyObject *control, PyObject *const *rest,
                          Py_ssize_t count)
{
    bool fits = count < UINT16_MAX && PyLong_CheckExact(site);
    return (fits ? new_tag : plain_tag)(kind, site, control, rest, count);
}

/* The same, of what stands in several places, one after the other. */
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
PyObject *test_tag(PyObject *site, PyObject *control, PyObject *why, bool held,
                          PyObject *dropped)
{
    PyObject *activation = field(control, 4);
    if (!PyLong_CheckExact(site)) {
        PyObject *rest[] = {why, activation, held ? Py_True : Py_False, dropped};
        return plain_tag(CTL, site, control, rest, dropped != NULL ? 4 : 3);
    }
    PyObject *rest[] = {why, activation, dropped};
    PyObject *made = new_tag(CTL, site, control, rest, dropped != NULL ? 3 : 2);
    if (made != NULL) {
        ((Tag *)made)->truth = held ? 2 : 1;
    }
    return made;
}

/* iteration.nested: the same test under another control. */
PyObject *native_nest_control(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count != 2 || !Py_IS_TYPE(given[0], &TagType)) {
        return call_python(F_nest_control, given, count);
    }
    Tag *inner = (Tag *)given[0];
    PyObject *site = PyLong_FromUnsignedLong(inner->site);
    PyObject *made =
        site ? new_tag(inner->kind, site, given[1], inner->rest + 1, inner->count - 1) : NULL;
    Py_XDECREF(site);
    if (made != NULL) {
        ((Tag *)made)->truth = inner->truth;
    }
    return made;
}

/* The tag of the object that a method is bound to; borrowed. */
PyObject *receiver_tag(PyObject *tag)
{
    while (tag != Py_None) {
        int kind = kind_of(tag);
        if (kind == BOUND) {
            return field(tag, 4);
        }
        if (kind == AMBIG || kind < ARG) {
            return Py_None;
        }
        tag = field(tag, 3);
    }
    return Py_None;
}

/* A long chain of tags is freed one after the other, not one within the other. */
static void tag_free(PyObject *self)
{
    Tag *tag = (Tag *)self;
    tag->ob_base.ob_type = (PyTypeObject *)dying;
    dying = tag;
    if (is_freeing) {
        return;
    }
    is_freeing = true;
    while (dying != NULL) {
        tag = dying;
        dying = (Tag *)tag->ob_base.ob_type;
        for (uint16_t i = 0; i < tag->count; i++) {
            Py_DECREF(tag->rest[i]);
        }
        alive--;
        PyObject_Free(tag);
    }
    is_freeing = false;
}

static Py_ssize_t tag_length(PyObject *self)
{
    Tag *tag = (Tag *)self;
    return 2 + tag->count + (tag->truth != 0);
}

static PyObject *tag_item(PyObject *self, Py_ssize_t place)
{
    Tag *tag = (Tag *)self;
    if (place == 0) {
        return Py_NewRef(kinds[tag->kind]);
    }
    if (place == 1) {
        return PyLong_FromUnsignedLong(tag->site);
    }
    if (tag->truth != 0 && place >= OUTCOME) {
        if (place == OUTCOME) {
            return PyBool_FromLong(tag->truth == 2);
        }
        place--;
    }
    if (place >= 2 && place < 2 + tag->count) {
        return Py_NewRef(tag->rest[place - 2]);
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

static PySequenceMethods TAG_SEQUENCE = {.sq_length = tag_length, .sq_item = tag_item};
static PyMappingMethods TAG_MAPPING = {.mp_length = tag_length, .mp_subscript = tag_subscript};

PyTypeObject TagType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "whence.langs.python.provenance._tagging.Tag",
    .tp_basicsize = sizeof(Tag),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = tag_free,
    .tp_repr = tag_repr,
    .tp_as_sequence = &TAG_SEQUENCE,
    .tp_as_mapping = &TAG_MAPPING,
};

/* How many such tags there are. */
PyObject *tag_count(PyObject *self, PyObject *nothing)
{
    (void)self;
    (void)nothing;
    return PyLong_FromSsize_t(alive);
}
