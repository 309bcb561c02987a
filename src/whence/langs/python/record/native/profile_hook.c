/* The events of the profile hook: Python 3.11, where frames cannot be evaluated by us (frame_evaluation.c).
 *
 * The hook is set in C with no object, so that sys.getprofile() says None beside it. A thread's
 * hook can be set once its state exists: the starter's next event sees that there are new ones.
 * A program that sets a profile function of its own replaces ours in that thread, and wins.
 *
 * The hook is told that a frame was left by an exception, but not by which one: the interpreter
 * takes it aside for the time of the event, into variables of its own function that are still on
 * the C stack. They are looked for there, and believed only if the traceback beside them is the
 * one that was just made for this very frame. */
#include "fast_path.h"

#if !HAS_MONITORING

#if defined(__linux__)
#include <sys/uio.h>
#include <unistd.h>
#elif defined(__APPLE__)
#include <mach/mach.h>
#endif

static PyThreadState *newest; /* the head of the list of threads when it was last looked at */

static int on_event(PyObject *object, PyFrameObject *frame, int what, PyObject *argument);

/* Called by the starter right after it started a thread, and by all others now and then. */
static void hook_new_threads(void)
{
    PyThreadState *head = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    if (likely(head == newest)) {
        return;
    }
    newest = head;
    for (PyThreadState *tstate = head; tstate != NULL; tstate = PyThreadState_Next(tstate)) {
        /* One that has run already and has no hook was set free of it by the program. */
        if (profile_function(tstate) == NULL && current_frame(tstate) == NULL) {
            set_profile_function(tstate, on_event, true);
        }
    }
}

/* What defines the two builtin functions whose calls matter. */
static const PyMethodDef *set_profile, *starts_thread;

/* Looked for where the module was made, whatever the program has put in its place. */
static const PyMethodDef *definition_of(const char *module_name, const char *name)
{
    PyObject *module = PyImport_ImportModule(module_name);
    PyModuleDef *made = module != NULL ? PyModule_GetDef(module) : NULL;
    const PyMethodDef *method = made != NULL ? made->m_methods : NULL;
    while (method != NULL && method->ml_name != NULL && strcmp(method->ml_name, name) != 0) {
        method++;
    }
    Py_XDECREF(module);
    return method != NULL && method->ml_name != NULL ? method : NULL;
}

static inline bool is_builtin(PyObject *function, const PyMethodDef *definition)
{
    return PyCFunction_CheckExact(function) &&
           ((PyCFunctionObject *)function)->m_ml == definition;
}

/* ---- the exception in flight ---- */

enum { STACK_WORDS = 48 };

typedef struct {
    PyObject *type, *value, *traceback;
} Raised;

/* Reads memory that may not be there. */
static bool read_word(const void *address, uintptr_t *word)
{
#if defined(__linux__)
    struct iovec local = {word, sizeof *word};
    struct iovec remote = {(void *)(uintptr_t)address, sizeof *word};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)sizeof *word;
#elif defined(__APPLE__)
    vm_size_t count = 0;
    return vm_read_overwrite(mach_task_self(), (vm_address_t)address, sizeof *word,
                             (vm_address_t)word, &count) == KERN_SUCCESS &&
           count == sizeof *word;
#else
    (void)address, (void)word;
    return false; /* then it is not known which exception left the frame */
#endif
}

static bool is_traceback_of(uintptr_t word, const PyFrameObject *frame)
{
    uintptr_t type, its_frame;
    return word != 0 && word % sizeof(void *) == 0 &&
           read_word((char *)word + offsetof(PyObject, ob_type), &type) &&
           type == (uintptr_t)&PyTraceBack_Type &&
           read_word((char *)word + offsetof(PyTracebackObject, tb_frame), &its_frame) &&
           its_frame == (uintptr_t)frame;
}

static bool is_exception_class(uintptr_t word)
{
    uintptr_t type, meta;
    return word != 0 && word % sizeof(void *) == 0 &&
           read_word((char *)word + offsetof(PyObject, ob_type), &type) &&
           type % sizeof(void *) == 0 &&
           read_word((char *)type + offsetof(PyObject, ob_type), &meta) &&
           (type == (uintptr_t)&PyType_Type || meta == (uintptr_t)&PyType_Type) &&
           PyExceptionClass_Check((PyObject *)word);
}

/* Looks through the caller's variables, given where they begin. The interpreter's function has
 * type, value and traceback side by side, in either order. Where they stand is the same each time,
 * so that after the first time nothing needs to be read with care. */
__attribute__((no_sanitize_address)) static bool find_raised(const uintptr_t *words,
                                                             const PyFrameObject *frame,
                                                             Raised *raised)
{
    static int found = -1, direction;
    if (found >= 0) {
        const uintptr_t *at = words + found;
        *raised = (Raised){(PyObject *)at[-2 * direction], (PyObject *)at[-direction],
                           (PyObject *)at[0]};
        return raised->type != NULL && raised->traceback != NULL &&
               PyTraceBack_Check(raised->traceback) &&
               ((PyTracebackObject *)raised->traceback)->tb_frame == frame;
    }
    for (int i = 2; i < STACK_WORDS - 2; i++) {
        if (!is_traceback_of(words[i], frame)) {
            continue;
        }
        for (direction = -1; direction <= 1; direction += 2) {
            if (is_exception_class(words[i - 2 * direction])) {
                found = i;
                return find_raised(words, frame, raised);
            }
        }
    }
    return false;
}

