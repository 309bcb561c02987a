/* What all parts know of values, and the short way for most of them. Part of recorder.h. */
#ifndef WHENCE_SNAPSHOT_H
#define WHENCE_SNAPSHOT_H

typedef struct {
    PyObject *object;
    uint32_t input;
} Held;

typedef struct {
    Thread *thread;
    Buffer *out;
    const Bound *bound;
    const Held *held; /* inputs that a container can be the same as */
    size_t held_count;
    size_t seen_count;
    uint64_t seen_filter; /* a bit for each container seen: most are new */
    PyObject *chain[130]; /* containers being walked */
    int chain_length;
    uint32_t runs;       /* how often whence's own code ran, and others might have */
    uint8_t least;       /* how long a text must be to be a secret; 0: no name says so */
    bool foreign_opaque; /* a module variable: other people's objects that can change by type only */
    bool in_place;       /* encoded where it stands in the page: no code may run */
    bool refused;        /* it would have to */
    bool mutable;        /* something in it can change and would be seen to */
    bool aborted;        /* a container that was walked is gone */
    bool failed;         /* no memory */
    size_t start;        /* where it begins in `out` */
} Snapshot;

enum {
    LARGE_ROOT = 4 << 20, /* in a root that has taken so many bytes, texts are cut off at */
    SHORT_TEXT = 48,      /* characters; shorter ones are copied without a call */
};

enum { MAX_DEPTH = 60 };

/* Encodes a root value at the end of a buffer. False if there is no memory. What is held, and
 * least, foreign_opaque and in_place, is set by the caller; `snapshot_plain` is for a value without any of
 * them. (The struct is large and not cleared.) */
bool snapshot_plain(Snapshot *snapshot, Thread *thread, Buffer *out, PyObject *value,
                    const Bound *bound);
bool snapshot_root(Snapshot *snapshot, Thread *thread, Buffer *out, PyObject *value,
                   const Bound *bound);

/* The same for an exception that was raised but not made yet (3.11): its class, and what its
 * instance would be made of. */
bool snapshot_pending(Snapshot *snapshot, Thread *thread, Buffer *out, PyObject *type,
                     PyObject *value, const Bound *bound);

/* Most values are None, a truth value or a small number: one byte. 0 for all others. */
static inline uint8_t one_byte_value(PyObject *value)
{
    if (value == Py_None) {
        return V_NONE;
    }
    if (value == NULL || Py_TYPE(value) != &PyLong_Type) {
        return value == Py_True ? V_TRUE : value == Py_False ? V_FALSE : 0;
    }
    long long number;
    return small_number(value, &number) && number >= 0 && number < 128
               ? (uint8_t)(V_SMALL + number)
               : 0;
}

enum { ATOM_SIZE = SHORT_TEXT + 2 };

/* Copies a few bytes without a call: the last ones may be copied twice. */
static inline void copy_short(uint8_t *to, const uint8_t *from, size_t count)
{
    if (count >= 16) {
        for (size_t i = 0; i + 16 < count; i += 16) {
            memcpy(to + i, from + i, 16);
        }
        memcpy(to + count - 16, from + count - 16, 16);
    }
    else if (count >= 8) {
        memcpy(to, from, 8);
        memcpy(to + count - 8, from + count - 8, 8);
    }
    else if (count >= 4) {
        memcpy(to, from, 4);
        memcpy(to + count - 4, from + count - 4, 4);
    }
    else if (count > 0) {
        to[0] = from[0];
        to[count / 2] = from[count / 2];
        to[count - 1] = from[count - 1];
    }
}

/* ---- secrets.c ---- */

enum { LEAST_KEY = 12 }; /* shorter texts are no keys of well-known services */

/* Without a salt nothing is a secret. */
bool secrets_set(PyObject *salt, PyObject *patterns);
uint8_t least_of_name(const uint8_t *name, size_t size);
uint8_t least_of_text(PyObject *name);
bool begins_with_key(const uint8_t *text, size_t size);
bool replace_keys(Buffer *text);

#define PAIR(a, b) ((uint32_t)(a) | (uint32_t)(b) << 8)

