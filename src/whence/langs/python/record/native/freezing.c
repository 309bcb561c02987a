/* Frozen calls of a re-run: observed from beginning to end, or replaced by their recorded result.
 *
 * They are identified by their ordinals among all calls, recorded and counted. When one begins, a hook
 * (freezing/effect_hooks.py) is called. Either it asks to be called again at the end; or it has applied
 * the call's effects itself, and returns the result and the number of calls below. Then these are
 * counted, and the frame returns at once.
 *
 * Invariant: after a replaced call, later calls have the ordinals that they had in the recording. */
#include "activations.h"

static struct {
    uint64_t *ordinals;
    size_t count, next;
    PyObject *on_enter, *on_exit;
} observed;

static void observe_next(void)
{
    bool is_last = observed.next == observed.count;
    recorder.freeze_at = is_last ? NEVER : observed.ordinals[observed.next];
    update_fast_calls();
}

bool freezing_set(PyObject *ordinals, PyObject *on_enter, PyObject *on_exit)
{
    size_t count = (size_t)PyTuple_GET_SIZE(ordinals);
    uint64_t *numbers = PyMem_RawMalloc((count + 1) * sizeof *numbers);
    if (numbers == NULL) {
        PyErr_NoMemory();
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        numbers[i] = PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(ordinals, i));
    }
    if (PyErr_Occurred()) {
        PyMem_RawFree(numbers);
        return false;
    }
    PyMem_RawFree(observed.ordinals);
    observed.ordinals = numbers;
    observed.count = count;
    observed.next = 0;
    recorder.observed_frame = NULL;
    Py_XSETREF(observed.on_enter, Py_NewRef(on_enter));
    Py_XSETREF(observed.on_exit, Py_NewRef(on_exit));
    observe_next();
    return true;
}

/* Calls a hook without counting the objects that it allocates: they are many, and must not advance the
 * next garbage collection. Steals the reference to `first`. */
static PyObject *call_hook_uncounted(Thread *thread, PyObject *function, PyObject *first,
                                     PyObject *second)
{
    if (first == NULL) {
        PyErr_Clear();
        return NULL;
    }
    int *young = young_objects(PyThreadState_Get()), before = *young;
    OwnCode own = own_code_begin(thread);
    PyObject *reply = PyObject_CallFunctionObjArgs(function, first, second, NULL);
    Py_DECREF(first);
    own_code_end(&own);
    *young = before;
    return reply;
}

/* Makes the frame return this value, and counts the calls that its body would have made. */
static void replace_call(Thread *thread, Frame *frame, PyObject *value, PyObject *calls)
{
    uint64_t count = PyLong_AsUnsignedLongLong(calls);
    if (count == (uint64_t)-1 && PyErr_Occurred()) {
        PyErr_Clear(); /* no number of calls: run the call */
        return;
    }
    skip_many(thread, thread->stack[thread->count - 1].owner, count);
    force_return(frame, value);
    collect_for_skipped();
}

void observe_call(Thread *thread, Frame *frame)
{
    uint64_t ordinal = calls_before();
    while (observed.next < observed.count && observed.ordinals[observed.next] < ordinal) {
        observed.next++; /* it was not a call of a plain function */
    }
    bool is_observed =
        observed.next < observed.count && observed.ordinals[observed.next] == ordinal;
    observed.next += is_observed;
    observe_next();
    if (!is_observed) {
        return;
    }
    PyThreadState *tstate = PyThreadState_Get();
    PendingFrame pending = pending_frame_enter(tstate, frame);
    PyObject *can_replace = can_force_return(tstate) ? Py_True : Py_False;
    PyObject *reply = call_hook_uncounted(thread, observed.on_enter,
                                          PyLong_FromUnsignedLongLong(ordinal), can_replace);
    pending_frame_leave(&pending);
    if (reply == Py_True) {
        recorder.observed_frame = frame;
    }
    else if (reply != NULL && PyTuple_Check(reply) && PyTuple_GET_SIZE(reply) == 2) {
        replace_call(thread, frame, PyTuple_GET_ITEM(reply, 0), PyTuple_GET_ITEM(reply, 1));
    }
    Py_XDECREF(reply);
}

void observe_end(Thread *thread, PyObject *value)
{
    recorder.observed_frame = NULL;
    bool returns = value != NULL;
    Py_XDECREF(call_hook_uncounted(thread, observed.on_exit, Py_NewRef(returns ? value : Py_None),
                                   returns ? Py_True : Py_False));
}

/* ---- a digest of references ---- */

static int mix_reference(PyObject *object, void *sum)
{
    uint64_t *digest = sum;
    *digest = (*digest ^ (uintptr_t)object) * UINT64_C(0x9E3779B97F4A7C15);
    *digest ^= *digest >> 29;
    return 0;
}

/* Returns a digest of the references that these objects hold: it changes when one of them does. */
uint64_t references_of(PyObject *objects)
{
    uint64_t sum = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(objects); i++) {
        PyObject *object = PyTuple_GET_ITEM(objects, i);
        mix_reference(object, &sum);
        if (PyObject_IS_GC(object)) { /* static types are not tracked, heap types are */
            Py_TYPE(object)->tp_traverse(object, mix_reference, &sum);
        }
    }
    return sum;
}
