/* Stands in for an extension module on versions of CPython that cpython/ has no header for: importing
 * it says why whence does in Python what the module would do. */
#include <Python.h>

#define JOINED(prefix, name) prefix##name
#define INITIALIZER(name) JOINED(PyInit_, name)

PyMODINIT_FUNC INITIALIZER(WHENCE_MODULE)(void)
{
    PyErr_SetString(PyExc_ImportError, "this version of Python is not known to whence's C code");
    return NULL;
}
