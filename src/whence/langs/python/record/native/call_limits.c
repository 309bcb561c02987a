/* Stops a program that makes too many calls or nests them too deeply.
 *
 * The function that was set with the limit runs before the call is recorded, and ends the process, so
 * that no code of the program can interfere. */
#include "recorder.h"

static PyObject *too_much; /* called with the name of the limit; does not return */

void limits_set(uint64_t calls, uint64_t depth, PyObject *function)
{
    Py_XSETREF(too_much, Py_NewRef(function));
    recorder.stop_calls = calls;
    recorder.stop_depth = depth;
    if (depth != NEVER) {
        recorder.fast_calls_limit = 0; /* the fast path does not check the depth */
    }
    update_fast_calls();
}

void limit_reached(Thread *thread, const char *what)
{
    OwnCode own = own_code_begin(thread);
    recorder.stop_calls = recorder.stop_depth = NEVER;
    Py_XDECREF(PyObject_CallFunction(too_much, "s", what));
    own_code_end(&own);
}
