/* Calls of a re-run that are looked at from their beginning to their end, or not made at all.
 *
 * They are told by which of all calls they are, recorded and counted ones together. Whoever is told
 * that one begins (freezing/in_run.py) either wants to be told its end, too; or has done all that
 * the call did, and says what comes of it and how many calls it made. Then those are counted, and
 * the frame is left at once.
 *
 * Invariant: after a call that was not made, the numbers of calls are what they would be. */
#include "activations.h"

static struct {
    uint64_t *wanted;
    size_t count, next;
    PyObject *entered, *left;
} observed;

static void observe_next(void)
{
    bool is_last = observed.next == observed.count;
    recorder.freeze_at = is_last ? NEVER : observed.wanted[observed.next];
    quick_refresh();
}

bool freezing_set(PyObject *ordinals, PyObject *entered, PyObject *left)
{
    size_t count = (size_t)PyTuple_GET_SIZE(ordinals);
    uint64_t *wanted = PyMem_RawMalloc((count + 1) * sizeof *wanted);
    if (wanted == NULL) {
        PyErr_NoMemory();
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        wanted[i] = PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(ordinals, i));
    }
    if (PyErr_Occurred()) {
        PyMem_RawFree(wanted);
        return false;
    }
    PyMem_RawFree(observed.wanted);
    observed.wanted = wanted;
    observed.count = count;
    observed.next = 0;
    recorder.observed_frame = NULL;
    Py_XSETREF(observed.entered, Py_NewRef(entered));
    Py_XSETREF(observed.left, Py_NewRef(left));
    observe_next();
    return true;
}

/* What whence makes meanwhile, which is much, does not bring the next collection of garbage nearer.
 * Takes the first argument over. */
static PyObject *asked_aside(Thread *thread, PyObject *function, PyObject *first, PyObject *second)
{
    if (first == NULL) {
        PyErr_Clear();
        return NULL;
    }
    int *young = young_objects(PyThreadState_Get()), before = *young;
    OwnCode own = own_code_begin(thread);
    PyObject *said = PyObject_CallFunctionObjArgs(function, first, second, NULL);
    Py_DECREF(first);
    own_code_end(&own);
    *young = before;
    return said;
}

static void not_made(Thread *thread, Frame *frame, PyObject *value, PyObject *calls)
{
    uint64_t count = PyLong_AsUnsignedLongLong(calls);
    if (count == (uint64_t)-1 && PyErr_Occurred()) {
        PyErr_Clear(); /* no number of calls: the call is made after all */
        return;
    }
    skip_many(thread, thread->stack[thread->count - 1].owner, count);
    force_return(frame, value);
    collect_for_skipped();
}

void observe_call(Thread *thread, Frame *frame)
{
    uint64_t ordinal = calls_before();
    while (observed.next < observed.count && observed.wanted[observed.next] < ordinal) {
        observed.next++; /* it was no call of a plain function */
    }
    bool is_wanted =
        observed.next < observed.count && observed.wanted[observed.next] == ordinal;
    observed.next += is_wanted;
    observe_next();
    if (!is_wanted) {
        return;
    }
    PyThreadState *tstate = PyThreadState_Get();
    PendingFrame pending = pending_frame_enter(tstate, frame);
    PyObject *can_give = can_force_return(tstate) ? Py_True : Py_False;
    PyObject *said = asked_aside(thread, observed.entered, PyLong_FromUnsignedLongLong(ordinal),
                                 can_give);
    pending_frame_leave(&pending);
    if (said == Py_True) {
        recorder.observed_frame = frame;
    }
    else if (said != NULL && PyTuple_Check(said) && PyTuple_GET_SIZE(said) == 2) {
        not_made(thread, frame, PyTuple_GET_ITEM(said, 0), PyTuple_GET_ITEM(said, 1));
    }
    Py_XDECREF(said);
}

void observe_end(Thread *thread, PyObject *value)
{
    recorder.observed_frame = NULL;
    bool returns = value != NULL;
    Py_XDECREF(asked_aside(thread, observed.left, Py_NewRef(returns ? value : Py_None),
                           returns ? Py_True : Py_False));
}

/* ---- what many objects refer to ---- */

static int mix_reference(PyObject *object, void *sum)
{
    uint64_t *so_far = sum;
    *so_far = (*so_far ^ (uintptr_t)object) * UINT64_C(0x9E3779B97F4A7C15);
    *so_far ^= *so_far >> 29;
    return 0;
}

/* A number that is another one if any of these objects refers to other ones than before. */
uint64_t references_of(PyObject *objects)
{
    uint64_t sum = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(objects); i++) {
        PyObject *object = PyTuple_GET_ITEM(objects, i);
        mix_reference(object, &sum);
        if (PyObject_IS_GC(object)) { /* static types are not, though others of their kind are */
            Py_TYPE(object)->tp_traverse(object, mix_reference, &sum);
        }
    }
    return sum;
}