static void on_unwind(Thread *thread, Frame *frame, const uintptr_t *words, PyFrameObject *object)
{
    Raised raised;
    if (thread->count == 0 || recorder.detail == DETAIL_IDS ||
        !find_raised(words, object, &raised)) {
        call_raised(thread, frame, NULL, NULL);
        return;
    }
    thread->pending_class = pending_exception_class(raised.type, raised.value);
    call_raised(thread, frame, raised.value, raised.traceback);
    thread->pending_class = NULL;
}

static void on_return(Thread *thread, Frame *frame, CodeEntry *code, PyObject *value)
{
    if (code->is_generator && owned_by_generator(frame) && is_suspended(frame)) {
        call_yielded(thread, frame, value);
    }
    else {
        call_returned(thread, frame, value);
    }
}

static void on_call(Thread *thread, Frame *frame, CodeEntry *code)
{
    if (code->is_generator && owned_by_generator(frame)) {
        thread->thrown_into = is_thrown_into(frame);
        call_resumed(thread, frame, code, NULL);
        thread->thrown_into = false;
    }
    else {
        call_started(thread, frame, code);
    }
}

static int resume_tracing(void *tstate)
{
    PyThreadState_LeaveTracing(tstate);
    return 0;
}

/* The program is about to set a profile function of its own. Without us the interpreter would not
 * be tracing now, so that the return of sys.setprofile would be no event of the new function. So
 * tracing rests until the interpreter next looks for pending calls, which is right after the call.
 * (It does so in the main thread only; in others the new function hears of one event more.) */
static void yield_profile_hook(void)
{
    PyThreadState *tstate = PyThreadState_Get();
    const char note[] = "the program replaced the profile function: calls of this thread from here "
                        "on were not recorded";
    write_note(note, sizeof note - 1);
    if (is_main_thread() &&
        Py_AddPendingCall(resume_tracing, tstate) == 0) {
        PyThreadState_EnterTracing(tstate);
    }
}

static int on_event(PyObject *Py_UNUSED(object), PyFrameObject *frame_object, int what,
                    PyObject *argument)
{
    bool builtin = what != PyTrace_CALL && what != PyTrace_RETURN;
    if (builtin && likely(what == PyTrace_C_EXCEPTION ||
                          !is_builtin(argument, what == PyTrace_C_CALL ? set_profile
                                                                       : starts_thread))) {
        return 0;
    }
    if (!recorder.on) {
        return 0;
    }
    Thread *thread = this_thread();
    if (thread == NULL || thread->suspended) {
        return 0;
    }
    if (builtin) {
        if (what == PyTrace_C_CALL) {
            yield_profile_hook();
        }
        else {
            hook_new_threads();
        }
        return 0;
    }
    hook_new_threads();
    Frame *frame = frame_of(frame_object);
    CodeEntry *code = code_entry(frame_code(frame), frame_globals(frame), thread);
    if (code == NULL || !code->user) {
        return 0;
    }
    if (what == PyTrace_CALL) {
        on_call(thread, frame, code);
    }
    else if (argument != NULL) {
        on_return(thread, frame, code, argument);
    }
    else {
        /* The caller's variables begin above the saved frame pointer and the return address. */
        const uintptr_t *words = (const uintptr_t *)__builtin_frame_address(0) + 2;
        on_unwind(thread, frame, words, frame_object);
    }
    return 0;
}

bool profile_start(void)
{
    PyThreadState *self = PyThreadState_Get();
    set_profile = definition_of("sys", "setprofile");
    starts_thread = definition_of("_thread", "start_new_thread");
    if (set_profile == NULL || starts_thread == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "the functions that start threads and profilers are "
                                            "not where this version of Python has them");
        return false;
    }
    if (profile_function(self) != NULL) {
        PyErr_SetString(PyExc_RuntimeError, "the program has set a profile function already");
        return false;
    }
    if (!creations_watch(true)) {
        return false;
    }
    newest = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    for (PyThreadState *tstate = newest; tstate != NULL; tstate = PyThreadState_Next(tstate)) {
        if (profile_function(tstate) == NULL) {
            set_profile_function(tstate, on_event, !is_tracing(tstate));
        }
    }
    return true;
}

void profile_stop(void)
{
    PyThreadState *self = PyThreadState_Get();
    PyThreadState *tstate = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    for (; tstate != NULL; tstate = PyThreadState_Next(tstate)) {
        if (profile_function(tstate) == on_event) {
            clear_profile_function(tstate);
        }
    }
    stop_tracing(self);
    creations_watch(false);
}

#endif
