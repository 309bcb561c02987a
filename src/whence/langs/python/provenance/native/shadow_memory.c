/* The shadows of objects: shadow_memory.py. */

#include "tagging.h"

/* A new shadow that replaces any other; borrowed from the run. */
PyObject *new_shadow(PyObject *thing)
{
    PyTypeObject *type = (PyTypeObject *)the_Shadow;
    PyObject *made = type->tp_alloc(type, 0);
    if (made == NULL) {
        return NULL;
    }
    SLOT(made, Shadow_object) = Py_NewRef(thing);
    SLOT(made, Shadow_items) = Py_NewRef(Py_None);
    SLOT(made, Shadow_values) = Py_NewRef(Py_None);
    SLOT(made, Shadow_keys) = PyDict_New();
    SLOT(made, Shadow_attributes) = PyDict_New();
    SLOT(made, Shadow_attribute_values) = PyDict_New();
    SLOT(made, Shadow_shape) = Py_NewRef(Py_None);
    SLOT(made, Shadow_address) = PyLong_FromVoidPtr(thing);
    SLOT(made, Shadow_read) = Py_NewRef(Py_None);
    SLOT(made, Shadow_again) = Py_NewRef(empty_tuple);
    bool good = SLOT(made, Shadow_keys) && SLOT(made, Shadow_attributes) &&
                SLOT(made, Shadow_attribute_values) && SLOT(made, Shadow_address) &&
                PyDict_SetItem(SLOT(the_RUN, ShadowRun_shadows), SLOT(made, Shadow_address),
                               made) == 0;
    Py_DECREF(made);
    return good ? made : NULL;
}

/* The shadow of an object, made if it has none; borrowed. */
PyObject *shadow_for(PyObject *thing)
{
    PyObject *known = shadow_of(thing);
    return known != NULL || PyErr_Occurred() ? known : new_shadow(thing);
}

bool keep_alive(PyObject *thing)
{
    PyObject *address = PyLong_FromVoidPtr(thing);
    bool good = address && PyDict_SetItem(SLOT(the_RUN, ShadowRun_kept_alive), address, thing) == 0;
    Py_XDECREF(address);
    return good;
}

/* What a class or one of its bases defines under a name. */
PyObject *native_class_attribute(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count < 2 || count > 3 || !PyType_Check(given[0]) ||
        !PyUnicode_CheckExact(given[1])) {
        return call_python(F_class_attribute, given, count);
    }
    PyObject *found = class_lookup((PyTypeObject *)given[0], given[1]);
    return Py_NewRef(found != NULL ? found : count == 3 ? given[2] : Py_None);
}

/* The dictionary of an object; a new reference. NULL without an exception: it has none. */
PyObject *instance_dict(PyObject *thing)
{
    if (class_lookup(Py_TYPE(thing), name_dict) == NULL) {
        return NULL; /* without an exception, which would be slow */
    }
    PyObject *dict = PyObject_GenericGetAttr(thing, name_dict);
    if (dict == NULL && (PyErr_ExceptionMatches(PyExc_AttributeError) ||
                         PyErr_ExceptionMatches(PyExc_TypeError))) {
        PyErr_Clear();
    }
    return dict;
}

/* All parts of an object with their tags, until `visit` returns false. */
bool each_part(PyObject *shadow, bool (*visit)(PyObject *, PyObject *, void *), void *with)
{
    PyObject *items = SLOT(shadow, Shadow_items), *values = SLOT(shadow, Shadow_values);
    PyObject *key, *part, *tag;
    Py_ssize_t place = 0;
    bool good = true;
    if (PyList_CheckExact(items) && PyList_CheckExact(values)) {
        for (; good && place < PyList_GET_SIZE(values) && place < PyList_GET_SIZE(items); place++) {
            good = visit(PyList_GET_ITEM(values, place), PyList_GET_ITEM(items, place), with);
        }
    }
    else if (PyDict_CheckExact(items) && PyDict_CheckExact(values)) {
        while (good && PyDict_Next(values, &place, &key, &part)) {
            tag = PyDict_GetItemWithError(items, key);
            good = tag != NULL && visit(part, tag, with);
        }
    }
    place = 0;
    while (good && PyDict_Next(SLOT(shadow, Shadow_attribute_values), &place, &key, &part)) {
        tag = PyDict_GetItemWithError(SLOT(shadow, Shadow_attributes), key);
        good = tag != NULL && visit(part, tag, with);
    }
    return good;
}

