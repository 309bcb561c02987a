/* The frames of a thread that run, as a stack of activations, and which calls are only counted.
 *
 * Invariant: what is on the stack under a frame that begins are frames that it stands on. */
#include "recorder.h"

#ifndef WHENCE_UNSUPPORTED

#include <errno.h>

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

#else
typedef int not_empty;
#endif
