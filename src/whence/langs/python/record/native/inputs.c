/* The inputs of a call: encoded at its beginning, compared whenever one of its steps begins or ends.
 *
 * The recorder holds no reference to an input while the call runs. It keeps the input's address and
 * the hash of its encoding, and compares the address with the frame's slot later. If the code never
 * assigns to the name, an equal address means the same object. If it does assign, that holds unless
 * the frame had the only reference at the beginning: then the object may have been freed and its
 * address reused, and it is unknown whether the input changed (LOST). */
#include "inputs.h"

#include <errno.h>

static Watch *watch_add(Thread *thread)
{
    if (unlikely(thread->watch_count == thread->watch_capacity)) {
        size_t capacity = thread->watch_capacity ? thread->watch_capacity * 2 : 1024;
        Watch *watches = PyMem_RawRealloc(thread->watches, capacity * sizeof *watches);
        if (watches == NULL) {
            recorder_fail(ENOMEM);
            return NULL;
        }
        thread->watches = watches;
        thread->watch_capacity = capacity;
    }
    return &thread->watches[thread->watch_count++];
}

/* Finds an earlier input of the same call that is this very container. */
static const Watch *same_input(const Thread *thread, size_t first, const PyObject *value)
{
    for (size_t i = first; i < thread->watch_count; i++) {
        if (thread->watches[i].object == value) {
            return &thread->watches[i];
        }
    }
    return NULL;
}

static bool ends_room(Thread *thread, size_t count)
{
    if (likely(thread->ends_capacity >= count)) {
        return true;
    }
    InputEncoding *ends = PyMem_RawRealloc(thread->ends, count * 2 * sizeof *ends);
    if (ends == NULL) {
        recorder_fail(ENOMEM);
        return false;
    }
    thread->ends = ends;
    thread->ends_capacity = count * 2;
    return true;
}

static inline bool is_borrowed(const Frame *frame, const Input *input)
{
    return input->kind == INPUT_PLAIN && slot_is_borrowed(frame, input->slot);
}

/* Encodes an input of more than one byte, and adds a watch if it has identity or can change. Returns
 * false on failure. In the page itself it also returns false, with the recording still on, if encoding
 * would have to run code. */
bool encode_input(Thread *thread, Buffer *out, const Frame *frame, const Input *input,
                         uint32_t index, size_t first_watch, const Bound *bound,
                         InputEncoding *encoding)
{
    PyObject *value = input_value(frame, input);
    bool container = is_container(value);
    const Watch *same = container ? same_input(thread, first_watch, value) : NULL;
    size_t start = out->length;
    encoding->hashed = false;
    if (same != NULL) {
        put_byte(out, V_INPUT);
        put_number(out, same->input);
        encoding->end = out->length;
        return true;
    }
    Snapshot snapshot;
    /* Read before encoding: another thread may rebind a closure variable and free its object. */
    bool sole = value != NULL && Py_REFCNT(value) == 1 && !is_borrowed(frame, input);
    snapshot.held_count = 0;
    snapshot.least = input->least;
    snapshot.foreign_opaque = false;
    snapshot.in_place = out == &recorder.page;
    if (!snapshot_root(&snapshot, thread, out, value, bound)) {
        recorder_fail(ENOMEM);
        return false;
    }
    if (unlikely(snapshot.refused)) {
        return false;
    }
    encoding->end = out->length;
    bool compared = recorder.detail == DETAIL_FULL &&
                    (input->kind == INPUT_FREE || snapshot.mutable);
    if (!compared && !container) {
        return true;
    }
    Watch *watch = watch_add(thread);
    if (watch == NULL) {
        return false;
    }
    if (compared) {
        encoding->hashed = true;
        encoding->hash = hash_bytes(out->bytes + start, encoding->end - start);
    }
    *watch = (Watch){value, compared ? encoding->hash.a : 0, (uint16_t)index, compared, sole};
    return true;
}

/* Encodes all inputs into the thread's scratch buffer. */
bool encode_inputs(Thread *thread, const Frame *frame, const CodeEntry *code,
                          const Bound *bound)
{
    size_t first_watch = thread->watch_count;
    thread->scratch.length = 0;
    if (!ends_room(thread, code->input_count)) {
        return false;
    }
    for (uint32_t i = 0; i < code->input_count; i++) {
        const Input *input = &code->inputs[i];
        PyObject *value = input_value(frame, input);
        uint8_t byte = input->kind == INPUT_FREE ? 0 : one_byte_value(value);
        if (unlikely(!buffer_room(&thread->scratch, 32))) {
            recorder_fail(ENOMEM);
            return false;
        }
        if (byte != 0) {
            put_byte(&thread->scratch, byte);
            thread->ends[i] = (InputEncoding){.end = thread->scratch.length};
        }
        else if (!encode_input(thread, &thread->scratch, frame, input, i, first_watch, bound,
                               &thread->ends[i])) {
            return false;
        }
    }
    return true;
}

