/* How values are encoded: what snapshot.c and its parts (atoms.c, containers.c, instances.c,
 * visited_containers.c) share, and nobody else uses. */
#ifndef WHENCE_ENCODING_H
#define WHENCE_ENCODING_H

#include "recorder.h"

#pragma GCC visibility push(hidden)

enum { ATOM_ROOM = 16 + ATOM_SIZE }; /* an atom, and a name or a few numbers before it */

static inline bool room(Snapshot *s, size_t more)
{
    if (unlikely(!buffer_room(s->out, more))) {
        s->failed = true;
        return false;
    }
    return true;
}

/* ---- secrets.c ---- */

typedef struct {
    Py_hash_t hash;
    uint8_t least;
} KeyLeast;

enum { KEY_LEASTS = 512 };
extern KeyLeast key_leasts[KEY_LEASTS];
extern uint8_t *name_leasts; /* by the number of a name */

bool names_room(uint32_t number);
uint8_t key_least_new(PyObject *key, KeyLeast *slot);
void write_secret_text(Snapshot *s, PyObject *text);
void write_secret_bytes(Snapshot *s, const char *bytes, Py_ssize_t length);
bool write_secret_number(Snapshot *s, PyObject *number);
long write_under_secret_name(Snapshot *s, PyObject *value, long depth, long budget);

/* How long a text must be to be a secret under this key, a str that a dict has hashed. */
static inline uint8_t key_least(PyObject *key)
{
    Py_hash_t hash = ((PyASCIIObject *)key)->hash;
    KeyLeast *slot = &key_leasts[(size_t)hash % KEY_LEASTS];
    return likely(slot->hash == hash) ? slot->least : key_least_new(key, slot);
}

/* ---- atoms.c ---- */

void write_large(Snapshot *s, PyObject *number);
void write_string(Snapshot *s, PyObject *text);
void write_bytes(Snapshot *s, uint8_t kind, const char *bytes, Py_ssize_t length);

static inline void write_number(Snapshot *s, PyObject *number)
{
    long long value;
    if (unlikely(s->least > 0) && write_secret_number(s, number)) {
        return;
    }
    if (unlikely(!small_number(number, &value))) {
        write_large(s, number);
    }
    else if (value >= 0 && value < 128) {
        put_byte(s->out, (uint8_t)(V_SMALL + value));
    }
    else {
        put_byte(s->out, V_NUMBER);
        put_number(s->out, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
    }
}

static inline void write_double(Snapshot *s, double value) { put_bytes(s->out, &value, sizeof value); }

/* ---- visited_containers.c ---- */

enum { MANY_SEEN = 256 }; /* so many are looked through one by one; more are looked up */

bool remember_many(Snapshot *s, PyObject *container);
bool seen_grow(Snapshot *s);
size_t find_seen(const Snapshot *s, const PyObject *container);
bool must_not_run(Snapshot *s);
void hold(Snapshot *s, PyObject *value);
bool release(Snapshot *s, PyObject *value);
TypeEntry *entry_of(Snapshot *s, PyObject *value, PyTypeObject *type);
void write_summary(Snapshot *s, PyObject *value, TypeEntry *entry);

static inline bool is_last_reference(PyObject *object) { return Py_REFCNT(object) == 1; }

static inline void remember(Snapshot *s, PyObject *container)
{
    Thread *thread = s->thread;
    if (unlikely(s->seen_count >= MANY_SEEN) && !remember_many(s, container)) {
        return;
    }
    if (unlikely(s->seen_count == thread->seen_capacity) && !seen_grow(s)) {
        return;
    }
    thread->seen[s->seen_count++] = container;
}

static inline uint64_t filter_bit(const PyObject *container)
{
    return (uint64_t)1 << ((uintptr_t)container * 0x9E3779B97F4A7C15u >> 58);
}

/* Writes a container that was met before as such; else remembers it and returns false. */
static inline bool write_if_seen(Snapshot *s, PyObject *container)
{
    for (size_t i = 0; i < s->held_count; i++) {
        if (s->held[i].object == container) {
            put_byte(s->out, V_INPUT);
            put_number(s->out, s->held[i].input);
            return true;
        }
    }
    uint64_t bit = filter_bit(container);
    size_t place = s->seen_filter & bit ? find_seen(s, container) : 0;
    if (place > 0) {
        put_byte(s->out, V_SAME);
        put_number(s->out, s->seen_count - (place - 1));
        return true;
    }
    s->seen_filter |= bit;
    remember(s, container);
    return false;
}

/* ---- instances.c, snapshot.c ---- */

long write_content(Snapshot *s, PyObject *value, uint8_t builtin, long depth, long budget);
long write_instance(Snapshot *s, PyObject *value, TypeEntry *entry, long depth, long budget);
long write_flat(Snapshot *s, PyObject *value);
long write_value(Snapshot *s, PyObject *value, long depth, long budget);
long write_compound(Snapshot *s, PyObject *value, long depth, long budget);

/* ---- containers.c ---- */

long write_sequence(Snapshot *s, PyObject *sequence, uint8_t kind, long depth, long budget);
long write_set(Snapshot *s, PyObject *set, uint8_t kind, long depth, long budget);
long write_dict(Snapshot *s, PyObject *dict, long depth, long budget);
long write_ordered_dict(Snapshot *s, PyObject *dict, long depth, long budget);

static inline long stored_parts(long parts, long width, long left)
{
    long most = parts < width ? parts : width;
    return most < left ? most : left < 0 ? 0 : left;
}

/* With no level below it a part uses the same whatever its share: no need to divide. */
static inline long write_compound_part(Snapshot *s, PyObject *part, long depth, long left, long parts)
{
    long used = depth > 0 ? write_compound(s, part, depth, left / parts) : write_flat(s, part);
    return left > used ? left - used : 0;
}

/* One part of a container, in the room that the caller made, with its share of what is left;
 * returns what is left then. */
static inline long write_part_in_room(Snapshot *s, PyObject *part, bool missing, long depth, long left,
                                   long parts)
{
    if (unlikely(missing || left < parts)) { /* a share of less than 1 */
        put_byte(s->out, V_LEFT_OUT);
        return left;
    }
    if (unlikely(part == NULL)) {
        put_byte(s->out, V_UNBOUND);
        return left - 1;
    }
    if (unlikely(s->least > 0)) {
        long used = write_under_secret_name(s, part, depth, left / parts);
        return left > used ? left - used : 0;
    }
    const uint8_t *end = atom_at(buffer_end(s->out), part, s->bound);
    if (likely(end != NULL)) {
        set_buffer_end(s->out, end);
        return left - 1;
    }
    return write_compound_part(s, part, depth, left, parts);
}

static inline long write_part(Snapshot *s, PyObject *part, bool missing, long depth, long left, long parts)
{
    return likely(room(s, ATOM_ROOM)) ? write_part_in_room(s, part, missing, depth, left, parts)
                                      : left;
}

static inline void enter(Snapshot *s, PyObject *container) { s->chain[s->chain_length++] = container; }

static inline void leave(Snapshot *s) { s->chain_length--; }

#pragma GCC visibility pop

#endif
