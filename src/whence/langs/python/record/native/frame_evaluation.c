/* The evaluation of frames: Python 3.11, where a profile function makes the interpreter undo its own
 * optimisations and tell of every call of a builtin too.
 *
 * The interpreter asks a function of ours to evaluate each frame (PEP 523). That calls the
 * interpreter's own, and records what comes before and after it. Trace and profile functions of the
 * program, tracebacks and the recursion limit are as without it.
 *
 * But a call of Python code from Python code then takes some of the C stack, which else it does not.
 * So only a share of a thread's stack is used for that. For calls beyond it, and where somebody else
 * evaluates frames, there is the profile hook (profile_hook.c). While both are in use, a frame is ended by
 * whoever comes first; the other one no longer finds it among those that run. */
#include "fast_path.h"

#if !HAS_MONITORING

#include <pthread.h>

const char *const hook_name = "evaluation";

static PyObject *evaluate(PyThreadState *tstate, Frame *frame, int thrown);

enum { SHARE_OF_STACK = 4 }; /* a quarter */

PyObject *forced_result;

/* The address that the stack of this thread must not grow beyond. */
const char *evaluation_floor(void)
{
    void *lowest = NULL;
    size_t size = 0;
    bool known = false;
#if defined(__APPLE__)
    size = pthread_get_stacksize_np(pthread_self());
    lowest = (char *)pthread_get_stackaddr_np(pthread_self()) - size;
    known = true;
#elif defined(__linux__)
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        known = pthread_attr_getstack(&attributes, &lowest, &size) == 0;
        pthread_attr_destroy(&attributes);
    }
#endif
    return known ? (const char *)lowest + (size - size / SHARE_OF_STACK)
                 : (const char *)UINTPTR_MAX;
}

/* ---- frames that begin ---- */

/* With the exception that is thrown into it, which its interpreter is about to raise. */
static void resume_with_exception(Thread *thread, Frame *frame, CodeEntry *code)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    thread->pending_class = pending_exception_class(type, value);
    call_resumed(thread, frame, code, value);
    thread->pending_class = NULL;
    PyErr_Restore(type, value, traceback);
}

static void frame_begins(PyThreadState *tstate, Thread *thread, Frame *frame, CodeEntry *code,
                         int thrown)
{
    if (!owned_by_generator(frame)) {
        link_to_current_frame(tstate, frame);
        call_started(thread, frame, code);
    }
    else if (unlikely(thrown)) {
        resume_with_exception(thread, frame, code);
    }
    else {
        step_to_resume(frame, 1);
        call_resumed(thread, frame, code, NULL);
        step_to_resume(frame, -1);
    }
}

/* ---- frames that end ---- */

static void frame_raised(Thread *thread, Frame *frame)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    thread->pending_class = pending_exception_class(type, value);
    call_raised(thread, frame, value, traceback);
    thread->pending_class = NULL;
    PyErr_Restore(type, value, traceback);
}

static inline void frame_ended(Thread *thread, Frame *frame, PyObject *result)
{
    if (unlikely(result == NULL)) {
        frame_raised(thread, frame);
    }
    else if (unlikely(owned_by_generator(frame)) && is_suspended(frame)) {
        call_yielded(thread, frame, result);
    }
    else {
        call_returned(thread, frame, result);
    }
}

/* ---- deep in the stack ---- */

/* The profile hook is for all threads, since the evaluation is. It is taken back when the call that
 * needed it ends, unless there are other threads: calls of theirs may be under way. */
static __attribute__((noinline)) PyObject *evaluate_deep(PyThreadState *tstate, Frame *frame,
                                                         int thrown)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    set_evaluator(interpreter, NULL);
    bool switched = profile_start();
    if (!switched) {
        PyErr_Clear();
        const char note[] = "calls were not recorded: they were too deep for the stack, and the "
                            "program has a profile function of its own";
        write_note(note, sizeof note - 1);
    }
    uint64_t generation = recording_generation;
    PyObject *result = evaluate_by_interpreter(tstate, frame, thrown);
    bool alone =
        PyInterpreterState_ThreadHead(interpreter) == tstate && PyThreadState_Next(tstate) == NULL;
    if (recorder.on && generation == recording_generation && evaluator(interpreter) == NULL &&
        (alone || !switched)) {
        profile_stop();
        set_evaluator(interpreter, evaluate);
    }
    return result;
}

