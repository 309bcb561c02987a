/* A recording of one call and what is below it, as many levels as stay within a number of calls.
 *
 * All other calls are only counted, so that a call far into a long run costs its time, and little
 * else. The call is told by which of all calls it is, recorded and counted ones together. Nobody
 * knows beforehand how many calls there are at each depth. So when there are too many, the deepest
 * level is given up: its calls are in the file by then, and whoever reads it leaves them out.
 *
 * Invariant: above the level that was reached in the end, every call below the one that was wanted
 * is recorded. */
#include "recorder.h"

enum {
    LEVELS = 1024,
    FEWEST = 1, /* the call's own callees are recorded in any case */
};

static struct {
    uint64_t budget;
    uint64_t kept[LEVELS], all;
    uint32_t top; /* the depth of the call */
    bool arriving; /* the next call that is recorded is the one that is wanted */
    PyObject *entered, *over; /* are called as it begins, and once it has ended */
} window;

void window_set(uint64_t wanted, uint64_t budget)
{
    PyObject *entered = window.entered, *over = window.over;
    memset(&window, 0, sizeof window);
    window.budget = budget;
    recorder.window_wanted = wanted;
    recorder.window_call = 0;
    Py_XDECREF(entered); /* last: this may run code, which must find the new window */
    Py_XDECREF(over);
}

bool window_is_whole(void)
{
    return recorder.window_wanted != 0 && recorder.first_whole <= recorder.last_whole;
}

/* Another call, which begins when the one that was wanted is over. */
void window_next(uint64_t wanted)
{
    recorder.window_wanted = wanted;
}

void window_tell(PyObject *entered, PyObject *over)
{
    Py_XSETREF(window.entered, Py_NewRef(entered));
    Py_XSETREF(window.over, Py_NewRef(over));
}

uint64_t window_begins_after(void) { return recorder.window_wanted - 1; }

/* What it gives back, if that is more than None. */
static PyObject *tell(PyObject *function)
{
    PyObject *said = NULL;
    if (function != NULL && function != Py_None) {
        OwnCode own = own_code_begin(this_thread());
        said = PyObject_CallNoArgs(function);
        if (said == NULL && PyErr_ExceptionMatches(PyExc_Exception)) {
            PyErr_PrintEx(0); /* a debugger may have the terminal for that */
        }
        own_code_end(&own);
    }
    if (said == Py_None) {
        Py_CLEAR(said);
    }
    return said;
}

/* Makes the call that begins once more, as the program would, for all that it does but for what
 * comes of it. */
static void made_for_its_effects(PyThreadState *tstate, Frame *frame, PyObject *arguments,
                                 PyObject *named)
{
    bool hooked = is_tracing(tstate); /* not where frames are evaluated */
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

/* As the call begins, somebody may name two functions that the frame is to call, one after the other;
 * or say what is to come of it: (that, its arguments, those by name). The frame is then left at once. */
static void window_entered(Frame *frame, uint64_t call)
{
    recorder.window_call = call;
    PyThreadState *tstate = PyThreadState_Get();
    PendingFrame pending = pending_frame_enter(tstate, frame);
    PyObject *said = tell(window.entered);
    if (said != NULL && PyTuple_Check(said) && PyTuple_GET_SIZE(said) == 2) {
        for (int place = 0; place < 2; place++) {
            Py_XDECREF(tell(PyTuple_GET_ITEM(said, place)));
        }
    }
    bool is_given = said != NULL && frame != NULL && PyTuple_Check(said) && PyTuple_GET_SIZE(said) == 3;
    if (is_given) {
        made_for_its_effects(tstate, frame, PyTuple_GET_ITEM(said, 1), PyTuple_GET_ITEM(said, 2));
    }
    pending_frame_leave(&pending);
    if (is_given) {
        force_return(frame, PyTuple_GET_ITEM(said, 0));
    }
    Py_XDECREF(said);
}

bool is_outside_window(Origin *parent)
{
    if (unlikely(calls_before() + 1 == recorder.window_wanted && parent->call == 0)) {
        window.arriving = true;
        *parent = (Origin){.depth = parent->depth};
        window.top = parent->depth + 1;
        recorder.max_depth = window.top + LEVELS - 1;
        recorder.skipped_by_run = recorder.skips_to_write = 0; /* what came before is outside */
        return false;
    }
    return parent->call == 0;
}

void window_count(uint64_t call, uint32_t depth, Frame *frame)
{
    if (window.arriving) {
        window.arriving = false;
        window_entered(frame, call);
    }
    if (depth < window.top) {
        return; /* of another thread, below a call that was wanted before */
    }
    window.kept[depth - window.top]++;
    uint64_t deepest = recorder.max_depth - window.top;
    for (window.all++; window.all > window.budget && deepest > FEWEST; deepest--) {
        window.all -= window.kept[deepest];
    }
    recorder.max_depth = window.top + deepest;
}

void window_over(void)
{
    undo_force_return();
    Py_XDECREF(tell(window.over));
}
