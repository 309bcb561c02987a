/* The ends of steps, and the resumption of generators.
 *
 * A step lasts from a call's beginning or resumption to its next yield or its end. Records are
 * written as in calls.c: directly into the page, or through the scratch buffer. */
#include "fast_path.h"
#include "inputs.h"

#include <errno.h>

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
    uint8_t *at = buffer_end(&recorder.page);
    *at++ = bare ? record + 1 : record;
    at = number_at(at, recorder.next_call - activation->call);
    if (record == R_RAISE) {
        at = number_at(at, place);
    }
    set_buffer_end(&recorder.page, at);
}

/* Clears the count of skipped calls, once it is in the page. */
static void clear_skipped(Activation *activation)
{
    uint64_t left = recorder.skips_to_write, written = activation->skipped;
    recorder.skips_to_write = left > written ? left - written : 0;
    activation->skipped = 0;
}

enum { MAX_HELD = 64 };

static bool encode_outcome(Thread *thread, PyObject *value, uint8_t least, const Bound *bound,
                           const Held *held, size_t held_count)
{
    Snapshot snapshot;
    snapshot.least = least;
    snapshot.held = held;
    snapshot.held_count = held_count;
    snapshot.foreign_opaque = snapshot.in_place = false;
    if (unlikely(thread->pending_class != NULL)) {
        return snapshot_pending(&snapshot, thread, &thread->scratch, thread->pending_class, value, bound);
    }
    return snapshot_root(&snapshot, thread, &thread->scratch, value, bound);
}

/* How long a text must be to be a secret as the outcome of a call. */
static inline uint8_t least_of_outcome(const Activation *activation, uint8_t record)
{
    return record == R_RAISE ? 0 : activation->code->least;
}

/* Chooses the bound of an outcome. A generator's inputs are compared at each step and have the usual
 * bound; the outcomes of its first steps are encoded once and have the bound of first calls. */
static const Bound *bound_of_outcome(const Activation *activation, uint8_t record)
{
    CodeEntry *code = activation->code;
    if (code->is_generator && activation->bound == BOUND_USUAL && record != R_RAISE) {
        uint64_t *count = record == R_YIELD ? &code->yields : &code->returns;
        if (*count < recorder.first_calls) {
            ++*count;
            return &recorder.bounds[BOUND_FIRST];
        }
        if (recorder.early_outcomes > 0) {
            recorder.early_outcomes--;
            return &recorder.bounds[BOUND_FIRST];
        }
    }
    return &recorder.bounds[activation->bound];
}

/* Writes the end of a step, encoding the outcome directly into the page. Returns false, with the page
 * unchanged, if encoding would have to run code or write a table record. */
static bool write_end_in_place(Thread *thread, Activation *activation, uint8_t record, uint64_t place,
                         PyObject *value, const Bound *bound, const Held *held, size_t held_count)
{
    Buffer *page = &recorder.page;
    if (unlikely(thread->pending_class != NULL) ||
        !record_begin(thread->number,
                      changes_size(thread) + SKIPPED_SIZE + CALL_SIZE + ATOM_SIZE)) {
        return false;
    }
    size_t before = page->length;
    uint64_t next_value = recorder.next_value;
    put_end(thread, activation, record, place, false);
    size_t start = page->length;
    uint8_t least = least_of_outcome(activation, record);
    const uint8_t *end =
        value != NULL && least == 0 ? atom_at(buffer_end(page), value, bound) : NULL;
    if (likely(end != NULL)) {
        set_buffer_end(page, end);
    }
    else {
        Snapshot snapshot;
        snapshot.held = held;
        snapshot.held_count = held_count;
        snapshot.least = least;
        snapshot.foreign_opaque = false;
        snapshot.in_place = true;
        if (!snapshot_root(&snapshot, thread, page, value, bound) || snapshot.refused ||
            recorder.tables.length > 0) {
            page->length = before;
            undo_roots(next_value);
            return false;
        }
    }
    finish_root(page, start, NULL);
    clear_skipped(activation);
    record_end();
    return true;
}

