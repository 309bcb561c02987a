/* The events of sys.monitoring: Python 3.12 and later.
 *
 * PY_START is heard of all code until its first start tells that it is not the user's; the code of
 * the user gets events of its own for the rest. PY_UNWIND and PY_THROW can be had for all code
 * only up to 3.14, where a callback of theirs must never return DISABLE: that would raise into the
 * program. They are taken for all code in later versions too.
 * None is immortal: it is returned without counting. */
#include "fast_path.h"

#if HAS_MONITORING

enum {
    PY_START = 1 << 0, PY_RESUME = 1 << 1, PY_RETURN = 1 << 2, PY_YIELD = 1 << 3,
    FIRST_TOOL = 3, LAST_TOOL = 4,
};

const char *const hook_name = "monitoring";

static PyObject *monitoring, *disable, *set_local_events;
static PyObject *tool, *local_events;

static inline Frame *running_frame(void) { return current_frame(this_thread_state()); }

static void listen_to(CodeEntry *code, Thread *thread)
{
    code->local_events = true;
    OwnCode own = own_code_begin(thread);
    PyObject *arguments[] = {tool, (PyObject *)code->code, local_events};
    PyObject *done = PyObject_Vectorcall(set_local_events, arguments, 3, NULL);
    Py_XDECREF(done);
    own_code_end(&own);
}

static PyObject *on_start(PyObject *Py_UNUSED(self), PyObject *const *arguments,
                          size_t Py_UNUSED(count), PyObject *Py_UNUSED(names))
{
    Thread *thread = recorded_thread();
    if (unlikely(thread == NULL)) {
        return Py_None;
    }
    Frame *frame = running_frame();
    CodeEntry *code = code_entry((PyCodeObject *)arguments[0], frame_globals(frame), thread);
    if (unlikely(code == NULL || !code->user)) {
        return Py_NewRef(disable);
    }
    if (unlikely(!code->local_events)) {
        listen_to(code, thread);
    }
    call_started(thread, frame, code);
    return Py_None;
}

static PyObject *on_resume(PyObject *Py_UNUSED(self), PyObject *const *arguments,
                           size_t Py_UNUSED(count), PyObject *Py_UNUSED(names))
{
    Thread *thread = recorded_thread();
    if (likely(thread != NULL)) {
        Frame *frame = running_frame();
        CodeEntry *code = code_entry((PyCodeObject *)arguments[0], frame_globals(frame), thread);
        if (code != NULL && code->user && owned_by_generator(frame)) {
            call_resumed(thread, frame, code, NULL);
        }
    }
    return Py_None;
}

static PyObject *on_throw(PyObject *Py_UNUSED(self), PyObject *const *arguments,
                          size_t Py_UNUSED(count), PyObject *Py_UNUSED(names))
{
    Thread *thread = recorded_thread();
    if (likely(thread != NULL)) {
        Frame *frame = running_frame();
        CodeEntry *code = code_entry((PyCodeObject *)arguments[0], frame_globals(frame), thread);
        bool runs = thread->count > 0 && thread->stack[thread->count - 1].frame == frame;
        if (code != NULL && code->user && owned_by_generator(frame) && !runs) {
            call_resumed(thread, frame, code, arguments[2]);
        }
    }
    return Py_None;
}

static PyObject *on_return(PyObject *Py_UNUSED(self), PyObject *const *arguments,
                           size_t Py_UNUSED(count), PyObject *Py_UNUSED(names))
{
    Thread *thread = recorded_thread();
    if (likely(thread != NULL)) {
        call_returned(thread, running_frame(), arguments[2]);
    }
    return Py_None;
}

static PyObject *on_yield(PyObject *Py_UNUSED(self), PyObject *const *arguments,
                          size_t Py_UNUSED(count), PyObject *Py_UNUSED(names))
{
    Thread *thread = recorded_thread();
    if (likely(thread != NULL)) {
        call_yielded(thread, running_frame(), arguments[2]);
    }
    return Py_None;
}

static PyObject *on_unwind(PyObject *Py_UNUSED(self), PyObject *const *arguments,
                           size_t Py_UNUSED(count), PyObject *Py_UNUSED(names))
{
    Thread *thread = recorded_thread();
    if (likely(thread != NULL) && thread->count > 0) {
        PyObject *exception = arguments[2];
        call_raised(thread, running_frame(), exception,
                    ((PyBaseExceptionObject *)exception)->traceback);
    }
    return Py_None;
}

/* A callable of our own: on the way to a builtin function the interpreter would count recursion, so
 * that an event near the limit could fail. */
typedef struct {
    PyObject_HEAD
    vectorcallfunc function;
} Callback;

static PyTypeObject callback_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "whence.langs.python.record._recorder.callback",
    .tp_basicsize = sizeof(Callback),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(Callback, function),
    .tp_call = PyVectorcall_Call,
};

