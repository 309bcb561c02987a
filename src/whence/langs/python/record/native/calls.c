/* Activations and the records of calls.
 *
 * A record is prepared first (values are encoded into the thread's scratch, which may run
 * summaries and let other threads write records) and then written in one go.
 *
 * No object is held from the beginning of a call to its end. An input's address and the hash of
 * its encoding are kept; at the end the frame tells whether it still holds an object at this
 * address. If the code never assigns to the name that is the same object. If it does, it is so
 * unless the frame was the only one to hold it at the beginning: then the object may be gone and
 * its address be used again, and whether it was changed is not known (LOST). */
#include "recorder.h"

#ifndef WHENCE_UNSUPPORTED

#include <errno.h>

/* ---- the stack of activations ---- */

static __attribute__((noinline)) bool stack_grow(Thread *thread)
{
    size_t capacity = thread->capacity ? thread->capacity * 2 : 256;
    Activation *stack = PyMem_RawRealloc(thread->stack, capacity * sizeof *stack);
    if (stack == NULL) {
        recorder_fail(ENOMEM);
        return false;
    }
    thread->stack = stack;
    thread->capacity = capacity;
    return true;
}

static inline Activation *push(Thread *thread, Frame *frame, CodeEntry *code,
                               enum activation_kind kind, uint64_t call, uint32_t depth)
{
    if (unlikely(thread->count == thread->capacity) && !stack_grow(thread)) {
        return NULL;
    }
    int32_t index = (int32_t)thread->count;
    int32_t below = index > 0 ? thread->stack[index - 1].owner : -1;
    Activation *activation = &thread->stack[thread->count++];
    *activation = (Activation){
        .call = call,
        .frame = frame,
        .code = code,
        .depth = depth,
        .owner = kind == RECORDED ? index : below,
        .site = kind == RECORDED ? index : -1,
        .watches = (uint32_t)thread->watch_count,
        .kind = (uint8_t)kind,
    };
    return activation;
}

static inline void pop(Thread *thread)
{
    thread->watch_count = thread->stack[--thread->count].watches;
}

/* Transparent code: what it calls is called by the call in which it stands, from the place where
 * that stands, if it is among those that run. */
static Activation *push_alias(Thread *thread, Frame *frame, CodeEntry *code, uint64_t call,
                              uint32_t depth, bool skipped)
{
    Activation *alias = push(thread, frame, code, skipped ? SKIPPED : ALIAS, call, depth);
    for (size_t i = thread->count - 1; alias != NULL && !skipped && i-- > 0;) {
        if (thread->stack[i].kind == RECORDED && thread->stack[i].call == call) {
            alias->site = (int32_t)i;
            break;
        }
    }
    return alias;
}

/* The activation of a frame, with those dropped that left above it unseen. */
static Activation *activation_of(Thread *thread, const Frame *frame)
{
    for (size_t i = thread->count; i-- > 0;) {
        if (likely(thread->stack[i].frame == frame)) {
            while (thread->count > i + 1) {
                pop(thread);
            }
            return &thread->stack[i];
        }
    }
    return NULL;
}

/* Before a frame begins: what is left on the stack are the frames that it stands on. */
static void make_current(Thread *thread, const Frame *frame)
{
    if (thread->count == 0) {
        return;
    }
    const Frame *top = thread->stack[thread->count - 1].frame;
    if (likely(top == frame->previous && top != frame)) {
        return;
    }
    thread_sync(thread, frame->previous);
}

/* ---- bounds ---- */

/* Counts a call that is not recorded on the nearest call that is. */
static void skip(Thread *thread)
{
    int32_t owner = thread->count > 0 ? thread->stack[thread->count - 1].owner : -1;
    recorder.skipped_calls++;
    if (owner >= 0) {
        thread->stack[owner].skipped++;
    }
    else {
        recorder.skipped_by_run++;
    }
}

static bool beyond_bounds(const Origin *parent)
{
    return parent->skipped || recorder.full || recorder.next_call > recorder.max_calls ||
           parent->depth >= recorder.max_depth;
}

static void put_skipped(uint64_t call, uint64_t count)
{
    put_byte(&recorder.page, R_SKIPPED);
    put_number(&recorder.page, recorder.next_call - call);
    put_number(&recorder.page, count);
}

