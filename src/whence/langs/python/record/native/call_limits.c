/* A program that has made too many calls, or stands too deep in them, is stopped.
 *
 * Whoever set the limit is told, before the call is recorded, and ends the process: nothing of the
 * program can interfere. */
#include "recorder.h"

static PyObject *too_much; /* is called with what there was too much of, and does not return */

void limits_set(uint64_t calls, uint64_t depth, PyObject *function)
{
    Py_XSETREF(too_much, Py_NewRef(function));
    recorder.stop_calls = calls;
    recorder.stop_depth = depth;
    if (depth != NEVER) {
        recorder.quick_most = 0; /* there depth is not asked for */
    }
    quick_refresh();
}

void limit_reached(Thread *thread, const char *what)
{
    OwnCode own = own_code_begin(thread);
    recorder.stop_calls = recorder.stop_depth = NEVER;
    Py_XDECREF(PyObject_CallFunction(too_much, "s", what));
    own_code_end(&own);
}