/* The tag of having read the shape of an object now; a new reference. */
static PyObject *read_shape(PyObject *address, PyObject *shaped)
{
    return TAG_WITH(WHOLE, zero, Py_None, now(), address, shaped);
}

/* The shape of an object that is neither a generator nor an iterator; a new reference. */
static PyObject *shape_by_shadow(PyObject *thing)
{
    PyObject *shadow = shadow_of(thing);
    if (shadow != NULL) {
        return read_shape(SLOT(shadow, Shadow_address), SLOT(shadow, Shadow_shape));
    }
    if (PyErr_Occurred()) {
        return NULL;
    }
    if (!PyList_CheckExact(thing) && !PyDict_CheckExact(thing) &&
        !Py_IS_TYPE(thing, &PySet_Type) && !Py_IS_TYPE(thing, (PyTypeObject *)the_deque)) {
        return Py_NewRef(Py_None);
    }
    PyObject *address = keep_alive(thing) ? PyLong_FromVoidPtr(thing) : NULL;
    PyObject *made = address != NULL ? read_shape(address, Py_None) : NULL;
    Py_XDECREF(address);
    return made;
}

/* The tag of an object's shape; a new reference. */
PyObject *shape_of(PyObject *thing)
{
    PyObject *found, *end, *made;
    if (is_scalar(thing)) {
        found = Py_NewRef(Py_None);
    }
    else if (PyGen_CheckExact(thing) || PyCoro_CheckExact(thing) ||
             PyAsyncGen_CheckExact(thing) || by_address(SLOT(the_RUN, ShadowRun_sources), thing)) {
        return call_python(F_shape_tag, &thing, 1);
    }
    else {
        found = PyErr_Occurred() ? NULL : shape_by_shadow(thing);
    }
    if (found == NULL ||
        (end = by_address(SLOT(the_RUN, ShadowRun_iteration_ends), thing)) == NULL) {
        if (PyErr_Occurred()) {
            Py_CLEAR(found);
        }
        return found;
    }
    made = TAG_WITH(OP, zero, SLOT(SLOT(the_RUN, ShadowRun_root), Activation_control), found,
                    PyTuple_GET_ITEM(end, 1));
    Py_DECREF(found);
    return made;
}

PyObject *native_shape_tag(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    return enabled && count == 1 ? shape_of(given[0]) : call_python(F_shape_tag, given, count);
}

static bool append_address(PyObject *array, PyObject *thing)
{
    PyObject *address = PyLong_FromVoidPtr(thing);
    PyObject *done = address ? PyObject_CallMethodOneArg(array, name_append, address) : NULL;
    Py_XDECREF(address);
    Py_XDECREF(done);
    return done != NULL;
}

/* Note that an object came to hold another. */
bool note_holds(PyObject *holder, PyObject *value)
{
    return is_scalar(value) || (append_address(SLOT(the_RUN, ShadowRun_holder_addresses), holder) &&
                                append_address(SLOT(the_RUN, ShadowRun_held_addresses), value));
}

PyObject *native_note_held(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count != 2) {
        return call_python(F_note_held, given, count);
    }
    return note_holds(given[0], given[1]) ? Py_NewRef(Py_None) : NULL;
}

/* The tag of a part of an object of which only its own tag is known; `step` has a plain key. */
PyObject *part_tag_of(PyObject *site, PyObject *control, PyObject *owner, PyObject *step,
                      PyObject *value, PyObject *const *needs, Py_ssize_t count)
{
    PyObject *rest[8];
    if (!note_holds(VALUE(owner), value) || !keep_alive(VALUE(owner))) {
        return NULL;
    }
    PyObject *source = TAG_WITH(PART, site, control, TAG(owner), step);
    PyObject *address = source != NULL ? PyLong_FromVoidPtr(VALUE(owner)) : NULL;
    PyObject *made = NULL;
    if (address != NULL) {
        rest[0] = source;
        rest[1] = now();
        rest[2] = address;
        rest[3] = PyTuple_GET_ITEM(step, 1);
        rest[4] = TAG(owner);
        for (Py_ssize_t i = 0; i < count; i++) {
            rest[5 + i] = needs[i];
        }
        made = tag_with(LOAD, site, control, rest, 5 + count);
    }
    Py_XDECREF(source);
    Py_XDECREF(address);
    return made;
}

