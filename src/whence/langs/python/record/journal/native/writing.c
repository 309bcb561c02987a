/* A call in the recorded run: the function is called, and its outcome becomes an entry. */
#include "interposition.h"

Py_ssize_t length_of(PyObject *buffer)
{
    Py_buffer view;
    if (PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE) != 0) {
        PyErr_Clear();
        return -1;
    }
    Py_ssize_t length = view.len;
    PyBuffer_Release(&view);
    return length;
}

static bool put_filled(Bytes *bytes, const Call *call, PyObject *result)
{
    Py_buffer view;
    if (!PyLong_CheckExact(result) || call->count == 0 ||
        PyObject_GetBuffer(call->arguments[0], &view, PyBUF_SIMPLE) != 0) {
        PyErr_Clear();
        return value_encode(bytes, result, 0);
    }
    Py_ssize_t length = PyLong_AsSsize_t(result);
    bool done = length >= 0 && length <= view.len && bytes_put(bytes, "b", 1) &&
                bytes_number(bytes, (uint64_t)length) &&
                bytes_put(bytes, view.buf, (size_t)length);
    PyBuffer_Release(&view);
    return done;
}

/* Encodes how much was sent. "All of it" is stored as True: a re-run may send a text of another
 * length, such as one with an object's address. */
static bool put_sent(Bytes *bytes, const Call *call, PyObject *result)
{
    Py_ssize_t length = call->count > 0 ? length_of(call->arguments[call->count - 1]) : -1;
    if (PyLong_CheckExact(result) && length >= 0 && PyLong_AsSsize_t(result) == length) {
        return value_encode(bytes, Py_True, 0);
    }
    return value_encode(bytes, result, 0);
}

/* Encodes which objects of each list in the arguments are in the returned list. */
static bool put_picked(Bytes *bytes, const Call *call, PyObject *result)
{
    bool done = PyTuple_CheckExact(result) && bytes_put(bytes, "(", 1) &&
                bytes_number(bytes, (uint64_t)PyTuple_GET_SIZE(result));
    for (Py_ssize_t i = 0; done && i < PyTuple_GET_SIZE(result); i++) {
        PyObject *given = i < call->count ? call->arguments[i] : NULL;
        PyObject *found = PyTuple_GET_ITEM(result, i);
        done = given != NULL && (PyList_CheckExact(given) || PyTuple_CheckExact(given)) &&
               PyList_CheckExact(found) && bytes_put(bytes, "[", 1) &&
               bytes_number(bytes, (uint64_t)PyList_GET_SIZE(found));
        for (Py_ssize_t j = 0; done && j < PyList_GET_SIZE(found); j++) {
            Py_ssize_t place = 0, length = PySequence_Fast_GET_SIZE(given);
            while (place < length &&
                   PySequence_Fast_GET_ITEM(given, place) != PyList_GET_ITEM(found, j)) {
                place++;
            }
            done = place < length && bytes_put(bytes, "i", 1) &&
                   bytes_number(bytes, (uint64_t)place << 1);
        }
    }
    return done;
}

PyObject *write_call(const Call *call)
{
    unsigned how = call->function->how;
    uint32_t question = digest(call);
    inside = (how & WARNS) == 0;
    PyObject *result = call_original(call);
    inside = false;
    if ((how & FORKS) && result != NULL && PyLong_CheckExact(result) &&
        PyLong_AsLong(result) == 0) {
        journal.mode = OFF; /* this is the child */
        return result;
    }
    int saved = errno;
    Bytes bytes = {0};
    bool done;
    if (result == NULL) {
        done = error_encode(&bytes, call->arguments, all_arguments(call));
    } else if (how & FILLS) {
        done = put_filled(&bytes, call, result);
    } else if (how & SENDS) {
        done = put_sent(&bytes, call, result);
    } else if (how & PICKS) {
        done = put_picked(&bytes, call, result);
    } else {
        done = value_encode(&bytes, result, 0);
    }
    if (!done || (how & NOT_KEPT)) {
        bytes.length = 0; /* an entry without a value cannot be played */
    }
    if (result != NULL) {
        PyErr_Clear();
    }
    entry_write(call->function->kind, question, result == NULL ? RAISED : RETURNED, &bytes);
    free(bytes.bytes);
    errno = saved;
    return result;
}
