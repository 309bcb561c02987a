/* The values of iterators. */

#include "tagging.h"

/* What is known of an iterator; borrowed. NULL without an exception: nothing. */
static PyObject *source_of(PyObject *iterator)
{
    PyObject *found = by_address(SLOT(the_RUN, ShadowRun_sources), iterator);
    return found != NULL && PyTuple_GET_ITEM(found, 0) == iterator ? PyTuple_GET_ITEM(found, 1)
                                                                   : NULL;
}

/* The run of a generator or coroutine; borrowed. NULL without an exception: there is none. */
static PyObject *run_of(PyObject *thing)
{
    PyObject *found = by_address(SLOT(the_RUN, ShadowRun_runs), thing);
    PyObject *alive = found != NULL ? PyObject_CallNoArgs(PyTuple_GET_ITEM(found, 0)) : NULL;
    bool is_it = alive == thing;
    Py_XDECREF(alive);
    return is_it ? PyTuple_GET_ITEM(found, 1) : NULL;
}

/* The tag of a value of the iterator of a list or tuple. */
static PyObject *tag_of_place(PyObject *site, PyObject *control, PyObject *source,
                              PyObject *iterator, PyObject *value)
{
    PyObject *owner = SLOT(source, SequenceSource_owner);
    Py_ssize_t left = PyObject_LengthHint(iterator, 0);
    if (left < 0) {
        return NULL;
    }
    bool is_backwards = SLOT(source, SequenceSource_is_backwards) == Py_True;
    PyObject *index = PyLong_FromSsize_t(is_backwards ? left : Py_SIZE(VALUE(owner)) - left - 1);
    PyObject *given[] = {site, control, owner, index, value};
    PyObject *made = index != NULL ? native_sequence_item_tag(NULL, given, 5) : NULL;
    Py_XDECREF(index);
    return made;
}

/* Adds the last callbacks of an iterator to its history; a new reference. */
static PyObject *heard_now(PyObject *operation, PyObject *iterator)
{
    PyObject *callbacks = SLOT(operation, Operation_callbacks);
    Py_ssize_t count = PyList_GET_SIZE(callbacks);
    PyObject *before = by_address(SLOT(the_RUN, ShadowRun_callback_history), iterator);
    PyObject **tags = PyErr_Occurred() ? NULL : PyMem_New(PyObject *, count + 1);
    if (tags == NULL) {
        return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        tags[i] = TAG(PyList_GET_ITEM(callbacks, i));
    }
    tags[count] = before != NULL ? PyTuple_GET_ITEM(before, 1) : Py_None;
    PyObject *made = tag_with(OP, SLOT(operation, Operation_site),
                              SLOT(operation, Operation_control), tags, count + 1);
    PyMem_Free(tags);
    PyObject *address = made != NULL ? PyLong_FromVoidPtr(iterator) : NULL;
    PyObject *entry = address != NULL ? PyTuple_Pack(2, iterator, made) : NULL;
    if (entry == NULL ||
        PyDict_SetItem(SLOT(the_RUN, ShadowRun_callback_history), address, entry) < 0) {
        Py_CLEAR(made);
    }
    Py_XDECREF(address);
    Py_XDECREF(entry);
    return made;
}

/* The tag of a value that a generator of the program yielded. */
static PyObject *yielded_tag(PyObject *operation, PyObject *iterator, PyObject *value,
                             PyObject *owner)
{
    PyObject *tag = outcome_tag_of(operation, value, &TAG(owner), 1), *heard, *made;
    PyObject *run = tag != NULL ? run_of(iterator) : NULL;
    if (tag == NULL || (run != NULL && SLOT(run, GeneratorRun_activation) == Py_None)) {
        return tag; /* the tests of a generator expression decide which value it gives */
    }
    heard = PyErr_Occurred() ? NULL : heard_now(operation, iterator);
    made = heard ? TAG_WITH(SEL, SLOT(operation, Operation_site),
                            SLOT(operation, Operation_control), tag, heard)
                 : NULL;
    Py_DECREF(tag);
    Py_XDECREF(heard);
    return made;
}

/* The tag of the last value of an iterator. */
static PyObject *given_tag(PyObject *operation, PyObject *iterator, PyObject *value,
                           PyObject *owner)
{
    PyObject *source = source_of(iterator);
    PyObject *site = SLOT(operation, Operation_site), *control = SLOT(operation, Operation_control);
    if (source == NULL && !PyErr_Occurred()) {
        bool has_callbacks = PyList_GET_SIZE(SLOT(operation, Operation_callbacks)) > 0;
        if (has_callbacks && PyGen_CheckExact(iterator)) {
            return yielded_tag(operation, iterator, value, owner);
        }
        if (!has_callbacks && is_scalar(VALUE(owner))) {
            return TAG_WITH(OP, site, control, TAG(owner));
        }
    }
    else if (source != NULL && Py_IS_TYPE(source, (PyTypeObject *)the_SequenceSource)) {
        return tag_of_place(site, control, source, iterator, value);
    }
    PyObject *given[] = {operation, iterator, value, owner};
    return PyErr_Occurred() ? NULL
        : PyObject_Vectorcall(python_helpers[H_yielded_tag], given, 4, NULL);
}

