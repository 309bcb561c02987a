/* Values with parts, each of which has its share of the bound: sequences, sets and dicts. */
#include "encoding.h"

long write_sequence(Snapshot *s, PyObject *sequence, uint8_t kind, long depth, long budget)
{
    bool is_list = kind == V_LIST;
    Py_ssize_t count = is_list ? PyList_GET_SIZE(sequence) : PyTuple_GET_SIZE(sequence);
    long left = budget - 1;
    long stored = depth <= 0 ? 0 : stored_parts(count, s->bound->width, left);
    s->mutable |= is_list;
    put_head(s->out, kind, (uint64_t)count, (uint64_t)stored);
    if (stored == 0) {
        return 1;
    }
    enter(s, sequence);
    PyObject **items = is_list ? ((PyListObject *)sequence)->ob_item
                               : ((PyTupleObject *)sequence)->ob_item;
    long i = 0;
    for (; s->least == 0 && i < stored && items[i] != NULL && room(s, ATOM_ROOM); i++, left--) {
        const uint8_t *end = atom_at(buffer_end(s->out), items[i], s->bound);
        if (end == NULL) {
            break; /* up to here nothing ran, and each took one of what is left */
        }
        set_buffer_end(s->out, end);
    }
    for (; i < stored; i++) {
        bool missing = s->aborted || (is_list && i >= PyList_GET_SIZE(sequence));
        PyObject *item = missing   ? NULL
                         : is_list ? PyList_GET_ITEM(sequence, i)
                                   : PyTuple_GET_ITEM(sequence, i);
        left = write_part(s, item, missing, depth - 1, left, stored - i);
    }
    leave(s);
    return budget - left;
}

long write_set(Snapshot *s, PyObject *set, uint8_t kind, long depth, long budget)
{
    PySetObject *raw = (PySetObject *)set;
    long left = budget - 1;
    long stored = depth <= 0 ? 0 : stored_parts(raw->used, s->bound->width, left);
    s->mutable |= kind == V_SET;
    put_head(s->out, kind, (uint64_t)raw->used, (uint64_t)stored);
    enter(s, set);
    Py_ssize_t at = 0;
    for (long i = 0; i < stored; i++) {
        /* A deleted entry has a hash that no object has. */
        while (!s->aborted && at <= raw->mask &&
               (raw->table[at].key == NULL || raw->table[at].hash == -1)) {
            at++;
        }
        bool missing = s->aborted || at > raw->mask;
        left = write_part(s, missing ? NULL : raw->table[at].key, missing, depth - 1, left,
                          stored - i);
        at++;
    }
    leave(s);
    return budget - left;
}

/* Writes what stands before a dict's entries, and returns how many of these follow. */
static inline long begin_dict(Snapshot *s, PyObject *dict, long depth, long left)
{
    Py_ssize_t count = PyDict_GET_SIZE(dict);
    long stored = depth <= 0 ? 0 : stored_parts(count, s->bound->width, left / 2);
    s->mutable |= PyDict_Check(dict); /* a frozendict is none */
    put_head(s->out, V_DICT, (uint64_t)count, (uint64_t)stored);
    enter(s, dict);
    return stored;
}

/* How long a text under this key, an exact str, must be to be a secret. */
static inline uint8_t value_least(PyObject *key, uint8_t of_dict)
{
    uint8_t least = key_least(key);
    return unlikely(least > 0) ? least : of_dict;
}

long write_dict(Snapshot *s, PyObject *dict, long depth, long budget)
{
    long left = budget - 1;
    long stored = begin_dict(s, dict, depth, left);
    uint8_t least = s->least;
    Py_ssize_t at = 0;
    for (long i = 0; i < stored; i++) {
        PyObject *key = NULL, *value = NULL;
        bool missing = s->aborted || !PyDict_Next(dict, &at, &key, &value);
        long parts = 2 * (stored - i);
        s->least = 0;
        if (likely(missing || PyUnicode_CheckExact(key))) {
            left = write_part(s, key, missing, depth - 1, left, parts);
            s->least = missing ? least : value_least(key, least);
            left = write_part(s, value, missing, depth - 1, left, parts - 1);
            continue;
        }
        /* Encoding the key may run a summary, and then the value could be gone. */
        Py_INCREF(value);
        left = write_part(s, key, missing, depth - 1, left, parts);
        bool gone = is_last_reference(value);
        s->least = least;
        left = write_part(s, value, s->aborted || gone, depth - 1, left, parts - 1);
        Py_DECREF(value);
    }
    s->least = least;
    leave(s);
    return budget - left;
}

/* In the order of its own, which is not that of the dict once an item was moved. */
long write_ordered_dict(Snapshot *s, PyObject *dict, long depth, long budget)
{
    const OrderedDict *raw = (const OrderedDict *)dict;
    long left = budget - 1;
    long stored = begin_dict(s, dict, depth, left);
    const OrderedNode *node = raw->first;
    size_t state = raw->state;
    uint32_t runs = s->runs;
    uint8_t least = s->least;
    for (long i = 0; i < stored; i++) {
        long parts = 2 * (stored - i);
        PyObject *value = node != NULL ? value_of_key(&raw->dict, node->key, node->hash) : NULL;
        bool missing = value == NULL;
        bool is_text = !missing && PyUnicode_CheckExact(node->key);
        uint8_t of_key = is_text ? value_least(node->key, least) : least;
        Py_XINCREF(value); /* encoding the key may run a summary, and then it could be gone */
        s->least = 0;
        left = write_part(s, missing ? NULL : node->key, missing, depth - 1, left, parts);
        s->least = of_key;
        bool gone = !missing && is_last_reference(value);
        left = write_part(s, value, missing || s->aborted || gone, depth - 1, left, parts - 1);
        Py_XDECREF(value);
        if (unlikely(s->runs != runs) && (s->aborted || raw->state != state)) {
            node = NULL; /* others were at it */
        }
        node = node != NULL ? node->next : NULL;
    }
    s->least = least;
    leave(s);
    return budget - left;
}
