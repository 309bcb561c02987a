/* The inputs of a call, encoded at its start and compared at its steps: inputs.c. */
#ifndef WHENCE_INPUTS_H
#define WHENCE_INPUTS_H

#include "recorder.h"

#pragma GCC visibility push(hidden)

bool encode_input(Thread *thread, Buffer *out, const Frame *frame, const Input *input,
                  uint32_t index, size_t first_watch, const Bound *bound, InputEncoding *encoding);
bool encode_inputs(Thread *thread, const Frame *frame, const CodeEntry *code, const Bound *bound);
bool compare_inputs(Thread *thread, const Activation *activation, Watch *watches, size_t count,
                    Held *held, size_t *held_count);
void put_changes(const Thread *thread, uint64_t call);

enum { CHANGE_SIZE = 1 + 2 * NUMBER_SIZE };

static inline size_t changes_size(const Thread *thread)
{
    /* An entry has at least two bytes. */
    return thread->changes.length * (1 + CHANGE_SIZE / 2);
}

static inline void watches_of(Thread *thread, Activation *activation, Watch **watches, size_t *count)
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

#pragma GCC visibility pop

#endif
