/* A call in a re-run: its outcome comes from the journal. The next entry must have the same kind
 * and the same arguments; otherwise the re-run has diverged. */
#include "interposition.h"

static PyObject *name_of(uint64_t kind)
{
    PyObject *name = Py_None;
    if (journal.kinds != NULL && kind < (uint64_t)PyTuple_GET_SIZE(journal.kinds)) {
        name = PyTuple_GET_ITEM(journal.kinds, (Py_ssize_t)kind);
    }
    return name;
}

static PyObject *diverge(uint64_t kind, PyObject *const *arguments, Py_ssize_t count,
                         const Entry *recorded)
{
    inside = true;
    PyObject *given = PyTuple_New(count);
    for (Py_ssize_t i = 0; given != NULL && i < count; i++) {
        Py_INCREF(arguments[i]);
        PyTuple_SET_ITEM(given, i, arguments[i]);
    }
    PyObject *result = PyObject_CallFunction(journal.diverged, "OOO", name_of(kind),
                                             given == NULL ? Py_None : given,
                                             recorded == NULL ? Py_None : name_of(recorded->kind));
    Py_XDECREF(given);
    Py_XDECREF(result);
    if (!PyErr_Occurred()) {
        PyErr_SetString(PyExc_RuntimeError, "the re-run diverged");
    }
    return NULL;
}

/* Takes the next entry if it has this kind and these arguments; else reports the divergence. */
static bool take_entry(uint64_t kind, uint32_t question, PyObject *const *arguments, Py_ssize_t count,
                  Entry *entry)
{
    bool found = entry_peek(entry);
    if (!found || entry->kind != kind || entry->digest != question) {
        diverge(kind, arguments, count, found ? entry : NULL);
        return false;
    }
    entry_take();
    return true;
}

PyObject *entry_play(uint64_t kind, uint32_t question, PyObject *const *arguments,
                       Py_ssize_t count)
{
    Entry entry;
    if (!take_entry(kind, question, arguments, count, &entry)) {
        return NULL;
    }
    if (entry.payload.at == entry.payload.end) {
        entry.kind = kind;
        return diverge(kind, arguments, count, &entry);
    }
    PyObject *result = NULL;
    bool is_whole;
    if (entry.how == RAISED) {
        is_whole = error_decode(&entry.payload, arguments, count);
    }
    else {
        result = value_decode(&entry.payload, 0);
        is_whole = result != NULL;
    }
    if (!is_whole) { /* The journal is damaged: the program must not receive our exception. */
        PyErr_Clear();
        entry.kind = kind;
        return diverge(kind, arguments, count, &entry);
    }
    return result;
}

static PyObject *fill_buffer(const Call *call, PyObject *data)
{
    Py_buffer view;
    if (data == NULL || !PyBytes_CheckExact(data) || call->count == 0) {
        return data;
    }
    if (PyObject_GetBuffer(call->arguments[0], &view, PyBUF_WRITABLE) != 0) {
        Py_DECREF(data);
        return NULL;
    }
    Py_ssize_t length = PyBytes_GET_SIZE(data);
    bool fits = length <= view.len;
    if (fits) {
        memcpy(view.buf, PyBytes_AS_STRING(data), (size_t)length);
    }
    PyBuffer_Release(&view);
    Py_DECREF(data);
    if (!fits) {
        return diverge(call->function->kind, call->arguments, call->count, NULL);
    }
    return PyLong_FromSsize_t(length);
}

PyObject *play_call(const Call *call)
{
    unsigned how = call->function->how;
    Py_ssize_t count = all_arguments(call);
    uint32_t question = digest(call);
    if ((how & OF_PATH) && call->count > 0) {
        PyObject *path = call->arguments[0];
        if (!PyUnicode_Check(path) && !PyBytes_Check(path) && !PyLong_Check(path) &&
            path != Py_None) {
            /* It may be an object of the program, whose __fspath__ ran in the recording too. */
            Py_XDECREF(PyOS_FSPath(path));
            PyErr_Clear();
        }
    }
    PyObject *result = entry_play(call->function->kind, question, call->arguments, count);
    if (how & FILLS) {
        return fill_buffer(call, result);
    }
    if ((how & SIGNALS) && result != NULL && call->count == 2) {
        /* A signal to the program itself is delivered again. */
        long process = PyLong_AsLong(call->arguments[0]);
        long number = PyLong_AsLong(call->arguments[1]);
        if (!PyErr_Occurred() && (process == 0 || process == journal.process)) {
            kill(getpid(), (int)number);
        }
        PyErr_Clear();
    }
    if ((how & SENDS) && result == Py_True && call->count > 0) {
        Py_ssize_t length = length_of(call->arguments[call->count - 1]);
        Py_DECREF(result);
        return PyLong_FromSsize_t(length < 0 ? 0 : length);
    }
    return result;
}