/* Whether a text of at least LEAST_KEY characters is one: two characters decide for most. */
static inline bool may_be_key(const uint8_t *text, size_t length)
{
    switch (PAIR(text[0], text[1])) {
    case PAIR('A', 'K'):
    case PAIR('A', 'S'):
    case PAIR('A', 'I'):
    case PAIR('g', 'h'):
    case PAIR('g', 'i'):
    case PAIR('g', 'l'):
    case PAIR('x', 'o'):
    case PAIR('s', 'k'):
    case PAIR('r', 'k'):
    case PAIR('e', 'y'):
    case PAIR('B', 'e'):
    case PAIR('B', 'a'):
    case PAIR('b', 'e'):
    case PAIR('b', 'a'):
    case PAIR('-', '-'):
        return begins_with_key(text, length);
    default:
        break;
    }
    const uint8_t *colon = memchr(text, ':', length < 32 ? length - 1 : 32);
    return colon != NULL && colon[1] == '/' && begins_with_key(text, length);
}

/* Writes what most values are, in at most ATOM_SIZE bytes, and returns where they end; NULL for all
 * others. (With a place in a register: through a buffer each byte would cost several loads.) */
static inline __attribute__((always_inline)) uint8_t *atom_at(uint8_t *at, PyObject *value,
                                                              const Bound *bound)
{
    PyTypeObject *type = Py_TYPE(value);
    if (type == &PyUnicode_Type) {
        Py_ssize_t length = PyUnicode_GET_LENGTH(value);
        if (unlikely(length > SHORT_TEXT || length > bound->text ||
                     !PyUnicode_IS_COMPACT_ASCII(value))) {
            return NULL;
        }
        const uint8_t *text = (const uint8_t *)((PyASCIIObject *)value + 1);
        if (unlikely(length >= recorder.least_key && may_be_key(text, (size_t)length))) {
            return NULL;
        }
        *at++ = V_STRING;
        *at++ = (uint8_t)length;
        copy_short(at, text, (size_t)length);
        return at + length;
    }
    if (type->tp_flags & Py_TPFLAGS_HEAPTYPE) {
        return NULL;
    }
    if (value == Py_None) {
        *at++ = V_NONE;
        return at;
    }
    if (type == &PyLong_Type) {
        long long number;
        if (unlikely(!small_number(value, &number))) {
            return NULL;
        }
        if (number >= 0 && number < 128) {
            *at++ = (uint8_t)(V_SMALL + number);
            return at;
        }
        *at++ = V_NUMBER;
        return number_at(at, (uint64_t)number << 1 ^ (uint64_t)(number >> 63));
    }
    if (type == &PyBool_Type) {
        *at++ = value == Py_True ? V_TRUE : V_FALSE;
        return at;
    }
    if (type == &PyFloat_Type) {
        *at++ = V_FLOAT;
        memcpy(at, &((PyFloatObject *)value)->ob_fval, sizeof(double));
        return at + sizeof(double);
    }
    return NULL;
}

static inline uint8_t *buffer_end(const Buffer *buffer) { return buffer->bytes + buffer->length; }

static inline void set_buffer_end(Buffer *buffer, const uint8_t *at)
{
    buffer->length = (size_t)(at - buffer->bytes);
}

/* What stands before the parts of a container: what it is, how many there are, how many follow. In
 * registers, like an atom: a byte that is written could be anything, the buffer's length too. */
static inline void put_head(Buffer *out, uint8_t kind, uint64_t count, uint64_t stored)
{
    uint8_t *at = buffer_end(out);
    *at++ = kind;
    at = number_at(at, count);
    set_buffer_end(out, number_at(at, stored));
}

static inline bool is_container(PyObject *value)
{
    if (value == NULL || value == Py_None) {
        return false;
    }
    PyTypeObject *type = Py_TYPE(value);
    if (type->tp_flags & Py_TPFLAGS_HEAPTYPE) {
        return !PyType_Check(value);
    }
    return type != &PyLong_Type && type != &PyUnicode_Type && type != &PyBool_Type &&
           type != &PyFloat_Type && type != &PyFunction_Type && type != &PyBytes_Type &&
           type != &PyComplex_Type && !PyType_Check(value) && type != &PyModule_Type;
}

#endif
