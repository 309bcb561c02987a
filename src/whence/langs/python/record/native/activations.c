/* The running frames of a thread as a stack of activations, and the calls that are only counted.
 *
 * Invariant: when a frame begins, all frames below it on the stack are its callers. */
#include "activations.h"

#include <errno.h>

bool stack_grow(Thread *thread)
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

/* Pushes the frame of transparent code: its callees belong to the call around it, and have that call's
 * site if it is running. */
Activation *push_alias(Thread *thread, Frame *frame, CodeEntry *code, uint64_t call,
                              uint32_t depth, bool skipped)
{
    Activation *alias = push(thread, frame, code, skipped ? SKIPPED : ALIAS, call, depth);
    if (alias != NULL && thread->count > 1 && alias[-1].call == call) {
        alias->site = skipped ? -1 : alias[-1].site; /* the same as its caller's */
        return alias;
    }
    for (size_t i = thread->count - 1; alias != NULL && !skipped && i-- > 0;) {
        if (thread->stack[i].kind == RECORDED && thread->stack[i].call == call) {
            alias->site = (int32_t)i;
            break;
        }
    }
    return alias;
}

/* Finds the activation of a frame, and drops those above it, which ended without an event. */
Activation *activation_of(Thread *thread, const Frame *frame)
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

/* Before a frame begins: drops all activations that are not its callers. */
void make_current(Thread *thread, const Frame *frame)
{
    if (thread->count == 0) {
        return;
    }
    const Frame *top = thread->stack[thread->count - 1].frame;
    if (likely(top == frame_caller(frame) && top != frame)) {
        return;
    }
    thread_sync(thread, frame_caller(frame));
}

/* ---- bounds ---- */

/* Counts unrecorded calls for a recorded one, given by its index on the stack; -1: for the run. */
void skip_many(Thread *thread, int32_t owner, uint64_t count)
{
    recorder.skipped_calls += count;
    recorder.skips_to_write += count;
    if (recorder.collect_at != NEVER || recorder.stop_calls != NEVER) {
        update_fast_calls();
    }
    if (owner >= 0) {
        thread->stack[owner].skipped += count;
    }
    else {
        recorder.skipped_by_run += count;
    }
}

static void skip_below(Thread *thread, int32_t owner) { skip_many(thread, owner, 1); }

/* Counts an unrecorded call for the nearest recorded one. */
void skip(Thread *thread)
{
    skip_below(thread, thread->count > 0 ? thread->stack[thread->count - 1].owner : -1);
}

/* Counts an unrecorded call for the call with this number, such as the creator of a generator. */
void skip_of(Thread *thread, uint64_t call)
{
    const Activation *top = thread->count > 0 ? &thread->stack[thread->count - 1] : NULL;
    if (top != NULL && top->call == call && top->site >= 0) {
        skip_below(thread, top->site);
        return;
    }
    for (size_t i = thread->count; i-- > 0;) {
        if (thread->stack[i].kind == RECORDED && thread->stack[i].call == call) {
            skip_below(thread, (int32_t)i);
            return;
        }
    }
    if (call == 0) {
        skip_below(thread, -1);
    }
    else {
        skip(thread);
    }
}

static void write_skipped(uint64_t call, uint64_t *count)
{
    if (*count > 0 && record_begin(recorder.current_thread, SKIPPED_SIZE)) {
        put_skipped(call, *count);
        *count = 0;
        record_end();
    }
}

void write_run_skipped(void) { write_skipped(0, &recorder.skipped_by_run); }

/* Writes all skip counts before a call is recorded, so that the file gives the ordinal of that call. */
void write_all_skipped(Thread *thread)
{
    recorder.skips_to_write = 0;
    for (size_t i = 0; i < thread->count; i++) {
        if (thread->stack[i].kind == RECORDED) {
            write_skipped(thread->stack[i].call, &thread->stack[i].skipped);
        }
    }
    write_run_skipped();
}

/* Writes the skip counts of calls that are still open when the recording ends. */
void write_last_skipped(void)
{
    Thread *thread = thread_state;
    if (thread != NULL && thread->generation == recording_generation) {
        write_all_skipped(thread);
    }
    else {
        write_run_skipped();
    }
}
