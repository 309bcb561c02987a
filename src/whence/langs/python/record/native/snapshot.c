/* Values: the algorithm of docs/trace-format.md, *The bound*, on raw objects.
 *
 * Nothing of the program is run. The one thing that can run is a summary, which is whence's own
 * code or a function registered with it: then other threads may run too, and change or free what
 * is being walked. So before it the containers on the way to it are held, every loop asks again
 * how much there is, and if one of them was given up meanwhile (`aborted`) the rest is left out.
 *
 * Invariant: a value that says that it stores m parts is followed by m parts. */
#include "recorder.h"

#ifndef WHENCE_UNSUPPORTED

static long write_value(Snapshot *s, PyObject *value, long depth, long budget);
static long write_compound(Snapshot *s, PyObject *value, long depth, long budget);

/* ---- atoms ---- */

enum { ATOM_ROOM = 16 + ATOM_SIZE }; /* an atom, and a name or a few numbers before it */

static inline bool room(Snapshot *s, size_t more)
{
    if (unlikely(!buffer_room(s->out, more))) {
        s->failed = true;
        return false;
    }
    return true;
}

/* How much of a text of this length is written. */
static inline Py_ssize_t text_stored(const Snapshot *s, Py_ssize_t length)
{
    Py_ssize_t limit = s->bound->text;
    if (unlikely(length > SHORT_TEXT && s->out->length - s->start > LARGE_ROOT) &&
        limit > SHORT_TEXT) {
        limit = SHORT_TEXT;
    }
    return likely(length <= limit) ? length : limit;
}

static __attribute__((noinline)) void write_large(Snapshot *s, PyObject *number)
{
    const digit *digits = number_digit(number);
    Py_ssize_t count = number_digits(number);
    uint64_t bits = (uint64_t)(count - 1) * PyLong_SHIFT;
    for (digit top = digits[count - 1]; top != 0; top >>= 1) {
        bits++;
    }
    uint64_t bytes = (bits + 7) / 8;
    uint64_t stored = (uint64_t)text_stored(s, (Py_ssize_t)bytes);
    if (!room(s, ATOM_ROOM + stored)) {
        return;
    }
    put_byte(s->out, V_LARGE);
    put_byte(s->out, number_is_negative(number));
    put_number(s->out, bits);
    put_number(s->out, stored);
    for (uint64_t byte = bytes - stored; byte < bytes; byte++) {
        uint64_t bit = byte * 8;
        Py_ssize_t index = (Py_ssize_t)(bit / PyLong_SHIFT);
        uint64_t word = digits[index];
        if (index + 1 < count) {
            word |= (uint64_t)digits[index + 1] << PyLong_SHIFT;
        }
        put_byte(s->out, (uint8_t)(word >> bit % PyLong_SHIFT));
    }
}

static inline void write_number(Snapshot *s, PyObject *number)
{
    long long value;
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

static __attribute__((noinline)) void write_string(Snapshot *s, PyObject *text)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    Py_ssize_t stored = text_stored(s, length);
    if (!room(s, ATOM_ROOM + (size_t)stored * 4)) {
        return;
    }
    if (stored < length) {
        put_byte(s->out, V_CUT_STRING);
        put_number(s->out, (uint64_t)length);
    }
    else {
        put_byte(s->out, V_STRING);
    }
    if (PyUnicode_IS_ASCII(text)) {
        put_number(s->out, (uint64_t)stored);
        put_bytes(s->out, PyUnicode_DATA(text), (size_t)stored);
        return;
    }
    /* The length in bytes comes first and is known last. */
    uint8_t *start = s->out->bytes + s->out->length + NUMBER_SIZE;
    size_t count = encode_utf8(text, stored, start);
    put_number(s->out, count);
    memmove(s->out->bytes + s->out->length, start, count);
    s->out->length += count;
}