/* ---- all frames ---- */

static PyObject *evaluate(PyThreadState *tstate, Frame *frame, int thrown)
{
    Thread *thread = recorded_thread();
    /* Of trace and profile functions nobody is told. */
    if (unlikely(thread == NULL || is_tracing(tstate))) {
        return evaluate_by_interpreter(tstate, frame, thrown);
    }
    if (unlikely((const char *)__builtin_frame_address(0) < thread->floor)) {
        return evaluate_deep(tstate, frame, thrown);
    }
    if (likely(!owned_by_generator(frame))) {
        release_caller_references(thread, frame, current_frame(tstate));
    }
    CodeEntry *code = code_entry(frame_code(frame), frame_globals(frame), thread);
    /* At the recursion limit it will not begin. */
    if (code == NULL || !code->user || unlikely(is_at_recursion_limit(tstate))) {
        return evaluate_by_interpreter(tstate, frame, thrown);
    }
    bool creates = unlikely(code->is_generator) && !owned_by_generator(frame);
    if (!creates) {
        frame_begins(tstate, thread, frame, code, thrown);
    }
    PyObject *result = forced_result; /* window.c, freezing.c */
    forced_result = NULL;
    if (likely(result == NULL)) {
        result = evaluate_by_interpreter(tstate, frame, thrown);
    }
    thread = recorded_thread();
    if (unlikely(thread == NULL)) {
        return result;
    }
    if (!creates) {
        frame_ended(thread, frame, result);
    }
    else if (result != NULL && is_generator(result) &&
             frame_code(generator_frame(result)) == code->code) {
        generator_created(thread, result, code, NULL);
    }
    return result;
}

/* ---- whether it can be had ---- */

static long counted;

static PyObject *count(PyThreadState *tstate, Frame *frame, int thrown)
{
    counted++;
    return evaluate_by_interpreter(tstate, frame, thrown);
}

/* The three ways in which a specialised instruction calls Python code. */
static const char trial[] = "class Trial:\n"
                            "    def __getitem__(self, key): return key\n"
                            "def exact(number): return number\n"
                            "def default(number, other=0): return number\n"
                            "def calls(trial):\n"
                            "    for n in range(20): default(exact(trial[n]))\n"
                            "def warm(trial):\n"
                            "    for n in range(20): calls(trial)\n"
                            "trial = Trial()\n"
                            "warm(trial)\n";
enum { TRIAL_CALLS = 1 + 3 * 20 };

static bool all_frames_are_counted(PyInterpreterState *interpreter)
{
    PyObject *names = PyDict_New();
    PyObject *done = names != NULL && PyDict_SetItemString(names, "__builtins__",
                                                           PyEval_GetBuiltins()) == 0
                         ? PyRun_String(trial, Py_file_input, names, names)
                         : NULL;
    PyObject *function = done != NULL ? PyDict_GetItemString(names, "calls") : NULL;
    Py_XDECREF(done);
    if (function != NULL) {
        counted = 0;
        set_evaluator(interpreter, count);
        done = PyObject_CallOneArg(function, PyDict_GetItemString(names, "trial"));
        set_evaluator(interpreter, NULL);
        Py_XDECREF(done);
    }
    bool all = function != NULL && done != NULL && counted == TRIAL_CALLS;
    Py_XDECREF(names);
    PyErr_Clear();
    return all;
}

static bool is_available;

/* Once, when the module is made: whether this interpreter evaluates no frame past the function. */
void evaluation_try(void)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    is_available = evaluator(interpreter) == NULL && all_frames_are_counted(interpreter);
}

bool hook_start(void)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    if (!is_available || (evaluator(interpreter) != NULL && evaluator(interpreter) != evaluate)) {
        return profile_start();
    }
    set_evaluator(interpreter, evaluate);
    return true;
}

void hook_stop(void)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    if (evaluator(interpreter) == evaluate) {
        set_evaluator(interpreter, NULL);
    }
    profile_stop();
}

#endif