enum { SKIPPED_SIZE = 1 + 2 * NUMBER_SIZE };

void write_run_skipped(void)
{
    if (recorder.skipped_by_run > 0 && record_begin(recorder.current_thread, SKIPPED_SIZE)) {
        put_skipped(0, recorder.skipped_by_run);
        recorder.skipped_by_run = 0;
        record_end();
    }
}

/* ---- inputs ---- */

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

/* A container that an earlier input of the same call holds too. */
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

/* Encodes an input that is more than a byte, and watches it if it has identity or can change. In
 * the page itself it is refused (false, with recording going on) if code would have to run. */
static bool encode_input(Thread *thread, Buffer *out, PyObject *value, const Input *input,
                         uint32_t index, size_t first_watch, const Bound *bound,
                         InputEncoding *encoding)
{
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
    /* Asked now: meanwhile another thread may rebind a closure's variable, and free its object. */
    bool sole = value != NULL && Py_REFCNT(value) == 1;
    snapshot.held_count = 0;
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

/* Encodes each input into the scratch. */
static bool encode_inputs(Thread *thread, const Frame *frame, const CodeEntry *code,
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
        else if (!encode_input(thread, &thread->scratch, value, input, i, first_watch, bound,
                               &thread->ends[i])) {
            return false;
        }
    }
    return true;
}

/* ---- beginnings ---- */

enum {
    CALL_SIZE = 1 + 3 * NUMBER_SIZE,
    CAREFUL = 16, /* so often refused, a code's inputs are no longer tried in place */
};

static void put_call(uint8_t record, const Origin *parent, const CodeEntry *code)
{
    put_byte(&recorder.page, record);
    put_number(&recorder.page, recorder.next_call - parent->call);
    put_number(&recorder.page, code->number);
    put_number(&recorder.page, parent->site);
}

/* Not that of first calls for a generator: each of its steps is compared with the one before. */
static const Bound *bound_of_next_call(CodeEntry *code, uint8_t *which)
{
    bool first = code->calls < recorder.first_calls;
    *which = first && !code->is_generator ? BOUND_FIRST : BOUND_USUAL;
    if (unlikely(recorder.next_call >= recorder.first_whole &&
                 recorder.next_call <= recorder.last_whole)) {
        *which = BOUND_WHOLE;
    }
    code->calls++;
    return &recorder.bounds[*which];
}

/* Writes the CALL record with its inputs encoded where they stand. False, with the page as it was,
 * if code would have to run for that or a name is new, whose record must precede. */
static bool call_in_place(Thread *thread, const Frame *frame, CodeEntry *code, const Origin *parent,
                          const Bound *bound)
{
    Buffer *page = &recorder.page;
    if (unlikely(code->careful >= CAREFUL) || !record_begin(thread->number, CALL_SIZE)) {
        return false;
    }
    size_t before = page->length, first_watch = thread->watch_count;
    uint64_t next_value = recorder.next_value;
    put_call(R_CALL, parent, code);
    for (uint32_t i = 0; i < code->input_count; i++) {
        const Input *input = &code->inputs[i];
        PyObject *value = input_value(frame, input);
        size_t start = page->length;
        InputEncoding encoding;
        bool done = buffer_room(page, ATOM_SIZE);
        if (likely(done && value != NULL && input->kind != INPUT_FREE)) {
            const uint8_t *end = atom_at(buffer_end(page), value, bound);
            if (end != NULL) {
                buffer_ends(page, end);
                root_written(page, start, NULL);
                continue;
            }
        }
        done = done && encode_input(thread, page, value, input, i, first_watch, bound, &encoding);
        if (unlikely(!done || recorder.tables.length > 0)) {
            page->length = before;
            thread->watch_count = first_watch;
            roots_undone(next_value);
            code->careful += recorder.tables.length == 0;
            return false;
        }
        root_written(page, start, encoding.hashed ? &encoding.hash : NULL);
    }
    record_end();
    return true;
}

/* Writes the CALL record of a frame whose arguments are in place; returns its number, or 0 if
 * recording is over. The watches of its inputs are left at the end of the thread's. */
