/* Files opened by creating a FileIO, and directories that are iterated. No function is called
 * there, so a slot of these types is replaced, with the method that wraps it. */
#include "interposition.h"

/* ---- files ---- */

static initproc file_init;
static PyObject *file_handler;

static PyObject *argument_of(PyObject *positional, PyObject *named, Py_ssize_t place,
                          const char *name)
{
    if (place < PyTuple_GET_SIZE(positional)) {
        return PyTuple_GET_ITEM(positional, place);
    }
    return named == NULL ? NULL : PyDict_GetItemString(named, name);
}

/* Clears what is stored for a descriptor: it belonged to an earlier file. */
static void forget_descriptor(PyObject *file)
{
    PyObject *number = fileno_definition == NULL ? NULL : fileno_definition->ml_meth(file, NULL);
    if (number != NULL && PyLong_CheckExact(number)) {
        set_foreign((int)PyLong_AsLong(number), false);
    }
    Py_XDECREF(number);
    PyErr_Clear();
}

static int interposed_file_init(PyObject *self, PyObject *positional, PyObject *named)
{
    PyObject *name = argument_of(positional, named, 0, "file");
    PyObject *opener = argument_of(positional, named, 3, "opener");
    bool has_opener = opener != NULL && opener != Py_None;
    bool for_import = is_watched() && is_for_import();
    if (!is_watched() || name == NULL || PyLong_Check(name) || has_opener || for_import) {
        by_opener = has_opener && journal.mode == PLAYING;
        int failed = file_init(self, positional, named);
        if (for_import && !failed) {
            forget_descriptor(self);
        }
        return failed;
    }
    if (journal.mode == WRITING) {
        inside = true;
        int failed = file_init(self, positional, named);
        inside = false;
        write_by_handler(file_handler, failed ? NULL : self, positional, named);
        return failed;
    }
    PyObject *given[] = {self, positional, named == NULL ? Py_None : named};
    PyObject *result = call_handler(file_handler, given, 3);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

static PyObject *original_init(PyObject *Py_UNUSED(module), PyObject *arguments, PyObject *named)
{
    PyObject *self = PyTuple_GET_SIZE(arguments) > 0 ? PyTuple_GET_ITEM(arguments, 0) : NULL;
    PyObject *rest = PyTuple_GetSlice(arguments, 1, PyTuple_GET_SIZE(arguments));
    int failed = self == NULL || rest == NULL || file_init == NULL ? -1
                                                                   : file_init(self, rest, named);
    Py_XDECREF(rest);
    if (failed) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef init_definition = {"file_init", ANY_FUNCTION(original_init),
                                      METH_VARARGS | METH_KEYWORDS,
                                      "Opens a file by the original FileIO.__init__."};

/* Makes the handler responsible for FileIO(...); returns the original __init__. */
PyObject *interpose_files(PyObject *file_type, PyObject *handler)
{
    PyTypeObject *type = (PyTypeObject *)file_type;
    PyObject *descriptor = PyDict_GetItemString(type->tp_dict, "__init__");
    PyObject *fileno = PyDict_GetItemString(type->tp_dict, "fileno");
    if (descriptor == NULL || !Py_IS_TYPE(descriptor, &PyWrapperDescr_Type) || fileno == NULL ||
        file_init != NULL) {
        PyErr_SetString(PyExc_RuntimeError, "FileIO is not what it was");
        return NULL;
    }
    fileno_definition = definition_of(fileno);
    if (fileno_definition != NULL && (fileno_definition->ml_flags & CONVENTION) != METH_NOARGS) {
        fileno_definition = NULL;
    }
    file_init = type->tp_init;
    Py_INCREF(handler);
    file_handler = handler;
    type->tp_init = interposed_file_init;
    ((PyWrapperDescrObject *)descriptor)->d_wrapped = (void *)interposed_file_init;
    return PyCFunction_New(&init_definition, NULL);
}

/* ---- directories ---- */

static iternextfunc scandir_next;
static uint64_t scandir_kind;

static PyObject *interposed_scandir_next(PyObject *self)
{
    bool noted = is_watched() && journal.mode == WRITING && !is_for_import();
    PyObject *entry = scandir_next(self);
    if (!noted || (entry == NULL && PyErr_Occurred())) {
        return entry;
    }
    Bytes bytes = {0};
    PyObject *parts = NULL;
    if (entry == NULL) {
        parts = Py_NewRef(Py_None);
    } else {
        PyObject *name = PyObject_GetAttrString(entry, "name");
        PyObject *path = PyObject_GetAttrString(entry, "path");
        parts = name == NULL || path == NULL ? NULL : PyTuple_Pack(2, name, path);
        Py_XDECREF(name);
        Py_XDECREF(path);
    }
    if (parts == NULL || !value_encode(&bytes, parts, 0)) {
        bytes.length = 0;
    }
    PyErr_Clear();
    entry_write(scandir_kind, digest_of(NULL, 0, NULL), RETURNED, &bytes);
    free(bytes.bytes);
    Py_XDECREF(parts);
    return entry;
}

void interpose_scandir(PyObject *iterator, uint64_t kind)
{
    PyTypeObject *type = Py_TYPE(iterator);
    if (scandir_next == NULL) {
        scandir_next = type->tp_iternext;
        scandir_kind = kind;
        type->tp_iternext = interposed_scandir_next;
        PyObject *descriptor = PyDict_GetItemString(type->tp_dict, "__next__");
        if (descriptor != NULL && Py_IS_TYPE(descriptor, &PyWrapperDescr_Type)) {
            ((PyWrapperDescrObject *)descriptor)->d_wrapped = (void *)interposed_scandir_next;
        }
    }
}