static void write_bytes(Snapshot *s, uint8_t kind, const char *bytes, Py_ssize_t length)
{
    Py_ssize_t stored = text_stored(s, length);
    if (!room(s, ATOM_ROOM + (size_t)stored)) {
        return;
    }
    put_byte(s->out, kind);
    put_number(s->out, (uint64_t)length);
    put_number(s->out, (uint64_t)stored);
    put_bytes(s->out, bytes, (size_t)stored);
}

static inline void write_double(Snapshot *s, double value) { put_bytes(s->out, &value, sizeof value); }

/* ---- identity ---- */

enum { MANY_SEEN = 256 }; /* so many are looked through one by one; more are looked up */

/* The same container is written twice only as what it is, never as seen: the first place counts. */
static bool remember_place(Thread *thread, PyObject *container, size_t place)
{
    return container == NULL || map_get(&thread->seen_places, container) != NULL ||
           map_put(&thread->seen_places, container, (void *)place);
}

/* Looked up from here on; what is there to look in at first is from another root. */
static __attribute__((noinline)) bool remember_many(Snapshot *s, PyObject *container)
{
    Thread *thread = s->thread;
    bool done = true;
    if (s->seen_count == MANY_SEEN) {
        map_clear(&thread->seen_places);
        for (size_t i = 0; i < MANY_SEEN && done; i++) {
            done = remember_place(thread, thread->seen[i], i + 1);
        }
    }
    done = done && remember_place(thread, container, s->seen_count + 1);
    s->failed |= !done;
    return done;
}

static __attribute__((noinline)) bool seen_grow(Snapshot *s)
{
    Thread *thread = s->thread;
    size_t capacity = thread->seen_capacity ? thread->seen_capacity * 2 : 256;
    PyObject **seen = PyMem_RawRealloc(thread->seen, capacity * sizeof *seen);
    if (seen == NULL) {
        s->failed = true;
        return false;
    }
    thread->seen = seen;
    thread->seen_capacity = capacity;
    return true;
}

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

/* Where a container stands among those seen, counted from 1; 0 if it is new. */
static size_t place_seen(const Snapshot *s, const PyObject *container)
{
    if (unlikely(s->seen_count > MANY_SEEN)) {
        return (size_t)map_get(&s->thread->seen_places, container);
    }
    for (size_t i = s->seen_count; i-- > 0;) {
        if (s->thread->seen[i] == container) {
            return i + 1;
        }
    }
    return 0;
}

/* Writes a container that was met before as such; else remembers it and returns false. */
static inline bool write_known(Snapshot *s, PyObject *container)
{
    for (size_t i = 0; i < s->held_count; i++) {
        if (s->held[i].object == container) {
            put_byte(s->out, V_INPUT);
            put_number(s->out, s->held[i].input);
            return true;
        }
    }
    uint64_t bit = filter_bit(container);
    size_t place = s->seen_filter & bit ? place_seen(s, container) : 0;
    if (place > 0) {
        put_byte(s->out, V_SAME);
        put_number(s->out, s->seen_count - (place - 1));
        return true;
    }
    s->seen_filter |= bit;
    remember(s, container);
    return false;
}

/* ---- running whence's own code ---- */

/* In the page itself nothing may run: the value is encoded again, apart. */
static bool must_not_run(Snapshot *s)
{
    s->refused |= s->in_place;
    if (s->in_place && room(s, 1)) {
        put_byte(s->out, V_LEFT_OUT);
    }
    return s->in_place;
}

static void hold(Snapshot *s, PyObject *value)
{
    s->runs++;
    Py_INCREF(value);
    for (int i = 0; i < s->chain_length; i++) {
        Py_INCREF(s->chain[i]);
    }
}

static bool is_last_reference(PyObject *object) { return Py_REFCNT(object) == 1; }

