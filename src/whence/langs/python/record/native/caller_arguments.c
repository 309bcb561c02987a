/* Releases the caller's references to the arguments of a call. For 3.11, with frame_evaluation.c.
 *
 * By default the interpreter moves the arguments of a call of Python code from the caller's stack
 * to the new frame. The frame alone holds them, so an object dies when its parameter is rebound.
 * With a frame evaluation function the interpreter copies them, and the caller holds them until the
 * call has ended. So that objects live as long as without whence, the caller's references are
 * replaced by None once the frame has its own; later the interpreter clears the stack.
 *
 * The position of the arguments depends on the depth of the caller's stack. That is not in memory
 * while it runs, but follows from its code: it is the same each time an instruction is reached. The
 * result is used only if the function and its arguments are found there. */
#include "recorder.h"

#if !HAS_MONITORING

enum { UNKNOWN = -1, MAX_UNITS = 1 << 16 };

typedef struct {
    const uint8_t *bytes; /* units of an instruction and its argument */
    CallSite *sites;
    Py_ssize_t count;
    bool changed;
} Depths;

static void reach(Depths *depths, Py_ssize_t at, int depth)
{
    if (at >= 0 && at < depths->count && depth >= 0 && depths->sites[at].depth == UNKNOWN) {
        depths->sites[at].depth = (int16_t)depth;
        depths->changed = true;
    }
}

/* The target of a jump, or -1 if it is no jump. */
static Py_ssize_t jump_target(int operation, Py_ssize_t next, int argument)
{
    switch (operation) {
    case JUMP_FORWARD:
    case FOR_ITER:
    case SEND:
    case JUMP_IF_FALSE_OR_POP:
    case JUMP_IF_TRUE_OR_POP:
    case POP_JUMP_FORWARD_IF_FALSE:
    case POP_JUMP_FORWARD_IF_TRUE:
    case POP_JUMP_FORWARD_IF_NONE:
    case POP_JUMP_FORWARD_IF_NOT_NONE:
        return next + argument;
    case JUMP_BACKWARD:
    case JUMP_BACKWARD_NO_INTERRUPT:
    case POP_JUMP_BACKWARD_IF_FALSE:
    case POP_JUMP_BACKWARD_IF_TRUE:
    case POP_JUMP_BACKWARD_IF_NONE:
    case POP_JUMP_BACKWARD_IF_NOT_NONE:
        return next - argument;
    default:
        return -1;
    }
}

static bool goes_on(int operation)
{
    return operation != JUMP_FORWARD && operation != JUMP_BACKWARD &&
           operation != JUMP_BACKWARD_NO_INTERRUPT && operation != RETURN_VALUE &&
           operation != RAISE_VARARGS && operation != RERAISE;
}

/* One pass over the code that propagates the known depths. */
static void follow(Depths *depths)
{
    int extended = 0;
    for (Py_ssize_t i = 0; i < depths->count; i++) {
        int operation = depths->bytes[2 * i];
        int argument = extended << 8 | depths->bytes[2 * i + 1];
        extended = operation == EXTENDED_ARG ? argument : 0;
        int depth = depths->sites[i].depth;
        if (depth == UNKNOWN) {
            continue;
        }
        int known_argument = operation >= HAVE_ARGUMENT ? argument : 0;
        Py_ssize_t target = jump_target(operation, i + 1, argument);
        if (target >= 0) {
            int effect = PyCompile_OpcodeStackEffectWithJump(operation, known_argument, 1);
            reach(depths, target, depth + effect);
        }
        if (goes_on(operation)) {
            int effect = operation == CACHE
                             ? 0
                             : PyCompile_OpcodeStackEffectWithJump(operation, known_argument, 0);
            reach(depths, i + 1, depth + effect);
        }
    }
}

/* Reads a number of the exception table: six bits per byte, the highest first. */
static int table_number(const uint8_t **at, const uint8_t *end)
{
    int number = 0;
    while (*at < end) {
        uint8_t byte = *(*at)++;
        number = number << 6 | (byte & 63);
        if (!(byte & 64)) {
            break;
        }
    }
    return number;
}

static void reach_handlers(Depths *depths, const PyCodeObject *code)
{
    const uint8_t *at = (const uint8_t *)PyBytes_AS_STRING(code->co_exceptiontable);
    const uint8_t *end = at + PyBytes_GET_SIZE(code->co_exceptiontable);
    while (at < end) {
        table_number(&at, end);
        table_number(&at, end);
        int target = table_number(&at, end);
        int depth_and_place = table_number(&at, end);
        /* The stack of the handler: what it keeps, the instruction (if stored), the exception. */
        reach(depths, target, (depth_and_place >> 1) + (depth_and_place & 1) + 1);
    }
}

