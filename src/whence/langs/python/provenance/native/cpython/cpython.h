/* What is read of CPython beyond its documented API. Nothing of it stands elsewhere.
 *
 * All of it is the same from 3.11 to 3.15. A version that differs gets a header of its own beside
 * this one; a version that was never tried is refused when the module is imported. */

#ifndef WHENCE_TAGGING_CPYTHON_H
#define WHENCE_TAGGING_CPYTHON_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <structmember.h>

static inline bool is_known_version(void)
{
    return PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x03100000;
}

static inline PyObject *const *tuple_items(PyObject *tuple)
{
    return ((PyTupleObject *)tuple)->ob_item;
}

static inline const char *builtin_name(PyObject *function)
{
    return ((PyCFunctionObject *)function)->m_ml->ml_name;
}

/* What a class or one of its bases defines; borrowed, never an exception. */
static inline PyObject *class_lookup(PyTypeObject *type, PyObject *name)
{
    return _PyType_Lookup(type, name);
}

/* Where instances keep a slot; `descriptor` is a PyMemberDescr_Type. */
static inline Py_ssize_t slot_offset(PyObject *descriptor)
{
    return ((PyMemberDescrObject *)descriptor)->d_member->offset;
}

#endif