/* Writes the end of a step: changes of inputs, the number of skipped calls, and the outcome. */
static void write_step_end(Thread *thread, Activation *activation, uint8_t record,
                              PyObject *value, bool bare)
{
    uint64_t place = record == R_RAISE ? thread->raised_at : 0;
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
        Held few[MAX_HELD];
        watches_of(thread, activation, &watches, &count);
        /* Without changes, inputs matter only if the outcome may be one of them. */
        bool compares = recorder.detail == DETAIL_FULL || (!bare && is_container(value));
        if (compares && !compare_inputs(thread, activation, watches, count,
                                        count <= MAX_HELD ? few : NULL, &held_count)) {
            return;
        }
        if (!bare) {
            activation = &thread->stack[index];
            const Bound *bound = bound_of_outcome(activation, record);
            if (likely(write_end_in_place(thread, activation, record, place, value, bound, few,
                                    held_count))) {
                return;
            }
            if (!encode_outcome(thread, value, least_of_outcome(activation, record), bound, few,
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
        clear_skipped(&thread->stack[index]);
        record_end();
    }
}

/* Returns the object in the box that an asynchronous generator yields, or NULL if it awaits. */
static PyObject *unwrap_yielded(PyObject *value)
{
    return Py_TYPE(value) == yielded_box_type ? ((PyObject **)(value + 1))[0] : NULL;
}

/* The last step, if another can follow it with no code in between: the generator that yielded, or the
 * one that is resumed next, and how much had been written then. */
static struct {
    const void *yielded, *resumes_next;
    uint64_t bytes;
    size_t length;
} last_step;

static inline bool no_record_since(void)
{
    return last_step.bytes == recorder.bytes_written && last_step.length == recorder.page.length;
}

static void remember_step(const void *yielded, const void *resumes_next)
{
    last_step.yielded = yielded;
    last_step.resumes_next = resumes_next;
    last_step.bytes = recorder.bytes_written;
    last_step.length = recorder.page.length;
}

/* Whether the generator only passes on what the one that it waits for has just yielded. */
static bool yields_passed_value(Frame *frame)
{
    return last_step.yielded != NULL && no_record_since() &&
           waits_for_when_yielding(frame) == last_step.yielded;
}

/* Whether the generator is resumed only because the one that waits for it was. */
static bool resumes_passed_value(Frame *frame)
{
    return last_step.resumes_next != NULL && no_record_since() &&
           frame_generator(frame) == last_step.resumes_next;
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
            value = unwrap_yielded(value);
            bare = value == NULL;
        }
        moment += !yields_passed_value(frame);
        int8_t state = generator_mark_running(frame);
        write_step_end(thread, activation, R_YIELD, value, bare);
        generator_restore_state(frame, state);
        remember_step(owned_by_generator(frame) ? frame_generator(frame) : NULL, NULL);
    }
    pop(thread);
}

void call_ended(Thread *thread, Frame *frame, uint8_t record, PyObject *value)
{
    Activation *activation = activation_of(thread, frame);
    if (activation == NULL) {
        return;
    }
    bool is_generator_frame = activation->generator != NULL;
    if (activation->kind == RECORDED) {
        bool bare = value == NULL && thread->pending_class == NULL;
        moment++;
        write_step_end(thread, activation, record, value, bare);
    }
    uint64_t ended = activation->kind == RECORDED ? activation->call : 0;
    pop(thread);
    if (unlikely(is_generator_frame)) {
        generator_forget(frame);
    }
    check_window_end(ended);
}

void call_raised(Thread *thread, Frame *frame, PyObject *exception, PyObject *traceback)
{
    thread->raised_at = raised_place(frame, traceback);
    check_observed_end(thread, frame, NULL);
    call_ended(thread, frame, R_RAISE, exception);
}

/* ---- generators resume ---- */

/* Collects the changes that other code made to a generator's inputs while it was suspended. */
static bool find_changes_while_suspended(Thread *thread, Frame *frame, const Generator *generator)
{
    Activation step = {.frame = frame, .code = generator->code, .bound = generator->bound};
    size_t held_count;
    thread->scratch.length = thread->changes.length = 0;
    if (recorder.detail != DETAIL_FULL) {
        return true;
    }
    return compare_inputs(thread, &step, generator->watches, generator->watch_count, NULL,
                          &held_count);
}

/* Encodes the value sent or thrown into a generator, and returns the kind of its record. */
static enum record encode_resume(Thread *thread, const Frame *frame, const Bound *bound,
                                 PyObject *thrown)
{
    if (recorder.detail == DETAIL_IDS) {
        return R_RESUME;
    }
    if (unlikely(thread->thrown_into)) {
        put_byte(&thread->scratch, V_LEFT_OUT);
        return R_THROW;
    }
    bool is_thrown = thrown != NULL || thread->pending_class != NULL;
    PyObject *value = is_thrown ? thrown : sent_value(frame);
    if (!is_thrown && (value == NULL || value == Py_None)) {
        return R_RESUME;
    }
    if (!encode_outcome(thread, value, 0, bound, NULL, 0)) {
        recorder_fail(ENOMEM);
    }
    return is_thrown ? R_THROW : R_SEND;
}

/* Writes the changes made while a generator was suspended, and its resumption. */
static void write_resume(Thread *thread, Frame *frame, const Generator *generator, const Origin *by,
                         PyObject *thrown)
{
    uint64_t call = generator->call;
    const Bound *bound = &recorder.bounds[generator->bound];
    if (!find_changes_while_suspended(thread, frame, generator) || !buffer_room(&thread->scratch, 1)) {
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

/* Handles a generator's frame that starts, resumes, or has an exception thrown into it. */
void call_resumed(Thread *thread, Frame *frame, CodeEntry *code, PyObject *thrown)
{
    make_current(thread, frame);
    Generator *generator = generator_of(frame);
    if (generator == NULL) {
        /* There was no event of its creation: it belongs to the call that allocated it if that is
         * known, else to the call that runs it first. */
        Origin creator;
        PyObject *object = (PyObject *)frame_generator(frame);
        bool has_creator = generator_creator(object, &creator);
        generator_created(thread, object, code, has_creator ? &creator : NULL);
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
        bool is_thrown = thrown != NULL || thread->pending_class != NULL || thread->thrown_into;
        moment += is_thrown || !resumes_passed_value(frame);
        write_resume(thread, frame, generator, &by, thrown);
        remember_step(NULL, is_thrown ? NULL : waits_for_when_resumed(frame));
    }
    push_generator(thread, frame, generator);
}

/* ---- NOTE and END ---- */

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
