/* Values: the algorithm of docs/trace-format.md, *The bound*, on raw objects.
 *
 * Nothing of the program is run. The one thing that can run is a summary, which is whence's own
 * code or a function registered with it: then other threads may run too, and change or free what
 * is being walked. So before it the containers on the way to it are held, every loop asks again
 * how much there is, and if one of them was given up meanwhile (`aborted`) the rest is left out.
 *
 * Invariant: a value that says that it stores m parts is followed by m parts. */
#include "encoding.h"

/* ---- functions and modules ---- */

static void write_function_name(Snapshot *s, PyObject *module, PyObject *name)
{
    uint32_t module_number = name_number(module);
    uint32_t number = name_number(name);
    put_byte(s->out, V_FUNCTION);
    put_number(s->out, module_number);
    put_number(s->out, number);
}

static long write_bound(Snapshot *s, uint32_t name, PyObject *to, PyObject *method, long depth,
                        long budget)
{
    put_byte(s->out, V_METHOD);
    put_number(s->out, name);
    if (depth <= 0 || budget < 2) {
        put_byte(s->out, V_LEFT_OUT);
        return 1;
    }
    enter(s, method);
    long used = room(s, ATOM_ROOM) ? write_value(s, to, depth - 1, budget - 1) : 1;
    leave(s);
    return 1 + used;
}

static long write_method(Snapshot *s, PyObject *method, long depth, long budget)
{
    PyObject *function = PyMethod_GET_FUNCTION(method);
    uint32_t name = PyFunction_Check(function)
                        ? name_number(((PyFunctionObject *)function)->func_qualname)
                        : name_number(NULL);
    return write_bound(s, name, PyMethod_GET_SELF(method), method, depth, budget);
}

static long write_builtin(Snapshot *s, PyObject *function, long depth, long budget)
{
    PyCFunctionObject *raw = (PyCFunctionObject *)function;
    const char *name = raw->m_ml->ml_name;
    PyObject *self = raw->m_self;
    if (self == NULL || PyModule_Check(self)) {
        uint32_t module = name_number(raw->m_module);
        uint32_t number = name_number_of(name, strlen(name));
        put_byte(s->out, V_FUNCTION);
        put_number(s->out, module);
        put_number(s->out, number);
        return 1;
    }
    if (write_if_seen(s, function)) {
        return 1;
    }
    PyTypeObject *type = PyType_Check(self) ? (PyTypeObject *)self : Py_TYPE(self);
    const char *dot = strrchr(type->tp_name, '.');
    char qualified[256];
    int length = snprintf(qualified, sizeof qualified, "%s.%s",
                          dot != NULL ? dot + 1 : type->tp_name, name);
    size_t used = length < 0 ? 0 : Py_MIN((size_t)length, sizeof qualified - 1);
    return write_bound(s, name_number_of(qualified, used), self, function, depth, budget);
}

static void write_module(Snapshot *s, PyObject *module)
{
    static PyObject *key; /* kept: the interpreter has it anyway */
    PyObject *dict = PyModule_GetDict(module);
    if (unlikely(key == NULL)) {
        key = PyUnicode_InternFromString("__name__");
    }
    PyObject *name = dict != NULL && key != NULL
                         ? dict_get(dict, key, PyObject_Hash(key))
                         : NULL;
    uint32_t number = name_number(name);
    put_byte(s->out, V_MODULE);
    put_number(s->out, number);
}

static __attribute__((noinline)) long write_by_type(Snapshot *s, PyObject *value, PyTypeObject *type,
                                                    long depth, long budget)
{
    TypeEntry *entry = entry_of(s, value, type);
    if (entry == NULL) {
        put_byte(s->out, V_LEFT_OUT);
        return 1;
    }
    if (entry->kind == TYPE_MODULE) {
        write_module(s, value);
        return 1;
    }
    return write_if_seen(s, value) ? 1 : write_instance(s, value, entry, depth, budget);
}

static long write_other(Snapshot *s, PyObject *value, PyTypeObject *type, long depth, long budget)
{
    if (PyType_Check(value)) {
        TypeEntry *entry = type_find((PyTypeObject *)value);
        if (entry == NULL && s->in_place) {
            s->refused = true;
        }
        else if (entry == NULL) {
            hold(s, value);
            entry = type_entry((PyTypeObject *)value);
            if (!release(s, value)) {
                entry = NULL;
            }
        }
        if (entry == NULL) {
            put_byte(s->out, V_LEFT_OUT);
            return 1;
        }
        put_byte(s->out, V_CLASS);
        put_number(s->out, entry->number);
        return 1;
    }
    if (type == &PyFunction_Type) {
        PyFunctionObject *function = (PyFunctionObject *)value;
        write_function_name(s, function->func_module, function->func_qualname);
        return 1;
    }
    if (type == &PyCFunction_Type || type == &PyCMethod_Type) {
        return write_builtin(s, value, depth, budget);
    }
    if (type == &PyMethod_Type) {
        return write_if_seen(s, value) ? 1 : write_method(s, value, depth, budget);
    }
    return write_by_type(s, value, type, depth, budget);
}