static inline uint64_t write_call(Thread *thread, Frame *frame, CodeEntry *code, const Origin *parent,
                           uint8_t *which)
{
    if (recorder.detail == DETAIL_IDS) {
        if (!record_begin(thread->number, CALL_SIZE)) {
            return 0;
        }
        put_call(R_BARE_CALL, parent, code);
        record_end();
        return recorder.next_call++;
    }
    const Bound *bound = bound_of_next_call(code, which);
    if (code->global_count > 0) {
        thread->scratch.length = 0;
        globals_check(thread, frame, code);
    }
    if (likely(call_in_place(thread, frame, code, parent, bound))) {
        return recorder.next_call++;
    }
    if (!recorder.on || !encode_inputs(thread, frame, code, bound) ||
        !record_begin(thread->number, CALL_SIZE + thread->scratch.length)) {
        return 0;
    }
    put_call(R_CALL, parent, code);
    size_t start = 0;
    for (uint32_t i = 0; i < code->input_count; i++) {
        const InputEncoding *encoding = &thread->ends[i];
        put_root(&recorder.page, thread->scratch.bytes + start, encoding->end - start,
                 encoding->hashed ? &encoding->hash : NULL);
        start = encoding->end;
    }
    record_end();
    return recorder.next_call++;
}

/* A frame of a generator begins or goes on: it stands on its resumer, but belongs elsewhere. */
static Activation *push_generator(Thread *thread, Frame *frame, Generator *generator)
{
    Activation *activation =
        generator->kind == RECORDED
            ? push(thread, frame, generator->code, RECORDED, generator->call, generator->depth)
            : push_alias(thread, frame, generator->code, generator->call, generator->depth,
                         generator->kind == SKIPPED);
    if (activation != NULL) {
        activation->generator = generator;
        activation->bound = generator->bound;
        generator->started = true;
    }
    return activation;
}

void generator_created(Thread *thread, PyObject *object, CodeEntry *code, const Origin *creator)
{
    Frame *frame = generator_frame(object);
    Origin parent = creator != NULL ? *creator : thread_top_now(thread);
    Generator *generator = generator_add(frame, code);
    if (generator == NULL) {
        return;
    }
    if (code->transparent) {
        generator->kind = parent.skipped ? SKIPPED : ALIAS;
        generator->call = parent.call;
        generator->depth = parent.depth;
        return;
    }
    generator->depth = parent.depth + 1;
    generator->call = parent.call;
    if (beyond_bounds(&parent)) {
        generator->kind = SKIPPED;
        skip(thread);
        return;
    }
    generator->kind = SKIPPED; /* until its record is written: others may run before that */
    uint64_t serial = generator->serial;
    size_t first_watch = thread->watch_count;
    uint8_t which = 0;
    uint64_t call = write_call(thread, frame, code, &parent, &which);
    generator = generator_of(frame);
    size_t count = thread->watch_count - first_watch;
    thread->watch_count = first_watch;
    if (call == 0 || generator == NULL || generator->serial != serial) {
        return;
    }
    recorder.recorded_calls++;
    generator->kind = RECORDED;
    generator->call = call;
    generator->bound = which;
    if (count > 0) {
        generator->watches = PyMem_RawMalloc(count * sizeof(Watch));
        if (generator->watches == NULL) {
            recorder_fail(ENOMEM);
            return;
        }
        memcpy(generator->watches, thread->watches + first_watch, count * sizeof(Watch));
        generator->watch_count = (uint32_t)count;
    }
}

void generator_closed(Thread *thread, Generator *generator)
{
    if (thread != NULL && generator->kind == RECORDED && recorder.on &&
        record_begin(thread->number, 1 + NUMBER_SIZE)) {
        put_byte(&recorder.page, R_CLOSED);
        put_number(&recorder.page, recorder.next_call - generator->call);
        record_end();
    }
}

/* Whether a short record can be written into the page as it is. */
static inline bool page_is_ready(const Thread *thread)
{
    return likely(recorder.page.length < recorder.page_limit && recorder.tables.length == 0 &&
                  thread->number == recorder.current_thread);
}

enum { MISSES = 16 }; /* so often in a row, the short way is no longer tried */

/* The way of most calls, which does the same as the long one with less to ask: all inputs are short
 * atoms (or none is wanted), and there is nothing else to look at. False, with nothing done, for
 * all others. */
