/* The beginnings of calls, the creation and the dropping of generators.
 *
 * A record is written directly into the page if no code has to run for it. Otherwise its values are
 * first encoded into the thread's scratch buffer, which may run summaries and let other threads write
 * records; then the record is written at once. Most calls take the fast path (fast_path.h). */
#include "fast_path.h"
#include "inputs.h"

#include <errno.h>

enum { MAX_REFUSALS = 16 }; /* then a code's inputs are no longer encoded in the page */

static void put_call(uint8_t record, const Origin *parent, const CodeEntry *code)
{
    uint8_t *at = buffer_end(&recorder.page);
    *at++ = record;
    at = number_at(at, recorder.next_call - parent->call);
    at = number_at(at, code->number);
    set_buffer_end(&recorder.page, number_at(at, parent->site));
}

/* Chooses the bound of a call. A generator never has that of first calls: its steps are compared. */
static const Bound *bound_of_next_call(CodeEntry *code, uint8_t *which)
{
    bool early = recorder.next_call <= recorder.early_calls;
    bool first = early || code->calls < recorder.first_calls;
    *which = first && !code->is_generator ? BOUND_FIRST : BOUND_USUAL;
    if (unlikely(recorder.next_call >= recorder.first_whole &&
                 recorder.next_call <= recorder.last_whole)) {
        *which = BOUND_WHOLE;
    }
    code->calls++;
    if (!early && code->calls >= recorder.first_calls && code->fast && !code->fast_open) {
        code->fast_open = true; /* from here on it may take the fast path */
        code->fast_misses = 0;
    }
    return &recorder.bounds[*which];
}

/* Writes the CALL record, encoding the inputs directly into the page. Returns false, with the page
 * unchanged, if encoding would have to run code or a new name needs a record before it. */
static bool write_call_in_place(Thread *thread, const Frame *frame, CodeEntry *code, const Origin *parent,
                          const Bound *bound)
{
    Buffer *page = &recorder.page;
    if (unlikely(code->refusals >= MAX_REFUSALS) || !record_begin(thread->number, CALL_SIZE)) {
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
        if (likely(done && value != NULL && input->kind != INPUT_FREE && input->least == 0)) {
            const uint8_t *end = atom_at(buffer_end(page), value, bound);
            if (end != NULL) {
                set_buffer_end(page, end);
                finish_root(page, start, NULL);
                continue;
            }
        }
        done = done && encode_input(thread, page, frame, input, i, first_watch, bound, &encoding);
        if (unlikely(!done || recorder.tables.length > 0)) {
            page->length = before;
            thread->watch_count = first_watch;
            undo_roots(next_value);
            code->refusals += recorder.tables.length == 0;
            return false;
        }
        finish_root(page, start, encoding.hashed ? &encoding.hash : NULL);
    }
    record_end();
    return true;
}

/* Writes the CALL record of a frame and returns the call's number, or 0 if the recording is over. Adds
 * the watches of its inputs to the thread's. */
static inline uint64_t write_call(Thread *thread, Frame *frame, CodeEntry *code, const Origin *parent,
                           uint8_t *which)
{
    if (unlikely(recorder.skips_to_write > 0)) {
        write_all_skipped(thread);
    }
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
    if (likely(write_call_in_place(thread, frame, code, parent, bound))) {
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

/* Pushes a generator's frame: on top of its resumer, but belonging to its own call. */
Activation *push_generator(Thread *thread, Frame *frame, Generator *generator)
{
    Activation *activation =
        generator->kind == RECORDED
            ? push(thread, frame, generator->code, RECORDED, generator->call, generator->depth)
            : push_alias(thread, frame, generator->code, generator->call, generator->depth,
                         generator->kind == SKIPPED);
    if (activation != NULL) {
        activation->generator = generator;
        activation->bound = generator->bound;
        if (generator->kind == SKIPPED && generator->call == 0) {
            activation->owner = -1; /* its callees have no recorded caller */
        }
        generator->started = true;
    }
    return activation;
}

void generator_created(Thread *thread, PyObject *object, CodeEntry *code, const Origin *creator)
{
    Frame *frame = generator_frame(object);
    Origin parent = creator != NULL ? *creator : thread_top_synced(thread);
    Generator *generator = generator_add(frame, code);
    if (generator == NULL) {
        return;
    }
    if (code->transparent) {
        if (code->counted) {
            skip_of(thread, parent.call);
        }
        generator->kind = parent.skipped ? SKIPPED : ALIAS;
        generator->call = parent.call;
        generator->depth = parent.depth;
        return;
    }
    generator->depth = parent.depth + 1;
    generator->call = parent.call;
    if (beyond_bounds(&parent)) {
        generator->kind = SKIPPED;
        skip_of(thread, parent.call);
        return;
    }
    generator->kind = SKIPPED; /* until its record is written: other threads may run before that */
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
    window_count(call, generator->depth, NULL);
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

void begin_call_slow(Thread *thread, Frame *frame, CodeEntry *code)
{
    bool of_generator = code->is_generator && owned_by_generator(frame);
    bool is_call = !code->transparent || code->counted;
    if (unlikely(calls_before() >= recorder.collect_at) && !of_generator && is_call) {
        collect_garbage();
    }
    if (unlikely(calls_before() >= recorder.checkpoint_at) && !of_generator && is_call) {
        check_checkpoint(thread);
    }
    make_current(thread, frame);
    if (unlikely(of_generator)) {
        call_resumed(thread, frame, code, NULL);
        return;
    }
    Origin parent = thread_top(thread);
    if (unlikely(code->transparent)) {
        if (code->counted) {
            check_limits(thread, &parent);
            if (parent.skipped) {
                skip(thread);
            }
            else {
                skip_of(thread, parent.call);
            }
        }
        push_alias(thread, frame, code, parent.call, parent.depth, parent.skipped);
        return;
    }
    check_limits(thread, &parent);
    if (unlikely(beyond_bounds(&parent))) {
        skip(thread);
        push(thread, frame, code, SKIPPED, parent.call, parent.depth + 1);
        check_freezing(thread, frame);
        return;
    }
    size_t first_watch = thread->watch_count;
    uint8_t which = 0;
    uint64_t call = write_call(thread, frame, code, &parent, &which);
    if (unlikely(call == 0)) {
        thread->watch_count = first_watch;
        return;
    }
    Activation *activation = push(thread, frame, code, RECORDED, call, parent.depth + 1);
    if (activation != NULL) {
        activation->watches = (uint32_t)first_watch;
        activation->bound = which;
    }
    window_count(call, parent.depth + 1, frame);
    check_freezing(thread, frame);
}

/* Computes the last call that may take the fast path, which checks neither collections nor bounds. */
void update_fast_calls(void)
{
    uint64_t left = recorder.collect_at;
    if (recorder.stop_calls < left) {
        left = recorder.stop_calls;
    }
    if (recorder.freeze_at != NEVER && recorder.freeze_at <= left) {
        left = recorder.freeze_at - 1;
    }
    if (left != NEVER) {
        left -= left < recorder.skipped_calls ? left : recorder.skipped_calls;
    }
    recorder.fast_calls = left < recorder.fast_calls_limit ? left : recorder.fast_calls_limit;
}