/* Returns whether the value itself is still somebody's. */
static bool let_go(Snapshot *s, PyObject *value)
{
    bool alive = !is_last_reference(value);
    s->aborted |= !alive;
    Py_DECREF(value);
    for (int i = s->chain_length; i-- > 0;) {
        s->aborted |= is_last_reference(s->chain[i]);
        Py_DECREF(s->chain[i]);
    }
    return alive;
}

static TypeEntry *entry_of(Snapshot *s, PyObject *value, PyTypeObject *type)
{
    TypeEntry *entry = type_known(type);
    if (likely(entry != NULL)) {
        return entry;
    }
    if (s->in_place) {
        s->refused = true;
        return NULL;
    }
    hold(s, value);
    entry = type_entry(type);
    return let_go(s, value) ? entry : NULL;
}

static void write_summary(Snapshot *s, PyObject *value, TypeEntry *entry)
{
    if (must_not_run(s)) {
        return;
    }
    uint32_t number = entry->number;
    PyObject *summary = Py_NewRef(entry->summary);
    s->mutable |= entry->mutable_summary;
    hold(s, value);
    OwnCode own = own_code_begin(s->thread);
    /* The summary may snapshot nothing, but other roots may be encoded by other threads only:
     * scratch and seen are this thread's, and it is suspended. */
    PyObject *result = PyObject_CallOneArg(summary, value);
    PyObject *text = NULL;
    bool complete = false;
    if (result != NULL && PyTuple_CheckExact(result) && PyTuple_GET_SIZE(result) == 2 &&
             PyUnicode_CheckExact(PyTuple_GET_ITEM(result, 0))) {
        text = PyTuple_GET_ITEM(result, 0);
        complete = PyTuple_GET_ITEM(result, 1) == Py_True;
    }
    Py_ssize_t length = text != NULL ? PyUnicode_GET_LENGTH(text) : 0;
    if (room(s, ATOM_ROOM + (size_t)length * 4)) {
        put_byte(s->out, text != NULL ? V_SUMMARY : V_OPAQUE);
        put_number(s->out, number);
        if (text != NULL) {
            put_byte(s->out, complete);
            uint8_t *start = s->out->bytes + s->out->length + NUMBER_SIZE;
            size_t count = encode_utf8(text, length, start);
            put_number(s->out, count);
            memmove(s->out->bytes + s->out->length, start, count);
            s->out->length += count;
        }
    }
    Py_XDECREF(result);
    Py_DECREF(summary);
    own_code_end(&own);
    let_go(s, value);
}

/* ---- containers ---- */

static inline long shared_out(long parts, long width, long left)
{
    long most = parts < width ? parts : width;
    return most < left ? most : left < 0 ? 0 : left;
}

/* One part of a container, in the room that the caller made, with its share of what is left;
 * returns what is left then. */
static inline long write_part_here(Snapshot *s, PyObject *part, bool missing, long depth, long left,
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
    const uint8_t *end = atom_at(buffer_end(s->out), part, s->bound);
    if (likely(end != NULL)) {
        buffer_ends(s->out, end);
        return left - 1;
    }
    /* With no level below it a part uses the same whatever its share: no need to divide. */
    long used = write_compound(s, part, depth, depth > 0 ? left / parts : 1);
    return left > used ? left - used : 0;
}

static long write_part(Snapshot *s, PyObject *part, bool missing, long depth, long left, long parts)
{
    return likely(room(s, ATOM_ROOM)) ? write_part_here(s, part, missing, depth, left, parts)
                                      : left;
}

static inline void enter(Snapshot *s, PyObject *container) { s->chain[s->chain_length++] = container; }

static inline void leave(Snapshot *s) { s->chain_length--; }