static inline bool call_quickly(Thread *thread, Frame *frame, CodeEntry *code)
{
    size_t count = thread->count;
    if (!code->quick || code->missed >= MISSES || count == 0 || count == thread->capacity ||
        !page_is_ready(thread)) {
        return false;
    }
    const Activation *top = &thread->stack[count - 1];
    if (unlikely(top->frame != frame->previous || top->kind != RECORDED || recorder.full ||
                 recorder.next_call > recorder.quick_calls || top->depth >= recorder.max_depth ||
                 code->calls < recorder.first_calls) ||
        !globals_settled(frame, code)) {
        return false;
    }
    uint8_t *at = recorder.page.bytes + recorder.page.length;
    uint32_t inputs = recorder.detail == DETAIL_IDS ? 0 : code->input_count;
    const Bound *bound = &recorder.bounds[BOUND_USUAL];
    uint64_t numbered = 0;
    *at++ = recorder.detail == DETAIL_IDS ? R_BARE_CALL : R_CALL;
    at = number_at(at, recorder.next_call - top->call);
    at = number_at(at, code->number);
    at = number_at(at, frame_place(top->frame));
    for (uint32_t i = 0; i < inputs; i++) {
        PyObject *value = frame->localsplus[code->inputs[i].slot];
        uint8_t *end = value != NULL ? atom_at(at, value, bound) : NULL;
        if (unlikely(end == NULL || end - at >= DEDUPED)) {
            code->missed++;
            return false;
        }
        numbered += end - at >= NUMBERED;
        at = end;
    }
    code->missed = 0;
    recorder.next_value += numbered;
    recorder.page.length = (size_t)(at - recorder.page.bytes);
    Activation *activation = &thread->stack[count];
    activation->call = recorder.next_call;
    activation->skipped = 0;
    activation->frame = frame;
    activation->code = code;
    activation->generator = NULL;
    activation->depth = top->depth + 1;
    activation->owner = activation->site = (int32_t)count;
    activation->watches = (uint32_t)thread->watch_count;
    activation->kind = RECORDED;
    activation->bound = BOUND_USUAL;
    thread->count = count + 1;
    recorder.next_call++;
    recorder.recorded_calls++;
    code->calls++;
    record_end();
    return true;
}

/* Apart, so that the quick way has no registers to save. */
static __attribute__((noinline)) void call_slowly(Thread *thread, Frame *frame, CodeEntry *code)
{
    make_current(thread, frame);
    if (unlikely(code->is_generator && owned_by_generator(frame))) {
        call_resumed(thread, frame, code, NULL);
        return;
    }
    Origin parent = thread_top(thread);
    if (unlikely(code->transparent)) {
        push_alias(thread, frame, code, parent.call, parent.depth, parent.skipped);
        return;
    }
    if (unlikely(beyond_bounds(&parent))) {
        skip(thread);
        push(thread, frame, code, SKIPPED, parent.call, parent.depth + 1);
        return;
    }
    size_t first_watch = thread->watch_count;
    uint8_t which = 0;
    uint64_t call = write_call(thread, frame, code, &parent, &which);
    if (unlikely(call == 0)) {
        thread->watch_count = first_watch;
        return;
    }
    recorder.recorded_calls++;
    Activation *activation = push(thread, frame, code, RECORDED, call, parent.depth + 1);
    if (activation != NULL) {
        activation->watches = (uint32_t)first_watch;
        activation->bound = which;
    }
}

void call_started(Thread *thread, Frame *frame, CodeEntry *code)
{
    if (!call_quickly(thread, frame, code)) {
        call_slowly(thread, frame, code);
    }
}

/* ---- what changed ---- */

enum { CHANGE_SIZE = 1 + 2 * NUMBER_SIZE };

/* One entry of the thread's changes: input, length of the encoding (0: lost), encoding. */
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

/* Compares what the frame holds with what was seen last, and gathers the differences.
 * `held` gets the containers that are certainly still the same inputs. */
