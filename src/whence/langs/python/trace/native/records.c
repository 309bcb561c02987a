/* The records of a trace, one after another: calls, steps, tables. */
#include "scan.h"

#include <string.h>

#define MOST_SHOWN 300
#define FRAME 6
#define MAX_LINE INT32_MAX
#define STEPPED (4 | 8 | 16)
#define MAX_SKIPPED (UINT64_C(1) << 53)
#define STOPPED 3
#define STANDARD_OUTPUT 1

/* --- what counts for a call's equation -------------------------------------------------------- */

static void take(Scan *scan, size_t number, uint8_t tag)
{
    Call *call = call_of(scan, number);
    int64_t shown = 2 * (int64_t)scan->last.size;
    call->digest = mix(mix(call->digest, tag), scan->last.digest);
    call->effort += shown < MOST_SHOWN ? shown : MOST_SHOWN;
    call->unique |= !scan->last.complete;
}

static void take_globals(Scan *scan, size_t number)
{
    Call *call = call_of(scan, number);
    const Code *code = code_of(scan, (size_t)call->code);
    const uint32_t *named = (const uint32_t *)scan->code_variables.items + code->first_variable;
    for (size_t which = 0; which < code->variables; which++) {
        const Variable *variable = (const Variable *)scan->variables.items + named[which];
        call->digest = mix(call->digest, variable->digest);
        call->unique |= !variable->complete;
    }
}

/* --- calls and steps --------------------------------------------------------------------------- */

static bool new_call(Scan *scan, int64_t at)
{
    uint64_t distance, code_number, site;
    size_t number = scan->calls.count;
    if (number >= MAX_CALLS) {
        return malformed(scan, "there are too many calls");
    }
    if (!read_v(scan, &distance)) {
        return false;
    }
    if (distance < 1 || distance > number) {
        return malformed(scan, "a call has a parent that does not exist");
    }
    if (!read_v(scan, &code_number)) {
        return false;
    }
    if (code_number >= scan->codes.count) {
        return malformed(scan, "a call is of a code that does not exist");
    }
    if (!read_v(scan, &site)) {
        return false;
    }
    Call *call = column_next(&scan->calls);
    if (call == NULL) {
        return false;
    }
    const Code *code = code_of(scan, (size_t)code_number);
    *call = (Call){
        .call_at = scan->base | at,
        .exit_at = -1,
        .effort = code->effort,
        .digest = mix(0, code_number),
        .parent = (int32_t)(number - distance),
        .code = (int32_t)code_number,
        .state = code->stepped ? CREATED : RUNNING,
    };
    return true;
}

static bool scan_call(Scan *scan, int64_t at)
{
    if (!new_call(scan, at)) {
        return false;
    }
    size_t number = scan->calls.count - 1;
    uint64_t inputs = code_of(scan, (size_t)call_of(scan, number)->code)->inputs;
    for (; inputs; inputs--) {
        if (!skip_root(scan)) {
            return false;
        }
        take(scan, number, CALL);
    }
    take_globals(scan, number);
    return true;
}

static bool scan_bare_call(Scan *scan, int64_t at)
{
    if (!new_call(scan, at)) {
        return false;
    }
    call_of(scan, scan->calls.count - 1)->unique = 1;
    return true;
}

static bool read_call(Scan *scan, size_t *number)
{
    uint64_t distance;
    if (!read_v(scan, &distance)) {
        return false;
    }
    if (distance < 1 || distance > scan->calls.count) {
        return malformed(scan, "a record is of a call that does not exist");
    }
    *number = scan->calls.count - (size_t)distance;
    return true;
}

static bool read_open_call(Scan *scan, size_t *number)
{
    if (!read_call(scan, number)) {
        return false;
    }
    return (*number && call_of(scan, *number)->state < RETURNED) ||
           malformed(scan, "a call goes on after its end");
}

static bool add_event(Scan *scan, int64_t at, size_t number)
{
    return push_i32(&scan->event_call, (int32_t)number) &&
           push_i64(&scan->event_at, scan->base | at);
}

/* RETURN, RAISE, CLOSED and their bare kinds. */
static bool scan_exit(Scan *scan, int64_t at, uint8_t record)
{
    size_t number = 0;
    uint64_t place;
    if (!read_open_call(scan, &number)) {
        return false;
    }
    Call *call = call_of(scan, number);
    bool raised = record == RAISE || record == BARE_RAISE;
    call->state = record == CLOSED_RECORD ? CLOSED : raised ? RAISED : RETURNED;
    call->exit_at = scan->base | at;
    take_globals(scan, number);
    if (raised && !read_v(scan, &place)) {
        return false;
    }
    if (record == RETURN || record == RAISE) {
        if (!skip_root(scan)) {
            return false;
        }
        take(scan, number, record);
    } else if (record != CLOSED_RECORD) {
        call->unique = 1;
    }
    return true;
}

