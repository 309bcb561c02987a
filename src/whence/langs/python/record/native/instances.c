/* Objects: what their class says that they are, their content, and their attributes as they stand in
 * memory. */
#include "encoding.h"

/* ---- attributes ---- */

static inline PyObject *slot_value(PyObject *object, const SlotEntry *slot)
{
    Py_ssize_t items = unlikely(slot->after_items) ? items_size(object) : 0;
    PyObject *value = *(PyObject **)((char *)object + slot->offset + items);
    return unlikely(slot->none_is_unset) && value == Py_None ? NULL : value;
}

static long write_attribute(Snapshot *s, uint32_t name, PyObject *value, bool missing, long depth,
                            long left, long parts)
{
    if (!room(s, ATOM_ROOM)) {
        return left;
    }
    put_number(s->out, name);
    s->least = name_leasts[name];
    left = write_part_in_room(s, value, missing, depth, left, parts);
    s->least = 0;
    return left;
}

/* The same for one that is there and has a share. */
static inline long write_present(Snapshot *s, uint32_t name, PyObject *value, long depth, long left,
                                 long parts)
{
    if (unlikely(name_leasts[name] > 0)) {
        return write_attribute(s, name, value, false, depth, left, parts);
    }
    if (unlikely(!room(s, ATOM_ROOM))) {
        return left;
    }
    uint8_t *at = number_at(buffer_end(s->out), name);
    const uint8_t *end = atom_at(at, value, s->bound);
    if (likely(end != NULL)) {
        set_buffer_end(s->out, end);
        return left - 1;
    }
    set_buffer_end(s->out, at);
    return write_compound_part(s, value, depth, left, parts);
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
        PyObject *value = value_at(values, index);
        if (unlikely(value == NULL)) {
            break;
        }
        left = write_present(s, entry->key_names[index], value, depth - 1, left, stored - i);
    }
    for (; i < count; i++) {
        values = s->aborted ? NULL : instance_state(object, entry->type).values;
        bool missing = values == NULL || i >= values_count(values);
        Py_ssize_t index = missing ? 0 : values_index(values, i);
        missing = missing || !type_key_names(entry, index + 1);
        uint32_t name = likely(!missing) ? entry->key_names[index] : name_number(NULL);
        left = write_attribute(s, name, missing ? NULL : value_at(values, index), missing, depth - 1,
                               left, stored - i);
    }
    return left;
}

static inline Py_ssize_t state_count(const InstanceState *state)
{
    return state->values != NULL ? values_count(state->values)
           : state->dict != NULL ? PyDict_GET_SIZE(state->dict)
                                 : 0;
}

static inline Py_ssize_t slots_set(PyObject *object, const TypeEntry *entry)
{
    Py_ssize_t count = 0;
    PyObject *const *row = (PyObject *const *)((const char *)object + entry->row);
    if (entry->row > 0) {
        for (uint32_t i = 0; i < entry->slot_count; i++) {
            count += row[i] != NULL;
        }
        return count;
    }
    for (uint32_t i = 0; i < entry->slot_count; i++) {
        count += slot_value(object, &entry->slots[i]) != NULL;
    }
    return count;
}

static inline Py_ssize_t attribute_count(PyObject *object, const TypeEntry *entry)
{
    InstanceState state = instance_state(object, entry->type);
    return state_count(&state) + slots_set(object, entry);
}