static long write_sequence(Snapshot *s, PyObject *sequence, uint8_t kind, long depth, long budget)
{
    bool is_list = kind == V_LIST;
    Py_ssize_t count = is_list ? PyList_GET_SIZE(sequence) : PyTuple_GET_SIZE(sequence);
    long left = budget - 1;
    long stored = depth <= 0 ? 0 : shared_out(count, s->bound->width, left);
    s->mutable |= is_list;
    put_byte(s->out, kind);
    put_number(s->out, (uint64_t)count);
    put_number(s->out, (uint64_t)stored);
    enter(s, sequence);
    PyObject **items = is_list ? ((PyListObject *)sequence)->ob_item
                               : ((PyTupleObject *)sequence)->ob_item;
    long i = 0;
    for (; i < stored && items[i] != NULL && room(s, ATOM_ROOM); i++, left--) {
        const uint8_t *end = atom_at(buffer_end(s->out), items[i], s->bound);
        if (end == NULL) {
            break; /* up to here nothing ran, and each took one of what is left */
        }
        buffer_ends(s->out, end);
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

static long write_set(Snapshot *s, PyObject *set, uint8_t kind, long depth, long budget)
{
    PySetObject *raw = (PySetObject *)set;
    long left = budget - 1;
    long stored = depth <= 0 ? 0 : shared_out(raw->used, s->bound->width, left);
    s->mutable |= kind == V_SET;
    put_byte(s->out, kind);
    put_number(s->out, (uint64_t)raw->used);
    put_number(s->out, (uint64_t)stored);
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

static long write_dict(Snapshot *s, PyObject *dict, long depth, long budget)
{
    Py_ssize_t count = PyDict_GET_SIZE(dict);
    long left = budget - 1;
    long stored = depth <= 0 ? 0 : shared_out(count, s->bound->width, left / 2);
    s->mutable = true;
    put_byte(s->out, V_DICT);
    put_number(s->out, (uint64_t)count);
    put_number(s->out, (uint64_t)stored);
    enter(s, dict);
    Py_ssize_t at = 0;
    for (long i = 0; i < stored; i++) {
        PyObject *key = NULL, *value = NULL;
        bool missing = s->aborted || !PyDict_Next(dict, &at, &key, &value);
        long parts = 2 * (stored - i);
        if (likely(missing || PyUnicode_CheckExact(key))) {
            left = write_part(s, key, missing, depth - 1, left, parts);
            left = write_part(s, value, missing, depth - 1, left, parts - 1);
            continue;
        }
        /* Encoding the key may run a summary, and then the value could be gone. */
        Py_INCREF(value);
        left = write_part(s, key, missing, depth - 1, left, parts);
        bool gone = is_last_reference(value);
        left = write_part(s, value, s->aborted || gone, depth - 1, left, parts - 1);
        Py_DECREF(value);
    }
    leave(s);
    return budget - left;
}

/* In the order of its own, which is not that of the dict once an item was moved. */
static long write_ordered_dict(Snapshot *s, PyObject *dict, long depth, long budget)
{
    const OrderedDict *raw = (const OrderedDict *)dict;
    Py_ssize_t count = PyDict_GET_SIZE(dict);
    long left = budget - 1;
    long stored = depth <= 0 ? 0 : shared_out(count, s->bound->width, left / 2);
    s->mutable = true;
    put_byte(s->out, V_DICT);
    put_number(s->out, (uint64_t)count);
    put_number(s->out, (uint64_t)stored);
    enter(s, dict);
    const OrderedNode *node = raw->first;
    size_t state = raw->state;
    uint32_t runs = s->runs;
    for (long i = 0; i < stored; i++) {
        long parts = 2 * (stored - i);
        PyObject *value = node != NULL ? value_of_key(&raw->dict, node->key, node->hash) : NULL;
        bool missing = value == NULL;
        Py_XINCREF(value); /* encoding the key may run a summary, and then it could be gone */
        left = write_part(s, missing ? NULL : node->key, missing, depth - 1, left, parts);
        bool gone = !missing && is_last_reference(value);
        left = write_part(s, value, missing || s->aborted || gone, depth - 1, left, parts - 1);
        Py_XDECREF(value);
        if (unlikely(s->runs != runs) && (s->aborted || raw->state != state)) {
            node = NULL; /* others were at it */
        }
        node = node != NULL ? node->next : NULL;
    }
    leave(s);
    return budget - left;
}

/* ---- attributes ---- */

static inline PyObject *slot_value(PyObject *object, const SlotEntry *slot)
{
    PyObject *value = *(PyObject **)((char *)object + slot->offset);
    return unlikely(slot->none_is_nothing) && value == Py_None ? NULL : value;
}

static inline long write_attribute(Snapshot *s, uint32_t name, PyObject *value, bool missing, long depth,
                            long left, long parts)
{
    if (!room(s, ATOM_ROOM)) {
        return left;
    }
    put_number(s->out, name);
    return write_part_here(s, value, missing, depth, left, parts);
}

/* The first `count` of the attributes that an instance keeps without a dict, whose names are known.
 * As long as nothing of ours runs, nobody changes them. */
static inline long write_values(Snapshot *s, PyObject *object, TypeEntry *entry,
                                PyDictValues *values, long count, long stored, long depth,
                                long left)
{
    uint32_t runs = s->runs;
    long i = 0;
    for (; i < count && likely(s->runs == runs && left >= stored - i); i++) {
        Py_ssize_t index = values_index(values, i);
        PyObject *value = values->values[index];
        if (unlikely(value == NULL || !room(s, ATOM_ROOM))) {
            break;
        }
        uint8_t *at = number_at(buffer_end(s->out), entry->key_names[index]);
        const uint8_t *end = atom_at(at, value, s->bound);
        if (likely(end != NULL)) {
            buffer_ends(s->out, end);
            left--;
        }
        else {
            buffer_ends(s->out, at);
            long used = write_compound(s, value, depth - 1, depth > 1 ? left / (stored - i) : 1);
            left = left > used ? left - used : 0;
        }
    }
    for (; i < count; i++) {
        values = s->aborted ? NULL : instance_state(object, entry->type).values;
        bool missing = values == NULL || i >= values_count(values);
        Py_ssize_t index = missing ? 0 : values_index(values, i);
        missing = missing || !type_key_names(entry, index + 1);
        uint32_t name = likely(!missing) ? entry->key_names[index] : name_number(NULL);
        left = write_attribute(s, name, missing ? NULL : values->values[index], missing, depth - 1,
                               left, stored - i);
    }
    return left;
}

static inline Py_ssize_t attribute_count(PyObject *object, const TypeEntry *entry,
                                         const InstanceState *state, bool with_slots)
{
    Py_ssize_t count = state->values != NULL ? values_count(state->values)
                       : state->dict != NULL ? PyDict_GET_SIZE(state->dict)
                                             : 0;
    for (uint32_t i = 0; with_slots && i < entry->slot_count; i++) {
        count += slot_value(object, &entry->slots[i]) != NULL;
    }
    return count;
}

/* `__dict__` in its order, then slots. Writes the counts and parts; returns what is left. */
static long write_attributes(Snapshot *s, PyObject *object, TypeEntry *entry, bool with_slots,
                             long depth, long left)
{
    InstanceState state = instance_state(object, entry->type);
    Py_ssize_t in_state = state.values != NULL ? values_count(state.values)
                          : state.dict != NULL ? PyDict_GET_SIZE(state.dict)
                                               : 0;
    Py_ssize_t count = attribute_count(object, entry, &state, with_slots);
    long stored = depth <= 0 ? 0 : shared_out(count, s->bound->attributes, left);
    if (!room(s, ATOM_ROOM)) {
        return left;
    }
    put_number(s->out, (uint64_t)count + entry->unseen);
    put_number(s->out, (uint64_t)stored);
    if (stored == 0) {
        return left;
    }
    enter(s, object);
    long i = 0;
    Py_ssize_t at = 0;
    if (state.values != NULL &&
        type_key_names(entry, ((PyHeapTypeObject *)entry->type)->ht_cached_keys->dk_nentries)) {
        i = Py_MIN(stored, in_state);
        left = write_values(s, object, entry, state.values, i, stored, depth, left);
    }
    else if (state.dict != NULL) {
        uint32_t runs = s->runs;
        bool gone = false;
        for (; i < stored && i < in_state; i++) {
            if (unlikely(s->runs != runs)) {
                runs = s->runs;
                gone |= s->aborted || instance_state(object, entry->type).dict != state.dict;
            }
            PyObject *key = NULL, *value = NULL;
            bool missing = gone || !PyDict_Next(state.dict, &at, &key, &value);
            left = write_attribute(s, name_number(key), value, missing, depth - 1, left,
                                   stored - i);
        }
    }
    for (uint32_t slot = 0; i < stored && !s->aborted && slot < entry->slot_count; slot++) {
        PyObject *value = slot_value(object, &entry->slots[slot]);
        if (value != NULL) {
            left = write_attribute(s, entry->slots[slot].name, value, false, depth - 1, left,
                                   stored - i);
            i++;
        }
    }
    for (; i < stored; i++) { /* only if others were let at it */
        left = write_attribute(s, name_number(NULL), NULL, true, depth - 1, left, stored - i);
    }
    leave(s);
    return left;
}

/* ---- instances ---- */

/* The content of an instance of a subclass of a builtin, as that builtin. */
static long write_content(Snapshot *s, PyObject *value, uint8_t builtin, long depth, long budget)
{
    switch (builtin) {
    case V_NUMBER:
        write_number(s, value);
        return 1;
    case V_FLOAT:
        put_byte(s->out, V_FLOAT);
        write_double(s, PyFloat_AS_DOUBLE(value));
        return 1;
    case V_COMPLEX:
        put_byte(s->out, V_COMPLEX);
        write_double(s, ((PyComplexObject *)value)->cval.real);
        write_double(s, ((PyComplexObject *)value)->cval.imag);
        return 1;
    case V_STRING:
        write_string(s, value);
        return 1;
    case V_BYTES:
        write_bytes(s, V_BYTES, PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value));
        return 1;
    default:
        break;
    }
    remember(s, NULL); /* a container in the count, to which nothing refers */
    switch (builtin) {
    case V_BYTEARRAY:
        s->mutable = true;
        write_bytes(s, V_BYTEARRAY, PyByteArray_AS_STRING(value), PyByteArray_GET_SIZE(value));
        return 1;
    case V_LIST:
    case V_TUPLE:
        return write_sequence(s, value, builtin, depth, budget);
    case V_SET:
    case V_FROZENSET:
        return write_set(s, value, builtin, depth, budget);
    default:
        return PyODict_Check(value) && ordered_dict_is_known()
                   ? write_ordered_dict(s, value, depth, budget)
                   : write_dict(s, value, depth, budget);
    }
}

static void write_opaque(Snapshot *s, uint32_t type)
{
    put_byte(s->out, V_OPAQUE);
    put_number(s->out, type);
}

static long write_instance(Snapshot *s, PyObject *value, TypeEntry *entry, long depth, long budget)
{
    if (s->foreign_opaque && !entry->user) {
        write_opaque(s, entry->number);
        return 1;
    }
    long left = budget - 1;
    switch (entry->kind) {
    case TYPE_OBJECT:
        s->mutable |= entry->has_dict || entry->slot_count > 0;
        put_byte(s->out, V_OBJECT);
        put_number(s->out, entry->number);
        if (depth <= 0) { /* as write_attributes has it, at the bound */
            InstanceState state = instance_state(value, entry->type);
            put_number(s->out, (uint64_t)attribute_count(value, entry, &state, true));
            put_byte(s->out, 0);
            return 1;
        }
        left = write_attributes(s, value, entry, true, depth, left);
        return budget - left;
    case TYPE_SUMMARY:
        write_summary(s, value, entry);
        return 1;
    case TYPE_OPAQUE:
        write_opaque(s, entry->number);
        return 1;
    default:
        break;
    }
    long used;
    long inner = left < 1 ? 1 : left;
    put_byte(s->out, entry->kind == TYPE_EXCEPTION ? V_EXCEPTION : V_SUBCLASS);
    put_number(s->out, entry->number);
    enter(s, value);
    if (entry->kind == TYPE_SUBCLASS) {
        s->mutable |= entry->has_dict || entry->slot_count > 0;
        used = write_content(s, value, entry->builtin, depth, inner);
    }
    else if (entry->kind == TYPE_EXCEPTION) {
        s->mutable = true;
        PyObject *args = ((PyBaseExceptionObject *)value)->args;
        remember(s, NULL); /* as with the content of others, nothing refers to it */
        if (args != NULL && PyTuple_CheckExact(args)) {
            used = write_sequence(s, args, V_TUPLE, depth, inner);
        }
        else {
            put_bytes(s->out, (uint8_t[]){V_TUPLE, 0, 0}, 3);
            used = 1;
        }
    }
    else {
        s->mutable = true;
        remember(s, NULL);
        write_opaque(s, entry->opaque);
        used = 1;
    }
    leave(s);
    left = left > used ? left - used : 0;
    long total = 1 + used;
    if (s->aborted) {
        if (room(s, 2)) {
            put_bytes(s->out, (uint8_t[]){0, 0}, 2);
        }
        return total;
    }
    long rest = write_attributes(s, value, entry, entry->kind != TYPE_EXCEPTION, depth, left);
    return total + left - rest;
}

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
    if (write_known(s, function)) {
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
                         ? _PyDict_GetItem_KnownHash(dict, key, PyObject_Hash(key))
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
    return write_known(s, value) ? 1 : write_instance(s, value, entry, depth, budget);
}

static long write_other(Snapshot *s, PyObject *value, PyTypeObject *type, long depth, long budget)
{
    if (PyType_Check(value)) {
        TypeEntry *entry = type_known((PyTypeObject *)value);
        if (entry == NULL && s->in_place) {
            s->refused = true;
        }
        else if (entry == NULL) {
            hold(s, value);
            entry = type_entry((PyTypeObject *)value);
            if (!let_go(s, value)) {
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
        return write_known(s, value) ? 1 : write_method(s, value, depth, budget);
    }
    return write_by_type(s, value, type, depth, budget);
}

/* ---- any value ---- */

/* Apart from write_compound, which so has nothing to save before it hands over. */
static __attribute__((noinline)) long write_builtin_container(Snapshot *s, PyObject *value,
                                                              PyTypeObject *type, long depth,
                                                              long budget)
{
    if (write_known(s, value)) {
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
static long write_compound(Snapshot *s, PyObject *value, long depth, long budget)
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
        write_large(s, value);
        return 1;
    }
    if (type == &PyBytes_Type || type == &PyComplex_Type) {
        return write_content(s, value, type == &PyBytes_Type ? V_BYTES : V_COMPLEX, depth, budget);
    }
    return write_other(s, value, type, depth, budget);
}

/* In the room for an atom that the caller made. */
static long write_value(Snapshot *s, PyObject *value, long depth, long budget)
{
    if (unlikely(budget < 1)) {
        put_byte(s->out, V_LEFT_OUT);
        return 0;
    }
    if (unlikely(value == NULL)) {
        put_byte(s->out, V_UNBOUND);
        return 1;
    }
    const uint8_t *end = atom_at(buffer_end(s->out), value, s->bound);
    if (end != NULL) {
        buffer_ends(s->out, end);
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

bool snapshot_unmade(Snapshot *s, Thread *thread, Buffer *out, PyObject *type, PyObject *value,
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
    s->foreign_opaque = s->in_place = false;
    return snapshot_root(s, thread, out, value, bound);
}

#else
typedef int not_empty;
#endif
