/* Lists and tuples, and their shadows. */

#include "tagging.h"

/* The shadow of a list or tuple whose items have these tags; borrowed. */
static PyObject *shadow_of_items(PyObject *thing, PyObject *tags, PyObject *shaped)
{
    PyObject *values = PySequence_List(thing), *shadow = values ? new_shadow(thing) : NULL;
    if (shadow == NULL) {
        Py_XDECREF(values);
        return NULL;
    }
    put_new(&SLOT(shadow, Shadow_values), values);
    put(&SLOT(shadow, Shadow_items), tags);
    put(&SLOT(shadow, Shadow_shape), shaped);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(values); i++) {
        if (!note_holds(thing, PyList_GET_ITEM(values, i))) {
            return NULL;
        }
    }
    return shadow;
}

PyObject *native_shadow_sequence(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count != 3 || !PyList_CheckExact(given[1]) ||
        (!PyList_CheckExact(given[0]) && !PyTuple_CheckExact(given[0]))) {
        return call_python(F_shadow_sequence, given, count);
    }
    return Py_XNewRef(shadow_of_items(given[0], given[1], given[2]));
}

/* A list or tuple of these pairs, with its tag; steals the reference to `made`. */
static PyObject *filled_display(PyObject *const *given, PyObject *made, PyObject *pairs,
                                PyObject *shaped)
{
    Py_ssize_t count = PySequence_Fast_GET_SIZE(pairs);
    PyObject *tags = made != NULL && tick(ShadowRun_time) ? PyList_New(count) : NULL, *tag = NULL;
    for (Py_ssize_t i = 0; tags != NULL && i < count; i++) {
        PyObject *pair = PySequence_Fast_GET_ITEM(pairs, i);
        PyObject *stored = TAG_WITH(STORE, given[0], given[1], TAG(pair), now());
        if (stored == NULL) {
            Py_CLEAR(tags);
            break;
        }
        PyList_SET_ITEM(tags, i, stored);
        if (PyList_CheckExact(made)) {
            PyList_SET_ITEM(made, i, Py_NewRef(VALUE(pair)));
        }
        else {
            PyTuple_SET_ITEM(made, i, Py_NewRef(VALUE(pair)));
        }
    }
    if (tags != NULL && shadow_of_items(made, tags, shaped) != NULL) {
        tag = TAG_WITH(NEW, given[0], given[1], Py_None);
    }
    Py_XDECREF(tags);
    return pair_of(made, tag);
}

/* Whether a display is made here: a tuple or list of pairs, none of them starred. */
static bool is_display(PyObject *const *given, Py_ssize_t count)
{
    if (!enabled || count < 3 || count > 4 ||
        (!PyTuple_CheckExact(given[2]) && !PyList_CheckExact(given[2]))) {
        return false;
    }
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(given[2]); i++) {
        if (!is_pair(PySequence_Fast_GET_ITEM(given[2], i))) {
            return false;
        }
    }
    return true;
}

PyObject *native_make_list(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!is_display(given, count)) {
        return call_python(F_make_list, given, count);
    }
    return filled_display(given, PyList_New(PySequence_Fast_GET_SIZE(given[2])), given[2],
                  count > 3 ? given[3] : Py_None);
}

PyObject *native_make_tuple(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!is_display(given, count) || PySequence_Fast_GET_SIZE(given[2]) == 0) {
        return call_python(F_make_tuple, given, count);
    }
    return filled_display(given, PyTuple_New(PySequence_Fast_GET_SIZE(given[2])), given[2],
                  count > 3 ? given[3] : Py_None);
}
