/* Running code out of sight. */

#include "tagging.h"

PyObject *new_operation(PyObject *site, PyObject *control, PyObject *operands)
{
    PyTypeObject *type = (PyTypeObject *)the_Operation;
    PyObject *callbacks = PyList_New(0);
    PyObject *made = callbacks != NULL ? type->tp_alloc(type, 0) : NULL;
    if (made == NULL) {
        Py_XDECREF(callbacks);
        return NULL;
    }
    SLOT(made, Operation_site) = Py_NewRef(site);
    SLOT(made, Operation_control) = Py_NewRef(control);
    SLOT(made, Operation_operands) = Py_NewRef(operands);
    SLOT(made, Operation_callbacks) = callbacks;
    SLOT(made, Operation_activation) = Py_NewRef(tag_field(control, FIELD_ACTIVATION));
    SLOT(made, Operation_expected) = Py_NewRef(Py_None);
    SLOT(made, Operation_text) = Py_NewRef(Py_None);
    return made;
}

bool begin_operation(RunningOperation *running, PyObject *site, PyObject *control,
                     PyObject *operands)
{
    running->thread = here();
    running->operation = running->thread ? new_operation(site, control, operands) : NULL;
    if (running->operation == NULL) {
        return false;
    }
    running->before = Py_NewRef(of_thread(running->thread, name_operation));
    if (PyDict_SetItem(running->thread, name_operation, running->operation) < 0 ||
        !forget_pending(running->thread)) {
        end_operation(running, false);
        return false;
    }
    return true;
}

/* Calls a Python helper with the current exception as its last argument, and restores it. */
void report_error(int which, PyObject **given, Py_ssize_t count)
{
    PyObject *kind, *error, *traceback;
    PyErr_Fetch(&kind, &error, &traceback);
    PyErr_NormalizeException(&kind, &error, &traceback);
    if (traceback != NULL) {
        PyException_SetTraceback(error, traceback);
    }
    given[count] = error;
    PyObject *done = PyObject_Vectorcall(python_helpers[which], given, (size_t)count + 1, NULL);
    if (done == NULL) {
        Py_XDECREF(kind);
        Py_XDECREF(error);
        Py_XDECREF(traceback);
        return;
    }
    Py_DECREF(done);
    PyErr_Restore(kind, error, traceback);
}

/* Ends an operation and restores the one before; keeps its callbacks unless it failed. */
bool end_operation(RunningOperation *running, bool failed)
{
    if (failed) {
        PyObject *given[2] = {running->operation};
        report_error(H_note_failure, given, 1);
    }
    PyObject *kind, *error, *traceback;
    PyErr_Fetch(&kind, &error, &traceback);
    bool good = PyDict_SetItem(running->thread, name_operation, running->before) == 0;
    Py_DECREF(running->before);
    if (failed || !good || kind != NULL) {
        Py_CLEAR(running->operation);
    }
    if (kind != NULL) {
        PyErr_Restore(kind, error, traceback);
        good = false;
    }
    return good && !failed;
}

PyObject *native_run_out_of_sight(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    RunningOperation running;
    if (!enabled || count < 4 || !is_control(given[1])) {
        return call_python(F_run_out_of_sight, given, count);
    }
    if (!begin_operation(&running, given[0], given[1], given[2])) {
        return NULL;
    }
    PyObject *value = PyObject_Vectorcall(given[3], given + 4, (size_t)(count - 4), NULL);
    if (!end_operation(&running, value == NULL)) {
        Py_XDECREF(value);
        return NULL;
    }
    return pair_of(value, running.operation);
}

/* The tag of an operation's result: that of its last callback, if it is the same value. */
PyObject *outcome_tag_of(PyObject *operation, PyObject *value, PyObject *const *needs,
                          Py_ssize_t count)
{
    PyObject *site = SLOT(operation, Operation_site), *control = SLOT(operation, Operation_control);
    PyObject *callbacks = SLOT(operation, Operation_callbacks);
    Py_ssize_t callback_count = PyList_GET_SIZE(callbacks);
    if (callback_count == 0) {
        return tag_with(OP, site, control, needs, count);
    }
    PyObject *last = PyList_GET_ITEM(callbacks, callback_count - 1);
    bool is_last = VALUE(last) == value;
    PyObject *others = PyList_GetSlice(callbacks, 0, is_last ? callback_count - 1 : callback_count);
    PyObject *all = others != NULL ? native_deep_tags(NULL, &others, 1) : NULL;
    Py_XDECREF(others);
    if (all == NULL) {
        return NULL;
    }
    Parts parts[] = {{(PyObject *[]){TAG(last), Py_None}, is_last ? 2 : 0},
                     {tuple_items(all), is_last ? PyTuple_GET_SIZE(all) : 0},
                     {needs, count},
                     {tuple_items(all), is_last ? 0 : PyTuple_GET_SIZE(all)}};
    PyObject *made = tag_of_parts(is_last ? RET : OP, site, control, parts, 4);
    Py_DECREF(all);
    return made;
}

PyObject *native_outcome_tag(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count != 3 || !PyTuple_CheckExact(given[2])) {
        return call_python(F_outcome_tag, given, count);
    }
    return outcome_tag_of(given[0], given[1], tuple_items(given[2]),
                    PyTuple_GET_SIZE(given[2]));
}
