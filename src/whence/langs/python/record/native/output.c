/* What the program printed: texts that are written to its standard streams.
 *
 * `print`, `sys.stdout.write` and tracebacks all come through TextIOWrapper.write. What is written
 * to the layers below it, as bytes, is not seen; nor is what goes to a stream that the program has
 * put in the place of a standard one, other than by way of that one. */
#include "recorder.h"

#include <errno.h>
#include <stdio.h>

enum { MAX_CHARACTERS = 10000, MORE_SIZE = 48 };

static Interposed text_write;
static PyObject *sys_namespace; /* borrowed: it lives as long as the interpreter */
static PyObject *stream_names[2]; /* of what it holds under the descriptors 1 and 2 */

/* The descriptor of a standard stream as the interpreter made it; 0 for any other stream. */
static uint8_t descriptor_of(PyObject *stream)
{
    for (uint8_t i = 0; i < 2; i++) {
        if (PyDict_GetItemWithError(sys_namespace, stream_names[i]) == stream) {
            return i + 1;
        }
    }
    return 0;
}

static void record_output(Thread *thread, uint8_t descriptor, PyObject *text)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    Py_ssize_t stored = Py_MIN(length, MAX_CHARACTERS);
    uint64_t call = thread_top_synced(thread).call;
    Buffer *scratch = &thread->scratch;
    scratch->length = 0;
    if (!buffer_room(scratch, 4 * (size_t)stored + MORE_SIZE)) {
        recorder_fail(ENOMEM);
        return;
    }
    scratch->length = encode_utf8(text, stored, scratch->bytes);
    if (!replace_keys(scratch) || !buffer_room(scratch, MORE_SIZE)) {
        recorder_fail(ENOMEM);
        return;
    }
    if (stored < length) {
        scratch->length += (size_t)snprintf((char *)scratch->bytes + scratch->length, MORE_SIZE,
                                            "…%zd more characters\n", length - stored);
    }
    if (record_begin(thread->number, 2 + 2 * NUMBER_SIZE + scratch->length)) {
        Buffer *page = &recorder.page;
        put_byte(page, R_OUTPUT);
        put_number(page, recorder.next_call - call);
        put_byte(page, descriptor);
        put_number(page, scratch->length);
        put_bytes(page, scratch->bytes, scratch->length);
        record_end();
    }
    scratch->length = 0;
}

static PyObject *interposed_write_text(PyObject *stream, PyObject *text)
{
    PyObject *result = text_write.original(stream, text);
    recorder.texts++;
    if (result == NULL || recorder.full || !is_recorded_here() || !PyUnicode_Check(text) ||
        PyUnicode_GET_LENGTH(text) == 0) {
        return result;
    }
    Thread *thread = this_thread();
    uint8_t descriptor = descriptor_of(stream);
    if (thread != NULL && !thread->suspended && descriptor != 0) {
        record_output(thread, descriptor, text);
    }
    return result;
}

void output_watch(bool on)
{
    if (!on) {
        restore_function(&text_write);
        return;
    }
    if (stream_names[0] == NULL) {
        stream_names[0] = PyUnicode_InternFromString("__stdout__");
        stream_names[1] = PyUnicode_InternFromString("__stderr__");
        PyObject *sys = PyImport_ImportModule("sys");
        sys_namespace = sys == NULL ? NULL : PyModule_GetDict(sys);
        Py_XDECREF(sys);
    }
    PyObject *io = PyImport_ImportModule("_io");
    PyObject *type = io == NULL ? NULL : PyObject_GetAttrString(io, "TextIOWrapper");
    PyObject *method = type == NULL ? NULL : PyObject_GetAttrString(type, "write");
    if (stream_names[0] != NULL && stream_names[1] != NULL && sys_namespace != NULL) {
        interpose(&text_write, method, METH_O, interposed_write_text);
    }
    Py_XDECREF(method);
    Py_XDECREF(type);
    Py_XDECREF(io);
    PyErr_Clear();
}