/* Where an iterator stands, by who made it go on: of a generator its run has it, of all else its
 * shadow. NULL: an exception. */
static PyObject **position_of(PyObject *iterator)
{
    PyObject *run = run_of(iterator);
    if (run != NULL) {
        return &SLOT(run, GeneratorRun_position);
    }
    PyObject *shadow = PyErr_Occurred() ? NULL : shadow_for(iterator);
    return shadow != NULL ? &SLOT(shadow, Shadow_shape) : NULL;
}

/* The tag of a value of an iterator that others may share. */
static PyObject *advanced_tag(PyObject *operation, PyObject *iterator, PyObject *tag)
{
    PyObject *site = SLOT(operation, Operation_site), *control = SLOT(operation, Operation_control);
    PyObject **position = position_of(iterator), *before, *address, *read, *made = NULL;
    if (position == NULL) {
        return NULL;
    }
    before = Py_NewRef(*position);
    if (before == Py_None || kind_of(before) != STORE || site_of(before) != PyLong_AsLong(site) ||
        tag_field(before, FIELD_CONTROL) != control) {
        PyObject *moved = TAG_WITH(STORE, site, control, before, now());
        if (moved == NULL) {
            Py_DECREF(before);
            return NULL;
        }
        put_new(position, moved);
    }
    address = PyLong_FromVoidPtr(iterator);
    read = address ? TAG_WITH(LOAD, site, control, before, now(), address, Py_None) : NULL;
    if (read != NULL) {
        made = TAG_WITH(SEL, site, control, tag, read);
    }
    Py_DECREF(before);
    Py_XDECREF(address);
    Py_XDECREF(read);
    return made;
}

PyObject *native_advance_tag(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    return enabled && count == 3 ? advanced_tag(given[0], given[1], given[2])
                                 : call_python(F_advance_tag, given, count);
}

/* Notes what the program's code had to do with the end of an iterator. */
static void note_end(PyObject *operation, PyObject *iterator, PyObject *thing)
{
    if (!PyErr_Occurred()) {
        PyObject *source = source_of(iterator);
        bool needs_python =
            PyList_GET_SIZE(SLOT(operation, Operation_callbacks)) > 0 ||
            by_address(SLOT(the_RUN, ShadowRun_callback_history), iterator) != NULL ||
            (source != NULL && !Py_IS_TYPE(source, (PyTypeObject *)the_SequenceSource)) ||
            Py_IS_TYPE(iterator, (PyTypeObject *)the_GROUP);
        if (!PyErr_Occurred()) {
            PyErr_SetNone(PyExc_StopIteration);
        }
        if (!needs_python) {
            return;
        }
    }
    PyObject *given[4] = {operation, iterator, thing};
    report_error(H_note_end, given, 3);
}

/* The next value of an iterator over `owner`, with its tag, or `StopIteration`. */
PyObject *next_of(PyObject *site, PyObject *control, PyObject *iterator, PyObject *owner)
{
    PyObject *thing = VALUE(iterator), *operands = PyTuple_Pack(2, iterator, owner);
    RunningOperation running;
    if (operands == NULL || !begin_operation(&running, site, control, operands)) {
        Py_XDECREF(operands);
        return NULL;
    }
    Py_DECREF(operands);
    PyObject *value = Py_TYPE(thing)->tp_iternext(thing), *tag;
    bool ended = value == NULL &&
                 (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_StopIteration));
    if (ended) {
        note_end(running.operation, thing, VALUE(owner));
    }
    if (!end_operation(&running, value == NULL && !ended)) {
        Py_XDECREF(value);
        return NULL;
    }
    tag = given_tag(running.operation, thing, value, owner);
    if (tag != NULL && thing == VALUE(owner)) {
        PyObject *copied = tag;
        tag = advanced_tag(running.operation, thing, copied);
        Py_DECREF(copied);
    }
    Py_DECREF(running.operation);
    return pair_of(value, tag);
}

PyObject *native_next_pair(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count != 4 || !is_control(given[1]) || !is_pair(given[2]) ||
        !is_pair(given[3]) || !PyIter_Check(VALUE(given[2]))) {
        return call_python(F_next_pair, given, count);
    }
    return next_of(given[0], given[1], given[2], given[3]);
}