static bool compare_inputs(Thread *thread, const Activation *activation, Watch *watches,
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
            watch->compared = false; /* said once */
            if (!add_change(thread, watch->input, NULL, 0)) {
                return false;
            }
            continue;
        }
        Snapshot snapshot;
        size_t start = thread->scratch.length;
        if (!snapshot_plain(&snapshot, thread, &thread->scratch, value, bound)) {
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

/* Each entry grows by less than CHANGE_SIZE bytes as a record. */
static void put_changes(const Thread *thread, uint64_t call)
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

static size_t changes_size(const Thread *thread)
{
    /* An entry has at least two bytes. */
    return thread->changes.length * (1 + CHANGE_SIZE / 2);
}

static void watches_of(Thread *thread, Activation *activation, Watch **watches, size_t *count)
{
    if (activation->generator != NULL) {
        *watches = activation->generator->watches;
        *count = activation->generator->watch_count;
    }
    else {
        *watches = thread->watches + activation->watches;
        *count = thread->watch_count - activation->watches;
    }
}

/* ---- ends ---- */

static inline void put_end(Thread *thread, Activation *activation, uint8_t record, uint64_t place,
                    bool bare)
{
    uint64_t skipped = activation->skipped;
    if (unlikely(thread->changes.length > 0)) {
        put_changes(thread, activation->call);
    }
    if (unlikely(skipped > 0)) {
        put_skipped(activation->call, skipped);
    }
    put_byte(&recorder.page, bare ? record + 1 : record);
    put_number(&recorder.page, recorder.next_call - activation->call);
    if (record == R_RAISE) {
        put_number(&recorder.page, place);
    }
}

enum { MOST_HELD = 64 };

static bool encode_outcome(Thread *thread, PyObject *value, const Bound *bound, const Held *held,
                           size_t held_count)
{
    Snapshot snapshot;
    snapshot.held = held;
    snapshot.held_count = held_count;
    snapshot.foreign_opaque = snapshot.in_place = false;
    if (unlikely(thread->unmade != NULL)) {
        return snapshot_unmade(&snapshot, thread, &thread->scratch, thread->unmade, value, bound);
    }
    return snapshot_root(&snapshot, thread, &thread->scratch, value, bound);
}

/* Writes the end of a step with the outcome encoded where it stands. False, with the page as it
 * was, if that cannot be. */
static bool end_in_place(Thread *thread, Activation *activation, uint8_t record, uint64_t place,
                         PyObject *value, const Held *held, size_t held_count)
{
    Buffer *page = &recorder.page;
    if (unlikely(thread->unmade != NULL) ||
        !record_begin(thread->number,
                      changes_size(thread) + SKIPPED_SIZE + CALL_SIZE + ATOM_SIZE)) {
        return false;
    }
    size_t before = page->length;
    uint64_t next_value = recorder.next_value;
    put_end(thread, activation, record, place, false);
    const Bound *bound = &recorder.bounds[activation->bound];
    size_t start = page->length;
    const uint8_t *end = value != NULL ? atom_at(buffer_end(page), value, bound) : NULL;
    if (likely(end != NULL)) {
        buffer_ends(page, end);
    }
    else {
        Snapshot snapshot;
        snapshot.held = held;
        snapshot.held_count = held_count;
        snapshot.foreign_opaque = false;
        snapshot.in_place = true;
        if (!snapshot_root(&snapshot, thread, page, value, bound) || snapshot.refused ||
            recorder.tables.length > 0) {
            page->length = before;
            roots_undone(next_value);
            return false;
        }
    }
    root_written(page, start, NULL);
    activation->skipped = 0;
    record_end();
    return true;
}

/* Writes how a step ended: what changed, what was skipped, and the outcome. */
static void write_end_of_step(Thread *thread, Activation *activation, uint8_t record,
                              PyObject *value, bool bare)
{
    uint64_t place = record == R_RAISE ? frame_place(activation->frame) : 0;
    size_t index = (size_t)(activation - thread->stack);
    thread->changes.length = thread->scratch.length = 0;
    if (recorder.detail == DETAIL_IDS || recorder.full) {
        bare = true;
        if (recorder.full && record == R_YIELD) {
            return;
        }
    }
    else {
        if (activation->code->global_count > 0) {
            globals_check(thread, activation->frame, activation->code);
        }
        Watch *watches;
        size_t count, held_count = 0;
        Held few[MOST_HELD];
        watches_of(thread, activation, &watches, &count);
        /* If changes are not wanted, inputs are asked only whether the outcome is one of them. */
        bool asked = recorder.detail == DETAIL_FULL || (!bare && is_container(value));
        if (asked && !compare_inputs(thread, activation, watches, count,
                            count <= MOST_HELD ? few : NULL, &held_count)) {
            return;
        }
        if (!bare) {
            if (likely(end_in_place(thread, &thread->stack[index], record, place, value, few,
                                    held_count))) {
                return;
            }
            if (!encode_outcome(thread, value, &recorder.bounds[thread->stack[index].bound], few,
                                held_count)) {
                recorder_fail(ENOMEM);
                return;
            }
        }
    }
    if (record_begin(thread->number, changes_size(thread) + SKIPPED_SIZE + CALL_SIZE +
                                         thread->scratch.length)) {
        put_end(thread, &thread->stack[index], record, place, bare);
        if (!bare) {
            put_root(&recorder.page, thread->scratch.bytes, thread->scratch.length, NULL);
        }
        thread->stack[index].skipped = 0;
        record_end();
    }
}

/* The object that is in the box in which an asynchronous generator yields; NULL: it awaits. */
static PyObject *unwrapped(PyObject *value)
{
    if (strcmp(Py_TYPE(value)->tp_name, "async_generator_wrapped_value") != 0) {
        return NULL;
    }
    return ((PyObject **)(value + 1))[0];
}

void call_yielded(Thread *thread, Frame *frame, PyObject *value)
{
    Activation *activation = activation_of(thread, frame);
    if (activation == NULL) {
        return;
    }
    if (activation->kind == RECORDED) {
        bool bare = activation->code->is_coroutine;
        if (activation->code->is_async_generator) {
            value = unwrapped(value);
            bare = value == NULL;
        }
        int8_t state = generator_keep(frame);
        write_end_of_step(thread, activation, R_YIELD, value, bare);
        generator_release(frame, state);
    }
    pop(thread);
}

static __attribute__((noinline)) void call_ended(Thread *thread, Frame *frame, uint8_t record,
                                                 PyObject *value)
{
    Activation *activation = activation_of(thread, frame);
    if (activation == NULL) {
        return;
    }
    bool is_generator_frame = activation->generator != NULL;
    if (activation->kind == RECORDED) {
        bool bare = value == NULL && thread->unmade == NULL;
        write_end_of_step(thread, activation, record, value, bare);
    }
    pop(thread);
    if (unlikely(is_generator_frame)) {
        generator_forget(frame);
    }
}

/* The way of most returns, like that of most calls: the result is an atom (or none is wanted), and
 * there is nothing to compare. */
static inline bool return_quickly(Thread *thread, Frame *frame, PyObject *value)
{
    if (thread->count == 0 || !page_is_ready(thread)) {
        return false;
    }
    const Activation *top = &thread->stack[thread->count - 1];
    if (top->frame != frame || !top->code->quick || top->kind != RECORDED || top->skipped > 0 ||
        unlikely(recorder.full || value == NULL) ||
        (thread->watch_count != top->watches && recorder.detail == DETAIL_FULL) ||
        !globals_settled(frame, top->code)) {
        return false;
    }
    Buffer *page = &recorder.page;
    uint8_t *at = buffer_end(page);
    *at++ = recorder.detail == DETAIL_IDS ? R_BARE_RETURN : R_RETURN;
    at = number_at(at, recorder.next_call - top->call);
    if (recorder.detail == DETAIL_IDS) {
        buffer_ends(page, at);
    }
    else {
        const uint8_t *end = atom_at(at, value, &recorder.bounds[top->bound]);
        if (end == NULL) {
            return false;
        }
        buffer_ends(page, end);
        root_written(page, (size_t)(at - page->bytes), NULL);
    }
    pop(thread);
    record_end();
    return true;
}

void call_returned(Thread *thread, Frame *frame, PyObject *value)
{
    if (!return_quickly(thread, frame, value)) {
        call_ended(thread, frame, R_RETURN, value);
    }
}

void call_raised(Thread *thread, Frame *frame, PyObject *exception)
{
    call_ended(thread, frame, R_RAISE, exception);
}

/* ---- generators go on ---- */

/* Gathers what others changed while it was suspended. (On 3.11 its CALL was written a moment ago, if
 * it starts now.) */
static bool find_changed_meanwhile(Thread *thread, Frame *frame, const Generator *generator)
{
    Activation step = {.frame = frame, .code = generator->code, .bound = generator->bound};
    size_t held_count;
    thread->scratch.length = thread->changes.length = 0;
    if (recorder.detail != DETAIL_FULL ||
        (!generator->started && PY_VERSION_HEX < 0x030C0000)) {
        return true;
    }
    return compare_inputs(thread, &step, generator->watches, generator->watch_count, NULL,
                          &held_count);
}

/* How a generator goes on, with what it goes on encoded in the scratch. */
static enum record encode_resume(Thread *thread, const Frame *frame, const Bound *bound,
                                 PyObject *thrown)
{
    if (recorder.detail == DETAIL_IDS) {
        return R_RESUME;
    }
    if (unlikely(is_thrown_into(frame))) {
        put_byte(&thread->scratch, V_LEFT_OUT);
        return R_THROW;
    }
    PyObject *value = thrown != NULL ? thrown : sent_value(frame);
    if (value == NULL || value == Py_None) {
        return R_RESUME;
    }
    if (!encode_outcome(thread, value, bound, NULL, 0)) {
        recorder_fail(ENOMEM);
    }
    return thrown != NULL ? R_THROW : R_SEND;
}

/* Writes what others changed, and that it goes on. */
static void write_resume(Thread *thread, Frame *frame, const Generator *generator, const Origin *by,
                         PyObject *thrown)
{
    uint64_t call = generator->call;
    const Bound *bound = &recorder.bounds[generator->bound];
    if (!find_changed_meanwhile(thread, frame, generator) || !buffer_room(&thread->scratch, 1)) {
        return;
    }
    enum record record = encode_resume(thread, frame, bound, thrown);
    if (recorder.problem != 0 ||
        !record_begin(thread->number, changes_size(thread) + CALL_SIZE + thread->scratch.length)) {
        return;
    }
    put_changes(thread, call);
    put_byte(&recorder.page, (uint8_t)record);
    put_number(&recorder.page, recorder.next_call - call);
    put_number(&recorder.page, recorder.next_call - by->call);
    if (record != R_RESUME) {
        put_root(&recorder.page, thread->scratch.bytes, thread->scratch.length, NULL);
    }
    record_end();
}

/* A generator's frame starts, goes on, or has an exception thrown into it. */
void call_resumed(Thread *thread, Frame *frame, CodeEntry *code, PyObject *thrown)
{
    make_current(thread, frame);
    Generator *generator = generator_of(frame);
    if (generator == NULL) {
        /* Its creation was not seen: it belongs to whoever created it, if memory tells, or else to
         * whoever runs it first. */
        Origin creator;
        PyObject *object = (PyObject *)frame_generator(frame);
        bool known = generator_creator(object, &creator);
        generator_created(thread, object, code, known ? &creator : NULL);
        generator = generator_of(frame);
        if (generator == NULL) {
            return;
        }
    }
    Origin by = thread_top(thread);
    if (generator->kind == RECORDED && !recorder.full) {
        if (recorder.detail == DETAIL_FULL && code->global_count > 0) {
            thread->scratch.length = 0;
            globals_check(thread, frame, code);
        }
        write_resume(thread, frame, generator, &by, thrown);
    }
    push_generator(thread, frame, generator);
}

/* ---- the rest ---- */

void write_note(const char *text, size_t count)
{
    if (record_begin(recorder.current_thread, 1 + NUMBER_SIZE + count)) {
        put_byte(&recorder.page, R_NOTE);
        put_number(&recorder.page, count);
        put_bytes(&recorder.page, text, count);
        record_end();
    }
}

void write_end(int how, PyObject *value)
{
    Thread *thread = this_thread();
    if (thread == NULL) {
        return;
    }
    thread->scratch.length = 0;
    Snapshot snapshot;
    if (snapshot_plain(&snapshot, thread, &thread->scratch, value,
                       &recorder.bounds[BOUND_FIRST]) &&
        record_begin(recorder.current_thread, 2 + NUMBER_SIZE + thread->scratch.length)) {
        put_byte(&recorder.page, R_END);
        put_byte(&recorder.page, (uint8_t)how);
        put_root(&recorder.page, thread->scratch.bytes, thread->scratch.length, NULL);
        record_end();
    }
}

#else
typedef int not_empty;
#endif