/* The number of keyword arguments of the CALL at `at`, or UNKNOWN. It is preceded by PRECALL with
 * its cache, and by KW_NAMES if there are any. */
static int count_named(const Depths *depths, const PyCodeObject *code, Py_ssize_t at)
{
    if (at < 3 || depths->bytes[2 * at - 6] != KW_NAMES) {
        return 0;
    }
    Py_ssize_t constant = depths->bytes[2 * at - 5];
    bool extended = at > 3 && depths->bytes[2 * at - 8] == EXTENDED_ARG;
    if (extended || constant >= PyTuple_GET_SIZE(code->co_consts)) {
        return UNKNOWN;
    }
    PyObject *names = PyTuple_GET_ITEM(code->co_consts, constant);
    return PyTuple_CheckExact(names) ? (int)PyTuple_GET_SIZE(names) : UNKNOWN;
}

/* Keeps only the depths at a CALL. */
static void keep_calls(Depths *depths, const PyCodeObject *code)
{
    for (Py_ssize_t i = 0; i < depths->count; i++) {
        bool extended = i > 0 && depths->bytes[2 * i - 2] == EXTENDED_ARG;
        int named = count_named(depths, code, i);
        if (depths->bytes[2 * i] != CALL || extended || named == UNKNOWN) {
            depths->sites[i].depth = UNKNOWN;
        }
        depths->sites[i].named = (int16_t)named;
    }
}

/* The depth of the stack below the arguments of each CALL of a code object (the PRECALL before it
 * counts as taking them); NULL if it cannot be found out. */
static CallSite *call_sites(PyCodeObject *code)
{
    PyObject *bytes = PyCode_GetCode(code);
    Py_ssize_t count = bytes != NULL ? PyBytes_GET_SIZE(bytes) / 2 : 0;
    CallSite *sites = count > 0 && count < MAX_UNITS && code->co_stacksize < INT16_MAX
                          ? PyMem_RawMalloc((size_t)count * sizeof *sites)
                          : NULL;
    if (sites != NULL) {
        Depths depths = {(const uint8_t *)PyBytes_AS_STRING(bytes), sites, count, true};
        for (Py_ssize_t i = 0; i < count; i++) {
            sites[i] = (CallSite){UNKNOWN, 0};
        }
        int makes_generator = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
        reach(&depths, 0, code->co_flags & makes_generator ? 1 : 0);
        reach_handlers(&depths, code);
        while (depths.changed) {
            depths.changed = false;
            follow(&depths);
        }
        keep_calls(&depths, code);
    }
    PyErr_Clear();
    Py_XDECREF(bytes);
    return sites;
}

/* The caller's references to what a frame that begins now was called with, if an instruction of the
 * caller called it directly; else NULL. */
static PyObject **arguments_of(const Frame *frame, Frame *caller, CodeEntry *code,
                               Py_ssize_t *count)
{
    if (unlikely(!code->sites_asked)) {
        code->sites_asked = true;
        code->sites = call_sites(code->code);
    }
    Py_ssize_t at = (Py_ssize_t)frame_place(caller) - 1;
    const PyCodeObject *calling = frame_code(caller);
    if (code->sites == NULL || at < 0 || code->sites[at].depth == UNKNOWN) {
        return NULL;
    }
    CallSite site = code->sites[at];
    int positional = instruction_argument(frame_instruction(caller));
    if (site.depth < 2 || site.depth + positional > calling->co_stacksize) {
        return NULL;
    }
    PyObject **first = frame_stack(caller) + site.depth;
    PyObject *function = frame_function(frame);
    bool is_method = first[-2] == function;
    if (!is_method && (first[-2] != NULL || first[-1] != function)) {
        return NULL;
    }
    first -= is_method;
    *count = positional + is_method;
    Py_ssize_t plain = Py_MIN(*count - site.named, frame_code(frame)->co_argcount);
    for (Py_ssize_t i = 0; i < plain; i++) {
        if (first[i] != frame_slot(frame, (int)i)) {
            return NULL;
        }
    }
    return first;
}

void release_caller_references(Thread *thread, const Frame *frame, Frame *caller)
{
    CodeEntry *code = caller != NULL
                          ? code_entry(frame_code(caller), frame_globals(caller), thread)
                          : NULL;
    Py_ssize_t count = 0;
    PyObject **arguments = code != NULL ? arguments_of(frame, caller, code, &count) : NULL;
    for (Py_ssize_t i = 0; arguments != NULL && i < count; i++) {
        PyObject *argument = arguments[i];
        arguments[i] = Py_NewRef(Py_None);
        Py_DECREF(argument); /* the frame has it */
    }
}

#endif
