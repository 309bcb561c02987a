/* The fast path of calls and returns, inlined into the hooks: most calls take atoms and return one.
 * It writes what calls.c and steps.c would, with fewer questions. */
#ifndef WHENCE_FAST_PATH_H
#define WHENCE_FAST_PATH_H

#include "activations.h"

#pragma GCC visibility push(hidden)

enum { CALL_SIZE = 1 + 3 * NUMBER_SIZE };

void call_slowly(Thread *thread, Frame *frame, CodeEntry *code);
void call_ended(Thread *thread, Frame *frame, uint8_t record, PyObject *value);
Activation *push_generator(Thread *thread, Frame *frame, Generator *generator);

/* Whether a short record can be written into the page as it is. */
static inline bool page_is_ready(const Thread *thread)
{
    return likely(recorder.page.length < recorder.page_limit && recorder.tables.length == 0 &&
                  thread->number == recorder.current_thread);
}

/* The way of most calls, which does the same as the long one with less to ask: all inputs are short
 * atoms (or none is wanted), and there is nothing else to look at. False, with nothing done, for
 * all others. */
static inline bool call_quickly(Thread *thread, Frame *frame, CodeEntry *code)
{
    size_t count = thread->count;
    /* No room, or (then it wraps around) nothing to stand on. */
    bool no_place = count - 1 >= thread->capacity - 1;
    if (code->missed >= MISSES || no_place || !page_is_ready(thread)) {
        return false;
    }
    const Activation *top = &thread->stack[count - 1];
    if (unlikely(top->frame != frame_caller(frame) || top->kind != RECORDED ||
                 recorder.next_call > recorder.quick_calls) ||
        !globals_settled(frame, code)) {
        return false;
    }
    uint8_t *at = recorder.page.bytes + recorder.page.length;
    uint32_t inputs = code->quick_inputs;
    const Bound *bound = &recorder.bounds[BOUND_USUAL];
    uint64_t numbered = 0;
    *at++ = recorder.quick_record;
    at = number_at(at, recorder.next_call - top->call);
    at = number_at(at, code->number);
    at = number_at(at, frame_place(top->frame));
    for (uint32_t i = 0; i < inputs; i++) {
        PyObject *value = frame_slot(frame, code->inputs[i].slot);
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
    record_end();
    return true;
}

static inline void call_started(Thread *thread, Frame *frame, CodeEntry *code)
{
    if (!call_quickly(thread, frame, code)) {
        call_slowly(thread, frame, code);
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

static inline void call_returned(Thread *thread, Frame *frame, PyObject *value)
{
    observed_call_ends(thread, frame, value);
    if (!return_quickly(thread, frame, value)) {
        call_ended(thread, frame, R_RETURN, value);
    }
}

#pragma GCC visibility pop

#endif