static const struct {
    const char *event;
    vectorcallfunc function;
} callbacks[] = {
    {"PY_START", on_start}, {"PY_RESUME", on_resume}, {"PY_RETURN", on_return},
    {"PY_YIELD", on_yield}, {"PY_THROW", on_throw},   {"PY_UNWIND", on_unwind},
};

enum { CALLBACKS = sizeof callbacks / sizeof callbacks[0] };

static bool take_tool(void)
{
    for (long id = FIRST_TOOL; id <= LAST_TOOL; id++) {
        PyObject *done = PyObject_CallMethod(monitoring, "use_tool_id", "ls", id, "whence");
        if (done != NULL) {
            Py_DECREF(done);
            tool = PyLong_FromLong(id);
            return tool != NULL;
        }
        if (!PyErr_ExceptionMatches(PyExc_ValueError)) {
            return false;
        }
        PyErr_Clear();
    }
    PyErr_SetString(PyExc_RuntimeError, "the tool numbers 3 and 4 of sys.monitoring are taken");
    return false;
}

static bool call(const char *name, PyObject *first, PyObject *second, PyObject *third)
{
    PyObject *method = PyUnicode_FromString(name);
    PyObject *done = method == NULL ? NULL
                                    : PyObject_CallMethodObjArgs(monitoring, method, first, second,
                                                                 third, NULL);
    Py_XDECREF(method);
    Py_XDECREF(done);
    return done != NULL;
}

static PyObject *callback_new(vectorcallfunc function)
{
    Callback *callback =
        PyType_Ready(&callback_type) == 0 ? PyObject_New(Callback, &callback_type) : NULL;
    if (callback != NULL) {
        callback->function = function;
    }
    return (PyObject *)callback;
}

/* Registers our callback, or takes it back, and returns the event's bit (0 with an error set). */
static long set_callback(int which, bool on)
{
    PyObject *events = PyObject_GetAttrString(monitoring, "events");
    PyObject *event =
        events != NULL ? PyObject_GetAttrString(events, callbacks[which].event) : NULL;
    PyObject *function = event == NULL ? NULL
                         : on          ? callback_new(callbacks[which].function)
                                       : Py_NewRef(Py_None);
    long bit = 0;
    if (function != NULL && call("register_callback", tool, event, function)) {
        bit = PyLong_AsLong(event);
    }
    Py_XDECREF(events);
    Py_XDECREF(event);
    Py_XDECREF(function);
    return bit;
}

static bool set_events(long events)
{
    PyObject *number = PyLong_FromLong(events);
    bool done = number != NULL && call("set_events", tool, number, NULL);
    Py_XDECREF(number);
    return done;
}

bool hook_start(void)
{
    Py_XSETREF(monitoring, PySys_GetObject("monitoring"));
    Py_XINCREF(monitoring);
    if (monitoring == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "there is no sys.monitoring");
        return false;
    }
    Py_XSETREF(disable, PyObject_GetAttrString(monitoring, "DISABLE"));
    Py_XSETREF(set_local_events, PyObject_GetAttrString(monitoring, "set_local_events"));
    Py_XSETREF(local_events, PyLong_FromLong(PY_START | PY_RESUME | PY_RETURN | PY_YIELD));
    if (disable == NULL || set_local_events == NULL || local_events == NULL || !take_tool()) {
        return false;
    }
    long all = 0;
    for (int i = 0; i < CALLBACKS; i++) {
        long bit = set_callback(i, true);
        if (bit == 0) {
            return false;
        }
        const char *name = callbacks[i].event;
        bool everywhere = strcmp(name, "PY_START") == 0 || strcmp(name, "PY_THROW") == 0 ||
                          strcmp(name, "PY_UNWIND") == 0;
        all |= everywhere ? bit : 0;
    }
    /* What an earlier recording switched off, because it was not user code then, would stay so. */
    return set_events(all) && call("restart_events", NULL, NULL, NULL);
}

void hook_stop(void)
{
    if (tool == NULL) {
        return;
    }
    PyObject *none = PyLong_FromLong(0);
    set_events(0);
    for (size_t i = 0; none != NULL && code_map.keys != NULL && i <= code_map.mask; i++) {
        CodeEntry *code = code_map.keys[i] != NULL ? code_map.values[i] : NULL;
        if (code != NULL && code->local_events) {
            call("set_local_events", tool, (PyObject *)code->code, none);
            code->local_events = false;
        }
    }
    for (int i = 0; i < CALLBACKS; i++) {
        set_callback(i, false);
    }
    call("free_tool_id", tool, NULL, NULL);
    PyErr_Clear();
    Py_XDECREF(none);
    Py_CLEAR(tool);
}

#endif
