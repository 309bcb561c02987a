/* The extension module of the journal. */
#include "interposition.h"

/* When garbage is collected next depends on the number of objects, and whence does not have the
 * same number in every run. So the collector's counts are reset. */
enum { ALIVE_AT_START = 20000 };

static PyObject *begin(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    int mode;
    PyObject *kinds, *diverged, *escaped, *files;
    if (!PyArg_ParseTuple(arguments, "iO!OOUl", &mode, &PyTuple_Type, &kinds, &diverged, &escaped,
                          &files, &journal.process)) {
        return NULL;
    }
    journal.kinds = Py_NewRef(kinds);
    journal.diverged = Py_NewRef(diverged);
    journal.escaped = Py_NewRef(escaped);
    own_files = Py_NewRef(files);
    thread_number(); /* this thread is the first */
    journal.mode = mode;
    reset_collector(ALIVE_AT_START);
    Py_RETURN_NONE;
}

static PyObject *stop(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    if (journal.mode == WRITING || journal.problem != 0) {
        entries_close();
    }
    journal.mode = OFF;
    Py_RETURN_NONE;
}

static PyObject *open_file(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    int descriptor;
    PyObject *heading;
    if (!PyArg_ParseTuple(arguments, "iS", &descriptor, &heading)) {
        return NULL;
    }
    if (!entries_open(descriptor, heading)) {
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    Py_RETURN_NONE;
}

static PyObject *load(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    Py_ssize_t start;
    PyObject *data;
    if (!PyArg_ParseTuple(arguments, "Sn", &data, &start)) {
        return NULL;
    }
    if (start < 0 || start > PyBytes_GET_SIZE(data)) {
        PyErr_SetString(PyExc_ValueError, "no such place");
        return NULL;
    }
    Py_INCREF(data); /* for as long as the process lives: the entries are in it */
    return entries_load(PyBytes_AS_STRING(data) + start, (size_t)(PyBytes_GET_SIZE(data) - start));
}

static PyObject *exchange(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *function, *handler;
    unsigned long long kind;
    unsigned how;
    if (!PyArg_ParseTuple(arguments, "OKIO", &function, &kind, &how, &handler)) {
        return NULL;
    }
    return interpose(function, kind, how, handler == Py_None ? NULL : handler);
}

static PyObject *exchange_files(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *type, *handler;
    if (!PyArg_ParseTuple(arguments, "O!O", &PyType_Type, &type, &handler)) {
        return NULL;
    }
    return interpose_files(type, handler);
}

static PyObject *watch_scandir(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *iterator;
    unsigned long long kind;
    if (!PyArg_ParseTuple(arguments, "OK", &iterator, &kind)) {
        return NULL;
    }
    interpose_scandir(iterator, kind);
    Py_RETURN_NONE;
}

static PyObject *write_value(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    unsigned long long kind;
    PyObject *given, *value;
    if (!PyArg_ParseTuple(arguments, "KO!O", &kind, &PyTuple_Type, &given, &value)) {
        return NULL;
    }
    Bytes bytes = {0};
    if (!value_encode(&bytes, value, 0)) {
        PyErr_Clear();
        bytes.length = 0;
    }
    entry_write(kind, digest_of(&PyTuple_GET_ITEM(given, 0), PyTuple_GET_SIZE(given), NULL),
                RETURNED, &bytes);
    free(bytes.bytes);
    Py_RETURN_NONE;
}

static PyObject *write_error(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    unsigned long long kind;
    PyObject *given, *error;
    if (!PyArg_ParseTuple(arguments, "KO!O", &kind, &PyTuple_Type, &given, &error)) {
        return NULL;
    }
    Bytes bytes = {0};
    PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    PyObject *const *items = &PyTuple_GET_ITEM(given, 0);
    Py_ssize_t count = PyTuple_GET_SIZE(given);
    if (!error_encode(&bytes, items, count)) {
        bytes.length = 0;
    }
    PyErr_Clear();
    entry_write(kind, digest_of(items, count, NULL), RAISED, &bytes);
    free(bytes.bytes);
    Py_RETURN_NONE;
}

static PyObject *play(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    unsigned long long kind;
    PyObject *given;
    if (!PyArg_ParseTuple(arguments, "KO!", &kind, &PyTuple_Type, &given)) {
        return NULL;
    }
    PyObject *const *items = &PyTuple_GET_ITEM(given, 0);
    Py_ssize_t count = PyTuple_GET_SIZE(given);
    return entry_play(kind, digest_of(items, count, NULL), items, count);
}

static PyObject *peek(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    Entry entry;
    if (!entry_peek(&entry)) {
        Py_RETURN_NONE;
    }
    return PyLong_FromUnsignedLongLong(entry.kind);
}

static PyObject *outside(PyObject *Py_UNUSED(module), PyObject *arguments, PyObject *named)
{
    if (PyTuple_GET_SIZE(arguments) == 0) {
        PyErr_SetString(PyExc_TypeError, "call what?");
        return NULL;
    }
    PyObject *rest = PyTuple_GetSlice(arguments, 1, PyTuple_GET_SIZE(arguments));
    if (rest == NULL) {
        return NULL;
    }
    PyThreadState *thread = PyThreadState_Get();
    bool before = set_inside(false);
    PyThreadState_LeaveTracing(thread);
    PyObject *result = PyObject_Call(PyTuple_GET_ITEM(arguments, 0), rest, named);
    PyThreadState_EnterTracing(thread);
    set_inside(before);
    Py_DECREF(rest);
    return result;
}

static PyObject *aside(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    if (count == 0) {
        PyErr_SetString(PyExc_TypeError, "call what?");
        return NULL;
    }
    return call_handler(arguments[0], arguments + 1, (size_t)count - 1);
}

static PyObject *address(PyObject *Py_UNUSED(module), PyObject *object)
{
    return PyLong_FromVoidPtr(object);
}

static PyObject *inside_now(PyObject *Py_UNUSED(module), PyObject *wish)
{
    return PyBool_FromLong(set_inside(PyObject_IsTrue(wish) == 1));
}

static PyObject *all_inside_now(PyObject *Py_UNUSED(module), PyObject *wish)
{
    all_inside = PyObject_IsTrue(wish) == 1;
    Py_RETURN_NONE;
}

static PyObject *foreign_file(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    int descriptor, is_foreign;
    if (!PyArg_ParseTuple(arguments, "ip", &descriptor, &is_foreign)) {
        return NULL;
    }
    set_foreign(descriptor, is_foreign != 0);
    Py_RETURN_NONE;
}

static PyObject *watches_escapes(PyObject *Py_UNUSED(module), PyObject *folder)
{
    return watch_escapes(folder);
}

static PyObject *state(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return Py_BuildValue("iKKI", journal.mode, (unsigned long long)journal.count,
                         (unsigned long long)entries_left(), threads_known());
}

static PyObject *problem(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return PyLong_FromLong(journal.problem);
}

static PyObject *asked(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return PyLong_FromUnsignedLongLong(journal.count + journal.passed);
}

static PyMethodDef methods[] = {
    {"begin", begin, METH_VARARGS,
     "begin(mode, kinds, diverged, escaped, own files, process id)"},
    {"stop", stop, METH_NOARGS, "Neither write nor play any further."},
    {"open_file", open_file, METH_VARARGS, "open_file(descriptor, heading): entries go there."},
    {"load", load, METH_VARARGS, "load(bytes, start): the entries to be played."},
    {"exchange", exchange, METH_VARARGS, "exchange(function, kind, how, handler)"},
    {"exchange_files", exchange_files, METH_VARARGS, "exchange_files(FileIO, handler)"},
    {"watch_scandir", watch_scandir, METH_VARARGS, "watch_scandir(an iterator, kind)"},
    {"write", write_value, METH_VARARGS, "write(kind, arguments, value)"},
    {"write_error", write_error, METH_VARARGS, "write_error(kind, arguments, exception)"},
    {"play", play, METH_VARARGS, "play(kind, arguments): what came of it; it must be the next."},
    {"peek", peek, METH_NOARGS, "The kind of the next entry of this thread, or None."},
    {"outside", (PyCFunction)(void (*)(void))outside, METH_VARARGS | METH_KEYWORDS,
     "outside(function, ...): of a handler, to call it as the program would."},
    {"aside", (PyCFunction)(void (*)(void))aside, METH_FASTCALL,
     "aside(function, ...): call it as a handler is called, from whoever calls this."},
    {"address", address, METH_O, "address(object): what id gives, and no journal notices."},
    {"inside", inside_now, METH_O,
     "inside(on): whether this thread runs whence's own code; returns the old value."},
    {"all_inside", all_inside_now, METH_O, "all_inside(on): whether all threads do whence's work."},
    {"foreign", foreign_file, METH_VARARGS, "foreign(descriptor, on): it is no regular file."},
    {"watch_escapes", watches_escapes, METH_O,
     "watch_escapes(folder): a change elsewhere stops the re-run."},
    {"asked", asked, METH_NOARGS, "Grows whenever the program turns to the world."},
    {"problem", problem, METH_NOARGS, "The errno of what ended the writing, or 0."},
    {"state", state, METH_NOARGS,
     "The mode, the number of entries handled and left, and the number of threads."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_interposition",
    "The journal of what a program learns from the outside world.", -1,
    methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__interposition(void) { return PyModule_Create(&definition); }
