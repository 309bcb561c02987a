/* The window: records one target call and as many levels below it as a budget of calls allows.
 *
 * All other calls are only counted, so that reaching a call late in a long run is cheap. The target
 * is identified by its ordinal among all calls, recorded and counted. The number of calls at each
 * depth is not known in advance. When the budget is exceeded, the deepest level is dropped: its calls
 * are already in the file, and the reader ignores them.
 *
 * Invariant: every call between the target and the deepest level that was kept is recorded. */
#include "recorder.h"

enum {
    LEVELS = 1024,
    MIN_LEVELS = 1, /* the target's own callees are always recorded */
};

static struct {
    uint64_t budget;
    uint64_t kept[LEVELS], all;
    uint32_t top; /* depth of the target */
    bool next_is_target; /* the next call that is recorded is the target */
    PyObject *on_enter, *on_end; /* called when the target begins and after it ended */
} window;

void window_set(uint64_t target, uint64_t budget)
{
    PyObject *on_enter = window.on_enter, *on_end = window.on_end;
    memset(&window, 0, sizeof window);
    window.budget = budget;
    recorder.window_target = target;
    recorder.window_call = 0;
    Py_XDECREF(on_enter); /* last: this may run code, which must see the new window */
    Py_XDECREF(on_end);
}

bool window_is_whole(void)
{
    return recorder.window_target != 0 && recorder.first_whole <= recorder.last_whole;
}

/* Sets another target, which begins after the current one has ended. */
void window_next(uint64_t target)
{
    recorder.window_target = target;
}

void window_set_hooks(PyObject *on_enter, PyObject *on_end)
{
    Py_XSETREF(window.on_enter, Py_NewRef(on_enter));
    Py_XSETREF(window.on_end, Py_NewRef(on_end));
}

uint64_t calls_before_window(void) { return recorder.window_target - 1; }

/* Calls a hook outside of the recording; returns its result, or NULL for None and for an error. */
static PyObject *call_hook(PyObject *function)
{
    PyObject *result = NULL;
    if (function != NULL && function != Py_None) {
        OwnCode own = own_code_begin(this_thread());
        result = PyObject_CallNoArgs(function);
        if (result == NULL && PyErr_ExceptionMatches(PyExc_Exception)) {
            PyErr_PrintEx(0); /* the hook may be a debugger on the terminal */
        }
        own_code_end(&own);
    }
    if (result == Py_None) {
        Py_CLEAR(result);
    }
    return result;
}

/* Calls the frame's function as the program would, for its effects: the result is discarded. */
static void run_for_effects(PyThreadState *tstate, Frame *frame, PyObject *arguments,
                            PyObject *named)
{
    bool hooked = is_tracing(tstate); /* false under frame_evaluation.c */
    if (hooked) {
        PyThreadState_LeaveTracing(tstate);
    }
    PyObject *result = PyObject_Call(frame_function(frame), arguments, named);
    if (hooked) {
        PyThreadState_EnterTracing(tstate);
    }
    if (result == NULL) {
        pass_on_interrupt();
    }
    Py_XDECREF(result);
}

/* Runs the hook of the target's beginning. The hook returns a pair of functions to call one after the
 * other in the frame; or a triple (result, arguments, keyword arguments), which makes the frame return
 * that result at once, after the function was called with these arguments for its effects. */
static void enter_window(Frame *frame, uint64_t call)
{
    recorder.window_call = call;
    PyThreadState *tstate = PyThreadState_Get();
    PendingFrame pending = pending_frame_enter(tstate, frame);
    PyObject *reply = call_hook(window.on_enter);
    Py_ssize_t size = reply != NULL && PyTuple_Check(reply) ? PyTuple_GET_SIZE(reply) : 0;
    if (size == 2) {
        for (int i = 0; i < 2; i++) {
            Py_XDECREF(call_hook(PyTuple_GET_ITEM(reply, i)));
        }
    }
    bool has_forced_result = size == 3 && frame != NULL;
    if (has_forced_result) {
        run_for_effects(tstate, frame, PyTuple_GET_ITEM(reply, 1), PyTuple_GET_ITEM(reply, 2));
    }
    pending_frame_leave(&pending);
    if (has_forced_result) {
        force_return(frame, PyTuple_GET_ITEM(reply, 0));
    }
    Py_XDECREF(reply);
}

bool begins_outside_window(Origin *parent)
{
    if (unlikely(calls_before() + 1 == recorder.window_target && parent->call == 0)) {
        window.next_is_target = true;
        *parent = (Origin){.depth = parent->depth};
        window.top = parent->depth + 1;
        recorder.max_depth = window.top + LEVELS - 1;
        recorder.skipped_by_run = recorder.skips_to_write = 0; /* earlier calls are outside */
        return false;
    }
    return parent->call == 0;
}

void window_count_call(uint64_t call, uint32_t depth, Frame *frame)
{
    if (window.next_is_target) {
        window.next_is_target = false;
        enter_window(frame, call);
    }
    if (depth < window.top) {
        return; /* of another thread, below an earlier target */
    }
    window.kept[depth - window.top]++;
    uint64_t deepest = recorder.max_depth - window.top;
    for (window.all++; window.all > window.budget && deepest > MIN_LEVELS; deepest--) {
        window.all -= window.kept[deepest];
    }
    recorder.max_depth = window.top + deepest;
}

void window_end(void)
{
    undo_force_return();
    Py_XDECREF(call_hook(window.on_end));
}
