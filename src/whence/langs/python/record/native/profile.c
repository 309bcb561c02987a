/* The events of the profile hook: Python 3.11.
 *
 * The hook is set in C with no object, so that sys.getprofile() says None beside it. A thread's
 * hook can be set once its state exists: the starter's next event sees that there are new ones.
 * A program that sets a profile function of its own replaces ours in that thread, and wins.
 *
 * The hook is told that a frame was left by an exception, but not by which one: the interpreter
 * takes it aside for the time of the event, into variables of its own function that are still on
 * the C stack. They are looked for there, and believed only if the traceback beside them is the
 * one that was just made for this very frame. */
#include "recorder.h"

#if !defined(WHENCE_UNSUPPORTED) && !PYTHON_312

#include <sys/uio.h>
#include <unistd.h>

const char *const hook_name = "profile";

static PyThreadState *newest; /* the head of the list of threads when it was last looked at */

static int on_event(PyObject *object, PyFrameObject *frame, int what, PyObject *argument);

static void hook_new_threads(void)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    PyThreadState *head = interpreter->threads.head;
    if (likely(head == newest)) {
        return;
    }
    newest = head;
    for (PyThreadState *tstate = head; tstate != NULL; tstate = tstate->next) {
        /* One that has run already and has no hook was set free of it by the program. */
        if (tstate->c_profilefunc == NULL && tstate->cframe->current_frame == NULL) {
            tstate->c_profilefunc = on_event;
            tstate->cframe->use_tracing = 255;
        }
    }
}

/* Whether a call of a builtin replaces the hook of this thread. */
static bool replaces_hook(PyObject *function)
{
    return PyCFunction_CheckExact(function) &&
           strcmp(((PyCFunctionObject *)function)->m_ml->ml_name, "setprofile") == 0;
}

static void on_return(Thread *thread, Frame *frame, CodeEntry *code, PyObject *value)
{
    if (code->is_generator && owned_by_generator(frame) &&
        frame_generator(frame)->gi_frame_state == FRAME_SUSPENDED) {
        call_yielded(thread, frame, value);
    }
    else {
        call_returned(thread, frame, value);
    }
}

static void on_call(Thread *thread, Frame *frame, CodeEntry *code)
{
    PyThreadState *tstate = PyThreadState_Get();
    if (code->is_generator && owned_by_generator(frame)) {
        PyObject *thrown = tstate->curexc_value != NULL ? tstate->curexc_value
                                                        : tstate->curexc_type;
        call_resumed(thread, frame, code, thrown);
    }
    else {
        call_started(thread, frame, code);
    }
}

static int on_event(PyObject *Py_UNUSED(object), PyFrameObject *frame_object, int what,
                    PyObject *argument)
{
    if (!recorder.on) {
        return 0;
    }
    hook_new_threads();
    Thread *thread = this_thread();
    if (thread == NULL || thread->suspended) {
        return 0;
    }
    if (what >= PyTrace_C_CALL || what == PyTrace_LINE) {
        if (what == PyTrace_C_CALL && unlikely(replaces_hook(argument))) {
            const char note[] = "the program replaced the profile function: calls of this thread "
                                "from here on were not recorded";
            write_note(note, sizeof note - 1);
        }
        return 0;
    }
    Frame *frame = frame_object->f_frame;
    CodeEntry *code = code_entry(frame_code(frame), frame->f_globals, thread);
    if (code == NULL || !code->user) {
        return 0;
    }
    if (what == PyTrace_CALL) {
        on_call(thread, frame, code);
    }
    else if (what == PyTrace_RETURN && argument != NULL) {
        on_return(thread, frame, code, argument);
    }
    else if (what == PyTrace_RETURN) {
        call_raised(thread, frame, NULL);
    }
    return 0;
}

bool hook_start(void)
{
    PyThreadState *self = PyThreadState_Get();
    newest = PyInterpreterState_Get()->threads.head;
    for (PyThreadState *tstate = newest; tstate != NULL; tstate = tstate->next) {
        if (tstate != self && tstate->c_profilefunc == NULL) {
            tstate->c_profilefunc = on_event;
            tstate->cframe->use_tracing = 255;
        }
    }
    if (self->c_profilefunc != NULL) {
        PyErr_SetString(PyExc_RuntimeError, "the program has set a profile function already");
        return false;
    }
    PyEval_SetProfile(on_event, NULL);
    return true;
}

void hook_stop(void)
{
    PyThreadState *self = PyThreadState_Get();
    for (PyThreadState *tstate = PyInterpreterState_Get()->threads.head; tstate != NULL;
         tstate = tstate->next) {
        if (tstate != self && tstate->c_profilefunc == on_event) {
            tstate->c_profilefunc = NULL; /* its next change of frame clears use_tracing */
        }
    }
    if (self->c_profilefunc == on_event) {
        PyEval_SetProfile(NULL, NULL);
    }
}

#else
typedef int not_empty;
#endif