PyObject *native_part_tag(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    PyObject *needs = count == 6 ? given[5] : empty_tuple;
    if (!enabled || count < 5 || count > 6 || !is_pair(given[2]) || !is_pair(given[3]) ||
        !is_scalar(TAG(given[3])) || !PyTuple_CheckExact(needs) || PyTuple_GET_SIZE(needs) > 3) {
        return call_python(F_part_tag, given, count);
    }
    return part_tag_of(given[0], given[1], given[2], given[3], given[4],
                tuple_items(needs), PyTuple_GET_SIZE(needs));
}

/* --- whether an object holds what its shadow says --------------------------------------------- */

/* 1: it does, 0: it does not, -1: Python finds out. */
static int has_same_items(PyObject *thing, PyObject *values)
{
    if (PyList_CheckExact(thing) || PyTuple_CheckExact(thing)) {
        if (!PyList_CheckExact(values)) {
            return -1;
        }
        bool same = Py_SIZE(thing) == PyList_GET_SIZE(values);
        for (Py_ssize_t i = 0; same && i < PyList_GET_SIZE(values); i++) {
            PyObject *item = PyList_CheckExact(thing) ? PyList_GET_ITEM(thing, i)
                                                      : PyTuple_GET_ITEM(thing, i);
            same = item == PyList_GET_ITEM(values, i);
        }
        return same;
    }
    if (!PyDict_CheckExact(values)) {
        return -1;
    }
    bool same = PyDict_GET_SIZE(thing) == PyDict_GET_SIZE(values);
    Py_ssize_t place = 0;
    PyObject *key, *value;
    while (same && PyDict_Next(thing, &place, &key, &value)) {
        if (!is_scalar(key)) {
            return -1;
        }
        same = PyDict_GetItemWithError(values, key) == value;
    }
    return same;
}

/* The same for attributes: those in its dictionary, and those in slots. */
static int has_same_attributes(PyObject *thing, PyObject *known)
{
    PyObject *slots = by_address(SLOT(the_RUN, ShadowRun_slots), Py_TYPE(thing)), *key, *value;
    if (slots == NULL || PyTuple_GET_ITEM(slots, 0) != Py_TYPE(thing)->tp_mro) {
        return -1;
    }
    PyObject *dict = instance_dict(thing);
    Py_ssize_t place = 0, count = 0;
    int same = !PyErr_Occurred();
    while (same > 0 && dict && PyDict_CheckExact(dict) && PyDict_Next(dict, &place, &key, &value)) {
        same = PyUnicode_CheckExact(key) ? PyDict_GetItemWithError(known, key) == value : -1;
        count++;
    }
    slots = PyTuple_GET_ITEM(slots, 1);
    for (place = 0; same > 0 && place < PyList_GET_SIZE(slots); place++) {
        PyObject *name = PyTuple_GET_ITEM(PyList_GET_ITEM(slots, place), 0);
        PyObject *slot = PyTuple_GET_ITEM(PyList_GET_ITEM(slots, place), 1);
        value = Py_TYPE(slot)->tp_descr_get(slot, thing, (PyObject *)Py_TYPE(thing));
        if (value != NULL) {
            same = PyDict_GetItemWithError(known, name) == value;
            count++;
            Py_DECREF(value);
        }
        else if (!PyErr_ExceptionMatches(PyExc_AttributeError)) {
            same = -1;
        }
        else {
            PyErr_Clear();
        }
    }
    Py_XDECREF(dict);
    return same > 0 ? count == PyDict_GET_SIZE(known) : same;
}

/* Whether an object holds what its shadow says; -1: Python finds out. */
int shadow_matches(PyObject *shadow)
{
    PyObject *thing = SLOT(shadow, Shadow_object);
    int same = 1;
    if (PyList_CheckExact(thing) || PyTuple_CheckExact(thing) || PyDict_CheckExact(thing)) {
        same = has_same_items(thing, SLOT(shadow, Shadow_values));
    }
    else if (has_places(thing)) {
        return -1;
    }
    if (same == 1 && PyDict_GET_SIZE(SLOT(shadow, Shadow_attributes)) > 0 && !is_shared(thing)) {
        same = has_same_attributes(thing, SLOT(shadow, Shadow_attribute_values));
    }
    return same;
}

PyObject *native_matches_object(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    int same = enabled && count == 1 ? shadow_matches(given[0]) : -1;
    return same >= 0           ? PyBool_FromLong(same)
           : PyErr_Occurred() ? NULL
                              : call_python(F_matches_object, given, count);
}