static bool scan_yield(Scan *scan, int64_t at, bool bare)
{
    size_t number = 0;
    if (!read_open_call(scan, &number) || !add_event(scan, at, number)) {
        return false;
    }
    call_of(scan, number)->state = SUSPENDED;
    take_globals(scan, number);
    if (bare) {
        call_of(scan, number)->unique = 1;
        return true;
    }
    if (!skip_root(scan)) {
        return false;
    }
    take(scan, number, YIELD);
    return true;
}

static bool scan_resume(Scan *scan, int64_t at, uint8_t record)
{
    size_t number, by;
    if (!read_open_call(scan, &number) || !add_event(scan, at, number)) {
        return false;
    }
    Call *call = call_of(scan, number);
    call->state = RUNNING;
    call->digest = mix(call->digest, RESUME);
    take_globals(scan, number);
    if (!read_call(scan, &by)) {
        return false;
    }
    if (record != RESUME) {
        if (!skip_root(scan)) {
            return false;
        }
        take(scan, number, record);
    }
    return true;
}

static bool scan_change(Scan *scan, int64_t at, bool lost)
{
    size_t number = 0;
    uint64_t which;
    if (!read_open_call(scan, &number) || !read_v(scan, &which)) {
        return false;
    }
    Call *call = call_of(scan, number);
    if (which >= code_of(scan, (size_t)call->code)->inputs) {
        return malformed(scan, "a call changes an input that it has not");
    }
    call->digest = mix(call->digest, which);
    if (!add_event(scan, at, number)) {
        return false;
    }
    if (lost) {
        call->unique = 1;
        return true;
    }
    if (!skip_root(scan)) {
        return false;
    }
    take(scan, number, CHANGED);
    return true;
}

static bool scan_skipped(Scan *scan)
{
    size_t number = 0;
    uint64_t count;
    if (!read_call(scan, &number)) {
        return false;
    }
    if (number && call_of(scan, number)->state >= RETURNED) {
        return malformed(scan, "a call goes on after its end");
    }
    if (!read_v(scan, &count)) {
        return false;
    }
    if (count >= MAX_SKIPPED) {
        return malformed(scan, "more calls were skipped than can be counted");
    }
    return push_i32(&scan->skipped_call, (int32_t)number) &&
           push_i64(&scan->skipped_count, (int64_t)count) &&
           push_i64(&scan->skipped_before, (int64_t)scan->calls.count);
}

static bool scan_output(Scan *scan, int64_t at)
{
    size_t number = 0;
    uint8_t descriptor;
    if (!read_call(scan, &number) || !read_byte(scan, &descriptor)) {
        return false;
    }
    size_t start = scan->reader.place;
    if (!skip_text(scan) || !add_event(scan, at, number)) {
        return false;
    }
    size_t size = scan->reader.place - start;
    scan->last.digest = mix(digest_of(scan->reader.data + start, size), descriptor);
    scan->last.size = (uint32_t)size;
    scan->last.complete = true;
    take(scan, number, OUTPUT);
    return descriptor != STANDARD_OUTPUT ||
           (push_i32(&scan->output_call, (int32_t)number) &&
            push_i64(&scan->output_at, scan->base | at));
}

static bool scan_global(Scan *scan, int64_t at)
{
    uint64_t number;
    if (!read_v(scan, &number)) {
        return false;
    }
    if (number >= scan->variables.count) {
        return malformed(scan, "a global that does not exist changes");
    }
    if (!push_i32(&scan->global_variable, (int32_t)number) ||
        !push_i64(&scan->global_at, scan->base | at) || !skip_root(scan)) {
        return false;
    }
    Variable *variable = (Variable *)scan->variables.items + number;
    variable->digest = scan->last.digest;
    variable->complete = scan->last.complete;
    return true;
}

static bool scan_thread(Scan *scan)
{
    uint64_t thread;
    if (!read_v(scan, &thread)) {
        return false;
    }
    if (thread > scan->threads) {
        return malformed(scan, "threads are not numbered in order");
    }
    if (thread + 1 > scan->threads) {
        scan->threads = thread + 1;
    }
    return true;
}

static bool scan_end(Scan *scan, int64_t at)
{
    uint8_t how;
    if (scan->ends.count) {
        return malformed(scan, "the run ends twice");
    }
    if (!read_byte(scan, &how)) {
        return false;
    }
    if (how > STOPPED) {
        return malformed(scan, "the run ends in an unknown way");
    }
    return push_i64(&scan->ends, scan->base | at) && skip_root(scan);
}

/* --- tables ------------------------------------------------------------------------------------ */

