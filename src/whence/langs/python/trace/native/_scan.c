/* The module `_scan`: the type Scanner, which is fed pages and gives arrays. */
#include "scan.h"

#include <stddef.h>
#include <string.h>

typedef struct {
    PyObject_HEAD
    Scan scan;
    bool failed;
} Scanner;

/* --- its life ---------------------------------------------------------------------------------- */

static void set_widths(Scan *scan)
{
    scan->calls.width = sizeof(Call);
    scan->codes.width = sizeof(Code);
    scan->names.width = sizeof(Name);
    scan->roots.width = sizeof(Root);
    scan->variables.width = sizeof(Variable);
    Column *narrow[] = {&scan->code_variables, &scan->skipped_call, &scan->event_call,
                        &scan->global_variable, &scan->output_call};
    Column *wide[] = {&scan->types, &scan->notes, &scan->ends, &scan->skipped_count, &scan->skipped_before,
                      &scan->event_at, &scan->global_at, &scan->output_at};
    for (size_t which = 0; which < Py_ARRAY_LENGTH(narrow); which++) {
        narrow[which]->width = sizeof(int32_t);
    }
    for (size_t which = 0; which < Py_ARRAY_LENGTH(wide); which++) {
        wide[which]->width = sizeof(int64_t);
    }
}

static PyObject *malformed_class(void)
{
    PyObject *format = PyImport_ImportModule("whence.langs.python.trace.trace_format");
    if (format == NULL) {
        return NULL;
    }
    PyObject *found = PyObject_GetAttrString(format, "MalformedTrace");
    Py_DECREF(format);
    return found;
}

static PyObject *scanner_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    if (PyTuple_GET_SIZE(arguments) || (keywords && PyDict_GET_SIZE(keywords))) {
        PyErr_SetString(PyExc_TypeError, "Scanner takes no arguments");
        return NULL;
    }
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Scanner *self = (Scanner *)allocate(type, 0);
    if (self == NULL) {
        return NULL;
    }
    set_widths(&self->scan);
    self->scan.threads = 1;
    self->scan.malformed = malformed_class();
    Call *run = self->scan.malformed ? column_next(&self->scan.calls) : NULL;
    if (run == NULL) {
        Py_DECREF(self);
        return NULL;
    }
    *run = (Call){.call_at = -1, .exit_at = -1, .parent = -1, .code = -1, .state = RUNNING,
                  .unique = 1};
    return (PyObject *)self;
}

static void scanner_dealloc(PyObject *object)
{
    Scan *scan = &((Scanner *)object)->scan;
    PyTypeObject *type = Py_TYPE(object);
    Column *columns[] = {
        &scan->calls, &scan->codes, &scan->names, &scan->roots, &scan->variables,
        &scan->code_variables, &scan->types, &scan->notes, &scan->ends, &scan->skipped_call,
        &scan->skipped_count, &scan->skipped_before, &scan->event_call, &scan->event_at,
        &scan->global_variable, &scan->global_at, &scan->output_call, &scan->output_at};
    for (size_t which = 0; which < Py_ARRAY_LENGTH(columns); which++) {
        PyMem_RawFree(columns[which]->items);
    }
    Py_XDECREF(scan->malformed);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

/* --- what it does ------------------------------------------------------------------------------ */

static PyObject *scanner_feed(PyObject *object, PyObject *arguments)
{
    Scanner *self = (Scanner *)object;
    Py_ssize_t page;
    Py_buffer data;
    if (!PyArg_ParseTuple(arguments, "ny*", &page, &data)) {
        return NULL;
    }
    bool fits = page >= 0 && page < (Py_ssize_t)1 << 34 && data.len <= (Py_ssize_t)1 << PAGE_BITS;
    bool done = false;
    if (!fits || self->failed) {
        PyErr_SetString(PyExc_ValueError, "there is no such page");
    } else {
        Scan *scan = &self->scan;
        scan->base = (int64_t)page << PAGE_BITS;
        scan->reader = (Reader){data.buf, (size_t)data.len, 0};
        done = scan_records(scan);
        scan->reader = (Reader){NULL, 0, 0};
        self->failed = !done;
    }
    PyBuffer_Release(&data);
    if (!done) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* Takes over the reference to `bytes`, which may be NULL. */
static bool put(PyObject *found, const char *name, PyObject *bytes)
{
    if (bytes == NULL) {
        return false;
    }
    int status = PyDict_SetItemString(found, name, bytes);
    Py_DECREF(bytes);
    return status == 0;
}

static bool put_column(PyObject *found, const char *name, const Column *column)
{
    Py_ssize_t size = (Py_ssize_t)(column->count * column->width);
    return put(found, name, PyBytes_FromStringAndSize(size ? column->items : "", size));
}

typedef enum { AS_INT64, AS_INT32, AS_BYTE } Width;

/* One field of all entries of a column; all fields that are taken are aligned integers. */
static bool put_field(PyObject *found, const char *name, const Column *column, size_t offset,
                      Width width)
{
    static const size_t sizes[] = {sizeof(int64_t), sizeof(int32_t), sizeof(uint8_t)};
    size_t size = sizes[width];
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(column->count * size));
    if (bytes == NULL) {
        return false;
    }
    char *out = PyBytes_AS_STRING(bytes);
    const char *from = (const char *)column->items + offset;
    for (size_t index = 0; index < column->count; index++) {
        /* Apart, so that the compiler knows each size. */
        switch (width) {
        case AS_INT64:
            memcpy(out, from, sizeof(int64_t));
            break;
        case AS_INT32:
            memcpy(out, from, sizeof(int32_t));
            break;
        default:
            memcpy(out, from, sizeof(uint8_t));
        }
        out += size;
        from += column->width;
    }
    return put(found, name, bytes);
}

static bool put_equations(PyObject *found, const Column *calls, bool comparable)
{
    Py_ssize_t size = (Py_ssize_t)(calls->count * sizeof(uint64_t));
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, size);
    if (bytes == NULL) {
        return false;
    }
    char *out = PyBytes_AS_STRING(bytes);
    const Call *call = calls->items;
    for (size_t number = 0; number < calls->count; number++, call++) {
        bool ended = call->state == RETURNED || call->state == RAISED;
        bool known = comparable && ended && !call->unique;
        uint64_t equation = known ? call->digest : mix(UNIQUE, number);
        memcpy(out, &equation, sizeof equation);
        out += sizeof equation;
    }
    return put(found, "equation", bytes);
}

