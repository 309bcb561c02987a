/* The fast path of calls and returns, inlined into the hooks: most calls take and return atoms.
 * Invariant: it writes exactly what calls.c and steps.c would write. */
#ifndef WHENCE_FAST_PATH_H
#define WHENCE_FAST_PATH_H

#include "activations.h"

#pragma GCC visibility push(hidden)

enum { CALL_SIZE = 1 + 3 * NUMBER_SIZE };

void begin_call_slow(Thread *thread, Frame *frame, CodeEntry *code);
void call_ended(Thread *thread, Frame *frame, uint8_t record, PyObject *value);
Activation *push_generator(Thread *thread, Frame *frame, Generator *generator);

/* Whether a short record can be written into the page as it is. */
static inline bool page_is_ready(const Thread *thread)
{
    return likely(recorder.page.length < recorder.page_limit && recorder.tables.length == 0 &&
                  thread->number == recorder.current_thread);
}

/* Records a call whose inputs are short atoms (or are not recorded) and that needs no other check.
 * Returns false for all other calls, and has done nothing then. */
static inline bool begin_call_fast(Thread *thread, Frame *frame, CodeEntry *code)
{
    size_t count = thread->count;
    /* The stack is full, or empty (then count - 1 wraps around). */
    bool no_room = count - 1 >= thread->capacity - 1;
    if (code->fast_misses >= MAX_FAST_MISSES || no_room || !page_is_ready(thread)) {
        return false;
    }
    const Activation *top = &thread->stack[count - 1];
    if (unlikely(top->frame != frame_caller(frame) || top->kind != RECORDED ||
                 recorder.next_call > recorder.fast_calls) ||
        !globals_settled(frame, code)) {
        return false;
    }
    uint8_t *at = recorder.page.bytes + recorder.page.length;
    uint32_t inputs = code->fast_input_count;
    const Bound *bound = &recorder.bounds[BOUND_USUAL];
    uint64_t numbered = 0;
    *at++ = recorder.fast_record;
    at = number_at(at, recorder.next_call - top->call);
    at = number_at(at, code->number);
    at = number_at(at, frame_place(top->frame));
    for (uint32_t i = 0; i < inputs; i++) {
        PyObject *value = frame_slot(frame, code->inputs[i].slot);
        uint8_t *end = value != NULL ? atom_at(at, value, bound) : NULL;
        if (unlikely(end == NULL || end - at >= DEDUPED)) {
            code->fast_misses++;
            return false;
        }
        numbered += end - at >= NUMBERED;
        at = end;
    }
    code->fast_misses = 0;
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
    record_end();
    return true;
}

static inline void call_started(Thread *thread, Frame *frame, CodeEntry *code)
{
    if (!begin_call_fast(thread, frame, code)) {
        begin_call_slow(thread, frame, code);
    }
}

/* Records a return whose result is an atom (or is not recorded), with no input to compare. Returns
 * false for all other returns, and has done nothing then. */
static inline bool return_fast(Thread *thread, Frame *frame, PyObject *value)
{
    if (thread->count == 0 || !page_is_ready(thread)) {
        return false;
    }
    const Activation *top = &thread->stack[thread->count - 1];
    if (top->frame != frame || !top->code->fast || top->kind != RECORDED || top->skipped > 0 ||
        unlikely(recorder.full || value == NULL || top->call == recorder.window_call) ||
        (thread->watch_count != top->watches && recorder.detail == DETAIL_FULL) ||
        !globals_settled(frame, top->code)) {
        return false;
    }
    Buffer *page = &recorder.page;
    uint8_t *at = buffer_end(page);
    *at++ = recorder.detail == DETAIL_IDS ? R_BARE_RETURN : R_RETURN;
    at = number_at(at, recorder.next_call - top->call);
    if (recorder.detail == DETAIL_IDS) {
        set_buffer_end(page, at);
    }
    else {
        const uint8_t *end = atom_at(at, value, &recorder.bounds[top->bound]);
        if (end == NULL) {
            return false;
        }
        set_buffer_end(page, end);
        finish_root(page, (size_t)(at - page->bytes), NULL);
    }
    pop(thread);
    record_end();
    return true;
}

static inline void call_returned(Thread *thread, Frame *frame, PyObject *value)
{
    check_observed_end(thread, frame, value);
    if (!return_fast(thread, frame, value)) {
        call_ended(thread, frame, R_RETURN, value);
    }
}

#pragma GCC visibility pop

#endif