static bool scan_name(Scan *scan, int64_t at)
{
    uint64_t length;
    if (!read_v(scan, &length)) {
        return false;
    }
    const uint8_t *text = scan->reader.data + scan->reader.place;
    if (!skip_bytes(scan, length)) {
        return false;
    }
    Name *name = column_next(&scan->names);
    if (name == NULL) {
        return false;
    }
    bool vague = length && memchr(text, '<', (size_t)length) != NULL;
    *name = (Name){.at = scan->base | at, .size = (int64_t)length, .vague = vague};
    return true;
}

static bool scan_type(Scan *scan, int64_t at)
{
    uint64_t module, name;
    uint8_t flags;
    return read_name_number(scan, &module) && read_name_number(scan, &name) &&
           read_byte(scan, &flags) && push_i64(&scan->types, scan->base | at);
}

static bool scan_variable(Scan *scan, int64_t at)
{
    uint64_t module, name;
    if (!read_name_number(scan, &module) || !read_name_number(scan, &name)) {
        return false;
    }
    Variable *variable = column_next(&scan->variables);
    if (variable == NULL) {
        return false;
    }
    *variable = (Variable){.at = scan->base | at, .digest = 0, .complete = true};
    return true;
}

static bool read_code_names(Scan *scan, uint64_t count, int64_t *effort)
{
    uint64_t name;
    for (; count; count--) {
        if (!read_name_number(scan, &name)) {
            return false;
        }
        *effort += ((const Name *)scan->names.items)[name].size + 2;
    }
    return true;
}

static bool read_code_variables(Scan *scan, uint64_t count)
{
    uint64_t variable;
    for (; count; count--) {
        if (!read_v(scan, &variable)) {
            return false;
        }
        if (variable >= scan->variables.count) {
            return malformed(scan, "a code names a global that does not exist");
        }
        if (!push_i32(&scan->code_variables, (int32_t)variable)) {
            return false;
        }
    }
    return true;
}

static bool scan_code(Scan *scan, int64_t at)
{
    uint64_t flags, file, module, name, line, parameters, free_variables, variables;
    if (!read_v(scan, &flags) || !read_name_number(scan, &file) ||
        !read_name_number(scan, &module) || !read_name_number(scan, &name) ||
        !read_v(scan, &line) || !read_v(scan, &parameters) || !read_v(scan, &free_variables) ||
        !read_v(scan, &variables)) {
        return false;
    }
    uint64_t left = scan->reader.length - scan->reader.place;
    if (line > MAX_LINE || parameters > left || free_variables > left || variables > left ||
        parameters + free_variables + variables > left) {
        return malformed(scan, "a code claims more than there is");
    }
    Code code = {
        .at = scan->base | at,
        .effort = FRAME + ((const Name *)scan->names.items)[name].size,
        .first_variable = scan->code_variables.count,
        .variables = (size_t)variables,
        .inputs = parameters + free_variables,
        .stepped = (flags & STEPPED) != 0,
    };
    if (!read_code_names(scan, code.inputs, &code.effort) ||
        !read_code_variables(scan, variables) || !skip_text(scan)) {
        return false;
    }
    Code *kept = column_next(&scan->codes);
    if (kept == NULL) {
        return false;
    }
    *kept = code;
    return true;
}

/* --- all of them ------------------------------------------------------------------------------- */

static bool scan_record(Scan *scan, uint8_t record, int64_t at)
{
    switch (record) {
    case CALL:
        return scan_call(scan, at);
    case BARE_CALL:
        return scan_bare_call(scan, at);
    case RETURN:
    case BARE_RETURN:
    case RAISE:
    case BARE_RAISE:
    case CLOSED_RECORD:
        return scan_exit(scan, at, record);
    case YIELD:
    case BARE_YIELD:
        return scan_yield(scan, at, record == BARE_YIELD);
    case RESUME:
    case THROW:
    case SEND:
        return scan_resume(scan, at, record);
    case CHANGED:
    case LOST:
        return scan_change(scan, at, record == LOST);
    case GLOBAL:
        return scan_global(scan, at);
    case THREAD:
        return scan_thread(scan);
    case SKIPPED:
        return scan_skipped(scan);
    case NAME:
        return scan_name(scan, at);
    case TYPE:
        return scan_type(scan, at);
    case CODE:
        return scan_code(scan, at);
    case VARIABLE:
        return scan_variable(scan, at);
    case OUTPUT:
        return scan_output(scan, at);
    case NOTE:
        return push_i64(&scan->notes, scan->base | at) && skip_text(scan);
    case END:
        return scan_end(scan, at);
    default:
        return malformed(scan, "there is no record of this kind");
    }
}

/* All records of the page that the reader is set to. */
bool scan_records(Scan *scan)
{
    Reader *reader = &scan->reader;
    while (reader->place < reader->length) {
        int64_t at = (int64_t)reader->place;
        uint8_t record = reader->data[reader->place++];
        if (!scan_record(scan, record, at)) {
            return false;
        }
    }
    return true;
}
