/* The stack of a thread's running frames, and the calls that are only counted: activations.c. */
#ifndef WHENCE_ACTIVATIONS_H
#define WHENCE_ACTIVATIONS_H

#include "recorder.h"

#pragma GCC visibility push(hidden)

bool stack_grow(Thread *thread);
Activation *push_alias(Thread *thread, Frame *frame, CodeEntry *code, uint64_t call, uint32_t depth,
                       bool skipped);
Activation *activation_of(Thread *thread, const Frame *frame);
void make_current(Thread *thread, const Frame *frame);
void skip_many(Thread *thread, int32_t owner, uint64_t count);
void skip(Thread *thread);
void skip_of(Thread *thread, uint64_t call);
void write_all_skipped(Thread *thread);
void write_run_skipped(void);
void write_last_skipped(void);

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

static inline bool beyond_bounds(Origin *parent)
{
    return check_window(parent) || parent->skipped || recorder.full || recorder.next_call > recorder.max_calls ||
           parent->depth >= recorder.max_depth;
}

enum { SKIPPED_SIZE = 1 + 2 * NUMBER_SIZE };

static inline void put_skipped(uint64_t call, uint64_t count)
{
    put_byte(&recorder.page, R_SKIPPED);
    put_number(&recorder.page, recorder.next_call - call);
    put_number(&recorder.page, count);
}

#pragma GCC visibility pop

#endif
