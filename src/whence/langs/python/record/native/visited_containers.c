/* The containers of a value that is being encoded: which were met before, and which are held while
 * code of our own runs. */
#include "encoding.h"

/* ---- identity ---- */

/* The same container is written twice only as what it is, never as seen: the first place counts. */
static bool remember_position(Thread *thread, PyObject *container, size_t place)
{
    return container == NULL || map_get(&thread->seen_positions, container) != NULL ||
           map_put(&thread->seen_positions, container, (void *)place);
}

/* Looked up from here on; what is there to look in at first is from another root. */
bool remember_many(Snapshot *s, PyObject *container)
{
    Thread *thread = s->thread;
    bool done = true;
    if (s->seen_count == MANY_SEEN) {
        map_clear(&thread->seen_positions);
        for (size_t i = 0; i < MANY_SEEN && done; i++) {
            done = remember_position(thread, thread->seen[i], i + 1);
        }
    }
    done = done && remember_position(thread, container, s->seen_count + 1);
    s->failed |= !done;
    return done;
}

bool seen_grow(Snapshot *s)
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

/* Where a container stands among those seen, counted from 1; 0 if it is new. */
size_t find_seen(const Snapshot *s, const PyObject *container)
{
    if (unlikely(s->seen_count > MANY_SEEN)) {
        return (size_t)map_get(&s->thread->seen_positions, container);
    }
    for (size_t i = s->seen_count; i-- > 0;) {
        if (s->thread->seen[i] == container) {
            return i + 1;
        }
    }
    return 0;
}

/* ---- running whence's own code ---- */

/* In the page itself nothing may run: the value is encoded again, apart. */
bool must_not_run(Snapshot *s)
{
    s->refused |= s->in_place;
    if (s->in_place && room(s, 1)) {
        put_byte(s->out, V_LEFT_OUT);
    }
    return s->in_place;
}

void hold(Snapshot *s, PyObject *value)
{
    s->runs++;
    Py_INCREF(value);
    for (int i = 0; i < s->chain_length; i++) {
        Py_INCREF(s->chain[i]);
    }
}

/* Returns whether the value itself is still somebody's. */
bool release(Snapshot *s, PyObject *value)
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

TypeEntry *entry_of(Snapshot *s, PyObject *value, PyTypeObject *type)
{
    TypeEntry *entry = type_find(type);
    if (likely(entry != NULL)) {
        return entry;
    }
    if (s->in_place) {
        s->refused = true;
        return NULL;
    }
    hold(s, value);
    entry = type_entry(type);
    return release(s, value) ? entry : NULL;
}

void write_summary(Snapshot *s, PyObject *value, TypeEntry *entry)
{
    if (must_not_run(s)) {
        return;
    }
    uint32_t number = entry->number;
    PyObject *summary = Py_NewRef(entry->summary);
    bool sized = entry->sized_summary;
    s->mutable |= entry->mutable_summary;
    hold(s, value);
    OwnCode own = own_code_begin(s->thread);
    /* The summary may snapshot nothing, but other roots may be encoded by other threads only:
     * scratch and seen are this thread's, and it is suspended. */
    PyObject *result = sized ? PyObject_CallFunction(summary, "Oi", value, (int)s->bound->text)
                             : PyObject_CallOneArg(summary, value);
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
    release(s, value);
}