/* `__dict__` in its order, then slots. Writes the counts and parts; returns what is left. */
static long write_attributes(Snapshot *s, PyObject *object, TypeEntry *entry, bool with_slots,
                             long depth, long left)
{
    InstanceState state = instance_state(object, entry->type);
    Py_ssize_t in_state = state_count(&state);
    Py_ssize_t count = in_state + (with_slots ? slots_set(object, entry) : 0);
    long stored = depth <= 0 ? 0 : stored_parts(count, s->bound->attributes, left);
    if (!room(s, ATOM_ROOM)) {
        return left;
    }
    uint8_t *head = number_at(buffer_end(s->out), (uint64_t)count + entry->has_hidden_state);
    set_buffer_end(s->out, number_at(head, (uint64_t)stored));
    if (stored == 0) {
        return left;
    }
    enter(s, object);
    uint8_t least = s->least;
    s->least = 0; /* each attribute has a name of its own */
    long i = 0;
    Py_ssize_t at = 0;
    if (state.values != NULL &&
        type_key_names(entry, shared_key_count(entry->type))) {
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
            uint32_t name = name_number(key);
            left = likely(!missing && left >= stored - i)
                       ? write_present(s, name, value, depth - 1, left, stored - i)
                       : write_attribute(s, name, value, missing, depth - 1, left, stored - i);
        }
    }
    for (uint32_t slot = 0; i < stored && !s->aborted && slot < entry->slot_count; slot++) {
        PyObject *value = slot_value(object, &entry->slots[slot]);
        if (value != NULL) {
            uint32_t name = entry->slots[slot].name;
            left = likely(left >= stored - i)
                       ? write_present(s, name, value, depth - 1, left, stored - i)
                       : write_attribute(s, name, value, false, depth - 1, left, stored - i);
            i++;
        }
    }
    for (; i < stored; i++) { /* only if others were let at it */
        left = write_attribute(s, name_number(NULL), NULL, true, depth - 1, left, stored - i);
    }
    s->least = least;
    leave(s);
    return left;
}

/* ---- instances ---- */

/* The content of an instance of a subclass of a builtin, as that builtin. */
long write_content(Snapshot *s, PyObject *value, uint8_t builtin, long depth, long budget)
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

long write_instance(Snapshot *s, PyObject *value, TypeEntry *entry, long depth, long budget)
{
    if (s->foreign_opaque && !entry->user &&
        (entry->kind != TYPE_SUMMARY || entry->mutable_summary)) {
        write_opaque(s, entry->number);
        return 1;
    }
    long left = budget - 1;
    switch (entry->kind) {
    case TYPE_OBJECT:
        s->mutable |= entry->has_dict || entry->slot_count > 0;
        put_byte(s->out, V_OBJECT);
        put_number(s->out, entry->number);
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
            uint8_t least = s->least;
            s->least = 0;
            used = write_sequence(s, args, V_TUPLE, depth, inner);
            s->least = least;
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

/* A compound value with no level left below it: what it is and how many parts it has. This is the
 * way of most; what is not here is written by write_compound, in the same way. */
long write_flat(Snapshot *s, PyObject *value)
{
    PyTypeObject *type = Py_TYPE(value);
    if (type == &PyList_Type || type == &PyTuple_Type) {
        if (!write_if_seen(s, value)) {
            s->mutable |= type == &PyList_Type;
            put_head(s->out, type == &PyList_Type ? V_LIST : V_TUPLE, (uint64_t)Py_SIZE(value), 0);
        }
        return 1;
    }
    TypeEntry *entry =
        (type->tp_flags & Py_TPFLAGS_HEAPTYPE) && !PyType_Check(value) ? type_find(type) : NULL;
    bool is_object = entry != NULL && entry->kind == TYPE_OBJECT;
    bool is_tuple =
        entry != NULL && entry->kind == TYPE_SUBCLASS && entry->builtin == V_TUPLE;
    if ((!is_object && !is_tuple) || s->foreign_opaque) {
        return write_compound(s, value, 0, 1);
    }
    if (write_if_seen(s, value)) {
        return 1;
    }
    s->mutable |= entry->has_dict || entry->slot_count > 0;
    uint8_t *at = buffer_end(s->out);
    *at++ = is_object ? V_OBJECT : V_SUBCLASS;
    at = number_at(at, entry->number);
    if (is_tuple) {
        *at++ = V_TUPLE;
        at = number_at(at, (uint64_t)Py_SIZE(value));
        *at++ = 0;
        remember(s, NULL);
    }
    at = number_at(at, (uint64_t)attribute_count(value, entry) + entry->has_hidden_state);
    *at++ = 0;
    set_buffer_end(s->out, at);
    return is_object ? 1 : 2;
}