/* ---- changes ---- */

/* Appends an entry to the thread's changes: input, length of the encoding (0: lost), encoding. */
static bool add_change(Thread *thread, uint16_t input, const uint8_t *bytes, size_t count)
{
    if (!buffer_room(&thread->changes, count + 2 * NUMBER_SIZE)) {
        recorder_fail(ENOMEM);
        return false;
    }
    put_number(&thread->changes, input);
    put_number(&thread->changes, count);
    if (count > 0) {
        put_bytes(&thread->changes, bytes, count);
    }
    return true;
}

/* A cache of comparisons made at this moment. When a value passes through a chain of generators that
 * delegate to each other, every step compares its inputs, which often are the same closure. */
typedef struct {
    const PyObject *object;
    const Bound *bound;
    uint64_t moment;
    uint64_t hash;
} Compared;

enum { COMPARED_SLOTS = 128 };
static Compared last_compared[COMPARED_SLOTS];

static inline Compared *compared_slot(const PyObject *value)
{
    uintptr_t address = (uintptr_t)value >> 4;
    return &last_compared[(address ^ address >> 7) & (COMPARED_SLOTS - 1)];
}

/* Whether the cache shows that a value still has this hash at this moment. */
static inline bool is_unchanged(const PyObject *value, const Bound *bound, uint64_t hash)
{
    const Compared *last = compared_slot(value);
    return last->moment == moment && last->object == value && last->bound == bound &&
           last->hash == hash;
}

/* Compares the frame's inputs with their last encoding, and appends the differences to the thread's
 * changes. Fills `held` with the containers that are certainly still the same inputs. */
bool compare_inputs(Thread *thread, const Activation *activation, Watch *watches,
                           size_t count, Held *held, size_t *held_count)
{
    const CodeEntry *code = activation->code;
    const Bound *bound = &recorder.bounds[activation->bound];
    thread->changes.length = 0;
    *held_count = 0;
    for (size_t i = 0; i < count; i++) {
        Watch *watch = &watches[i];
        const Input *input = &code->inputs[watch->input];
        PyObject *value = input_value(activation->frame, input);
        bool same = value == watch->object;
        bool certain = same && !(input->rebound && watch->sole);
        if (certain && held != NULL && is_container(value)) {
            held[(*held_count)++] = (Held){value, watch->input};
        }
        if (!watch->compared) {
            continue;
        }
        if (!certain && input->kind != INPUT_FREE) {
            watch->compared = false; /* reported once */
            if (!add_change(thread, watch->input, NULL, 0)) {
                return false;
            }
            continue;
        }
        if (is_unchanged(value, bound, watch->hash)) {
            watch->object = value;
            continue;
        }
        Snapshot snapshot;
        size_t start = thread->scratch.length;
        snapshot.held_count = 0;
        snapshot.least = input->least;
        snapshot.foreign_opaque = snapshot.in_place = false;
        if (!snapshot_root(&snapshot, thread, &thread->scratch, value, bound)) {
            recorder_fail(ENOMEM);
            return false;
        }
        size_t length = thread->scratch.length - start;
        thread->scratch.length = start;
        uint64_t hash = hash_bytes(thread->scratch.bytes + start, length).a;
        if (unlikely(hash != watch->hash)) {
            watch->hash = hash;
            if (!add_change(thread, watch->input, thread->scratch.bytes + start, length)) {
                return false;
            }
        }
        watch->object = value;
        *compared_slot(value) = (Compared){value, bound, moment, hash};
    }
    return true;
}

static uint64_t get_number(const uint8_t *bytes, size_t *at)
{
    uint64_t number = 0;
    for (int shift = 0;; shift += 7) {
        uint8_t byte = bytes[(*at)++];
        number |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) {
            return number;
        }
    }
}

/* Writes the thread's changes as records. Each grows by less than CHANGE_SIZE bytes. */
void put_changes(const Thread *thread, uint64_t call)
{
    for (size_t at = 0; at < thread->changes.length;) {
        uint64_t input = get_number(thread->changes.bytes, &at);
        size_t count = (size_t)get_number(thread->changes.bytes, &at);
        put_byte(&recorder.page, count > 0 ? R_CHANGED : R_LOST);
        put_number(&recorder.page, recorder.next_call - call);
        put_number(&recorder.page, input);
        if (count > 0) {
            put_root(&recorder.page, thread->changes.bytes + at, count, NULL);
            at += count;
        }
    }
}
