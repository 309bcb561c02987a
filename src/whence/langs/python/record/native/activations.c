/* The frames of a thread that run, as a stack of activations, and which calls are only counted.
 *
 * Invariant: what is on the stack under a frame that begins are frames that it stands on. */
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

/* Transparent code: what it calls is called by the call in which it stands, from the place where
 * that stands, if it is among those that run. */
Activation *push_alias(Thread *thread, Frame *frame, CodeEntry *code, uint64_t call,
                              uint32_t depth, bool skipped)
{
    Activation *alias = push(thread, frame, code, skipped ? SKIPPED : ALIAS, call, depth);
    if (alias != NULL && thread->count > 1 && alias[-1].call == call) {
        alias->site = skipped ? -1 : alias[-1].site; /* as it is in the frame that it stands on */
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

/* The activation of a frame, with those dropped that left above it unseen. */
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

/* Before a frame begins: what is left on the stack are the frames that it stands on. */
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

/* Counts calls that are not recorded on one that is, by its place on the stack; -1: there is none. */
void skip_many(Thread *thread, int32_t owner, uint64_t count)
{
    recorder.skipped_calls += count;
    recorder.skips_to_write += count;
    if (recorder.collect_at != NEVER || recorder.stop_calls != NEVER) {
        quick_refresh();
    }
    if (owner >= 0) {
        thread->stack[owner].skipped += count;
    }
    else {
        recorder.skipped_by_run += count;
    }
}

static void skip_below(Thread *thread, int32_t owner) { skip_many(thread, owner, 1); }

/* On the nearest one. */
void skip(Thread *thread)
{
    skip_below(thread, thread->count > 0 ? thread->stack[thread->count - 1].owner : -1);
}

/* On that which created a generator, which may begin to run elsewhere. */
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

/* Before a call is recorded: so its place in the file tells how many calls there were before it. */
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

/* When recording ends: of calls that did not end, too, it must not look as if they called nobody. */
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