/* ---- any value ---- */

/* Apart from write_compound, which so has nothing to save before it hands over. */
static __attribute__((noinline)) long write_builtin_container(Snapshot *s, PyObject *value,
                                                              PyTypeObject *type, long depth,
                                                              long budget)
{
    if (write_if_seen(s, value)) {
        return 1;
    }
    if (type == &PyDict_Type) {
        return write_dict(s, value, depth, budget);
    }
    if (type == &PyList_Type || type == &PyTuple_Type) {
        return write_sequence(s, value, type == &PyList_Type ? V_LIST : V_TUPLE, depth, budget);
    }
    if (type == &PyByteArray_Type) {
        s->mutable = true;
        write_bytes(s, V_BYTEARRAY, PyByteArray_AS_STRING(value), PyByteArray_GET_SIZE(value));
        return 1;
    }
    return write_set(s, value, type == &PySet_Type ? V_SET : V_FROZENSET, depth, budget);
}

/* What atom_at did not take, in the room for an atom that the caller made. */
long write_compound(Snapshot *s, PyObject *value, long depth, long budget)
{
    PyTypeObject *type = Py_TYPE(value);
    if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) && likely(!PyType_Check(value))) {
        return write_by_type(s, value, type, depth, budget);
    }
    if (type == &PyList_Type || type == &PyTuple_Type || type == &PyDict_Type ||
        type == &PySet_Type || type == &PyFrozenSet_Type || type == &PyByteArray_Type) {
        return write_builtin_container(s, value, type, depth, budget);
    }
    if (type == &PyUnicode_Type) {
        write_string(s, value);
        return 1;
    }
    if (type == &PyLong_Type) {
        write_number(s, value);
        return 1;
    }
    if (type == &PyBytes_Type || type == &PyComplex_Type) {
        return write_content(s, value, type == &PyBytes_Type ? V_BYTES : V_COMPLEX, depth, budget);
    }
    return write_other(s, value, type, depth, budget);
}

/* In the room for an atom that the caller made. */
long write_value(Snapshot *s, PyObject *value, long depth, long budget)
{
    if (unlikely(budget < 1)) {
        put_byte(s->out, V_LEFT_OUT);
        return 0;
    }
    if (unlikely(value == NULL)) {
        put_byte(s->out, V_UNBOUND);
        return 1;
    }
    if (unlikely(s->least > 0)) {
        return write_under_secret_name(s, value, depth, budget);
    }
    const uint8_t *end = atom_at(buffer_end(s->out), value, s->bound);
    if (end != NULL) {
        set_buffer_end(s->out, end);
        return 1;
    }
    return write_compound(s, value, depth, budget);
}

static void snapshot_begin(Snapshot *s, Thread *thread, Buffer *out, const Bound *bound)
{
    s->thread = thread;
    s->out = out;
    s->bound = bound;
    s->start = out->length;
    s->seen_count = 0;
    s->seen_filter = 0;
    s->chain_length = 0;
    s->runs = 0;
    s->mutable = s->aborted = s->failed = s->refused = false;
}

bool snapshot_pending(Snapshot *s, Thread *thread, Buffer *out, PyObject *type, PyObject *value,
                     const Bound *bound)
{
    snapshot_begin(s, thread, out, bound);
    TypeEntry *entry = PyType_Check(type) ? type_entry((PyTypeObject *)type) : NULL;
    if (entry == NULL || !room(s, ATOM_ROOM)) {
        return false;
    }
    long left = bound->budget - 1;
    put_byte(out, V_EXCEPTION);
    put_number(out, entry->number);
    remember(s, NULL);
    remember(s, NULL);
    if (value != NULL && PyTuple_CheckExact(value)) {
        write_sequence(s, value, V_TUPLE, bound->depth, left < 1 ? 1 : left);
    }
    else {
        bool some = value != NULL && value != Py_None;
        bool stored = some && bound->depth > 0 && left > 1;
        put_bytes(out, (uint8_t[]){V_TUPLE, some, stored}, 3);
        if (stored && room(s, ATOM_ROOM)) {
            write_value(s, value, bound->depth - 1, left - 1);
        }
    }
    if (room(s, 2)) {
        put_bytes(out, (uint8_t[]){0, 0}, 2);
    }
    return !s->failed;
}

bool snapshot_root(Snapshot *s, Thread *thread, Buffer *out, PyObject *value, const Bound *bound)
{
    snapshot_begin(s, thread, out, bound);
    if (likely(room(s, ATOM_ROOM))) {
        PyTypeObject *type = value != NULL ? Py_TYPE(value) : &PyLong_Type;
        if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) && likely(!PyType_Check(value))) {
            write_by_type(s, value, type, bound->depth, bound->budget);
        }
        else {
            write_value(s, value, bound->depth, bound->budget);
        }
    }
    return !s->failed;
}

bool snapshot_plain(Snapshot *s, Thread *thread, Buffer *out, PyObject *value, const Bound *bound)
{
    s->held_count = 0;
    s->least = 0;
    s->foreign_opaque = s->in_place = false;
    return snapshot_root(s, thread, out, value, bound);
}