static bool put_efforts(PyObject *found, const Column *calls)
{
    Py_ssize_t size = (Py_ssize_t)(calls->count * sizeof(int32_t));
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, size);
    if (bytes == NULL) {
        return false;
    }
    char *out = PyBytes_AS_STRING(bytes);
    const Call *call = calls->items;
    for (size_t number = 0; number < calls->count; number++, call++) {
        int32_t effort = call->effort < INT32_MAX ? (int32_t)call->effort : INT32_MAX;
        memcpy(out, &effort, sizeof effort);
        out += sizeof effort;
    }
    return put(found, "effort", bytes);
}

static bool put_all(PyObject *found, Scan *scan, bool comparable)
{
    const Column *calls = &scan->calls;
    int64_t threads = (int64_t)scan->threads;
    return put_field(found, "parent", calls, offsetof(Call, parent), AS_INT32) &&
           put_field(found, "code", calls, offsetof(Call, code), AS_INT32) &&
           put_field(found, "state", calls, offsetof(Call, state), AS_BYTE) &&
           put_field(found, "call_at", calls, offsetof(Call, call_at), AS_INT64) &&
           put_field(found, "exit_at", calls, offsetof(Call, exit_at), AS_INT64) &&
           put_equations(found, calls, comparable) && put_efforts(found, calls) &&
           put_column(found, "skipped_call", &scan->skipped_call) &&
           put_column(found, "skipped_count", &scan->skipped_count) &&
           put_column(found, "skipped_before", &scan->skipped_before) &&
           put_column(found, "event_call", &scan->event_call) &&
           put_column(found, "event_at", &scan->event_at) &&
           put_field(found, "root_at", &scan->roots, offsetof(Root, at), AS_INT64) &&
           put_column(found, "global_variable", &scan->global_variable) &&
           put_column(found, "global_at", &scan->global_at) &&
           put_field(found, "name_at", &scan->names, offsetof(Name, at), AS_INT64) &&
           put_column(found, "type_at", &scan->types) &&
           put_field(found, "code_at", &scan->codes, offsetof(Code, at), AS_INT64) &&
           put_field(found, "variable_at", &scan->variables, offsetof(Variable, at), AS_INT64) &&
           put_column(found, "output_call", &scan->output_call) &&
           put_column(found, "output_at", &scan->output_at) &&
           put_column(found, "note_at", &scan->notes) &&
           put_column(found, "end_at", &scan->ends) &&
           put(found, "threads", PyBytes_FromStringAndSize((char *)&threads, sizeof threads));
}

static PyObject *scanner_finish(PyObject *object, PyObject *arguments)
{
    int comparable;
    if (!PyArg_ParseTuple(arguments, "p", &comparable)) {
        return NULL;
    }
    PyObject *found = PyDict_New();
    if (found != NULL && !put_all(found, &((Scanner *)object)->scan, comparable != 0)) {
        Py_CLEAR(found);
    }
    return found;
}

/* --- the module -------------------------------------------------------------------------------- */

static PyMethodDef scanner_methods[] = {
    {"feed", scanner_feed, METH_VARARGS, "All records of a page: its number, its payload."},
    {"finish", scanner_finish, METH_VARARGS,
     "What was found, as bytes by name; whether equal records mean equal calls."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot scanner_slots[] = {
    {Py_tp_new, scanner_new},
    {Py_tp_dealloc, scanner_dealloc},
    {Py_tp_methods, scanner_methods},
    {Py_tp_doc, "Is fed the pages of a trace in their order, and gives what it found."},
    {0, NULL},
};

static PyType_Spec scanner_spec = {
    .name = "whence.langs.python.trace._scan.Scanner",
    .basicsize = sizeof(Scanner),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = scanner_slots,
};

static int module_exec(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&scanner_spec);
    if (type == NULL) {
        return -1;
    }
    int status = PyModule_AddObjectRef(module, "Scanner", type);
    Py_DECREF(type);
    return status;
}

PyObject *arranged(PyObject *module, PyObject *argument); /* arrange.c */

static PyMethodDef module_methods[] = {
    {"arranged", arranged, METH_O, "Rows behind their parents, put in preorder; see arrange.c."},
    {"lz4_decoded", lz4_decoded, METH_VARARGS, "An LZ4 block, decoded to at most a length."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_exec},
    {0, NULL},
};

static struct PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_scan",
    .m_doc = "The pass over a trace's records in C; scan.py defines its meaning.",
    .m_size = 0,
    .m_methods = module_methods,
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__scan(void) { return PyModuleDef_Init(&module_definition); }
