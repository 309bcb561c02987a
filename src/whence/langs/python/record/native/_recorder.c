/* What Python sees: `_recorder`, a thin layer under native_backend.py. */
#include "activations.h"

#include <signal.h>
#include <unistd.h>

static bool watching;

static void unwatch(void)
{
    if (!watching) {
        return;
    }
    watching = false;
    restore_all();
    hook_stop();
    generators_watch(false);
    globals_watch(false);
    type_watch(false);
}

static bool watch(void)
{
    watching = true;
    type_watch(true);
    recorder.on = true;
    if (threads_watch() && globals_watch(true) && this_thread() != NULL && generators_watch(true) &&
        hook_start()) {
        interpose_all();
        return true;
    }
    recorder.on = false;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    unwatch();
    PyErr_Restore(type, value, traceback);
    if (!PyErr_Occurred()) {
        PyErr_SetString(PyExc_RuntimeError, "the recorder cannot start");
    }
    return false;
}

static int read_bound(PyObject *tuple, void *bound)
{
    Bound *b = bound;
    if (!PyArg_ParseTuple(tuple, "iiiii;a bound is five numbers", &b->depth, &b->width,
                          &b->attributes, &b->text, &b->budget)) {
        return 0;
    }
    if (b->depth < 0 || b->depth > MAX_DEPTH || b->width < 0 || b->attributes < 0 || b->text < 0 ||
        b->budget < 1 || b->text > 1 << 20 || b->budget > 1 << 20) {
        PyErr_SetString(PyExc_ValueError, "a bound is out of range");
        return 0;
    }
    return 1;
}

static PyObject *start(PyObject *Py_UNUSED(module), PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"descriptor",  "detail",    "bound",     "first_bound",
                            "global_bound", "whole_bound", "whole_calls", "first_calls",
                            "early_calls",
                            "max_calls",    "max_bytes",   "max_depth",   "window",      "describe",
                            "summaries",    "tail",        "secrets",     NULL};
    Recorder fresh = {.next_call = 1, .next_thread = 0, .collect_at = NEVER,
                      .stop_calls = NEVER, .stop_depth = NEVER, .freeze_at = NEVER,
                      .checkpoint_at = NEVER, .process = getpid(), .page = recorder.page,
                      .tables = recorder.tables};
    int detail;
    TailFile tail;
    unsigned long long first_calls, early_calls, max_calls, max_bytes, max_depth, first_whole, last_whole;
    unsigned long long wanted, budget;
    PyObject *bound, *first_bound, *global_bound, *whole_bound, *salt, *patterns;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "iiO!O!O!O!(KK)KKKKK(KK)OO(siK)(SO!)", names,
                                     &fresh.descriptor, &detail, &PyTuple_Type, &bound,
                                     &PyTuple_Type, &first_bound, &PyTuple_Type, &global_bound,
                                     &PyTuple_Type, &whole_bound, &first_whole, &last_whole,
                                     &first_calls, &early_calls, &max_calls, &max_bytes, &max_depth,
                                     &wanted, &budget, &fresh.describe, &fresh.summaries, &tail.path,
                                     &tail.descriptor, &tail.check, &salt, &PyTuple_Type,
                                     &patterns)) {
        return NULL;
    }
    if (watching) {
        PyErr_SetString(PyExc_RuntimeError, "a recording is running already");
        return NULL;
    }
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
        PyErr_SetString(PyExc_RuntimeError, "only the main interpreter is recorded");
        return NULL;
    }
    if (!read_bound(bound, &fresh.bounds[BOUND_USUAL]) ||
        !read_bound(first_bound, &fresh.bounds[BOUND_FIRST]) ||
        !read_bound(global_bound, &fresh.bounds[BOUND_GLOBAL]) ||
        !read_bound(whole_bound, &fresh.bounds[BOUND_WHOLE])) {
        return NULL;
    }
    fresh.detail = (enum detail)detail;
    fresh.first_calls = detail == DETAIL_FULL ? first_calls : 0;
    fresh.early_calls = fresh.early_outcomes = fresh.first_calls > 0 ? early_calls : 0;
    fresh.max_calls = max_calls;
    fresh.first_whole = first_whole;
    fresh.last_whole = last_whole;
    fresh.fast_calls_limit = max_calls;
    if (first_whole > 0 && first_whole - 1 < max_calls) {
        fresh.fast_calls_limit = first_whole - 1;
    }
    if (max_depth < UINT32_MAX || wanted != 0) {
        fresh.fast_calls_limit = 0; /* the fast path does not check the depth */
    }
    fresh.fast_calls = fresh.fast_calls_limit;
    fresh.fast_record = detail == DETAIL_IDS ? R_BARE_CALL : R_CALL;
    fresh.max_bytes = max_bytes;
    fresh.max_depth = max_depth;
    Py_INCREF(fresh.describe);
    Py_INCREF(fresh.summaries);
    PyObject *old_describe = recorder.describe, *old_summaries = recorder.summaries;
    recorder = fresh;
    Py_XDECREF(old_describe);
    Py_XDECREF(old_summaries);
    recording_generation++;
    if (!secrets_set(salt, patterns)) {
        return PyErr_NoMemory();
    }
    window_set(wanted, budget);
    code_reset();
    generators_reset();
    names_reset();
    types_reset();
    if (!page_reset(&tail)) {
        PyErr_SetString(PyExc_RuntimeError, "no memory, or no such file descriptor");
        return NULL;
    }
    if (!watch()) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* In a forked checkpoint: continues the recording in a new file, for another target. */
static PyObject *go_on(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    TailFile tail;
    unsigned long long wanted, budget, first_whole, last_whole;
    if (!PyArg_ParseTuple(arguments, "(KK)(KK)(siK)", &wanted, &budget, &first_whole, &last_whole,
                          &tail.path, &tail.descriptor, &tail.check)) {
        return NULL;
    }
    if (!page_move(&tail)) {
        PyErr_SetString(PyExc_RuntimeError, "no memory, or no such file descriptor");
        return NULL;
    }
    window_set(wanted, budget);
    recorder.first_whole = first_whole;
    recorder.last_whole = last_whole;
    recorder.process = getpid();
    recorder.on = true;
    Py_RETURN_NONE;
}

static PyObject *checkpoints_from(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *due;
    double seconds;
    if (!PyArg_ParseTuple(arguments, "Od", &due, &seconds)) {
        return NULL;
    }
    checkpoints_set(due, seconds);
    Py_RETURN_NONE;
}

static PyObject *fork_sleeper(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return PyLong_FromLong(checkpoint_fork());
}

static PyObject *fork_worker(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return PyLong_FromLong(checkpoint_wake());
}

static PyObject *settle(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    checkpoint_settle();
    Py_RETURN_NONE;
}

static PyObject *sleep_until(PyObject *Py_UNUSED(module), PyObject *descriptor)
{
    int number = (int)PyLong_AsLong(descriptor);
    if (PyErr_Occurred()) {
        return NULL;
    }
    checkpoint_sleep(number);
    Py_RETURN_NONE;
}

static PyObject *send_descriptor(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    int control, descriptor;
    const char *message;
    Py_ssize_t length;
    if (!PyArg_ParseTuple(arguments, "iy#i", &control, &message, &length, &descriptor)) {
        return NULL;
    }
    return PyBool_FromLong(checkpoint_send(control, message, (size_t)length, descriptor));
}

/* Ends the recording and writes the records in memory. The tables are kept for `end`. */
static PyObject *stop(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    recorder.on = false;
    unwatch();
    generators_reset();
    if (recorder.process == getpid()) {
        write_last_skipped();
        page_flush();
    }
    Py_RETURN_NONE;
}

static PyObject *end(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    int how;
    PyObject *value;
    if (!PyArg_ParseTuple(arguments, "iO", &how, &value)) {
        return NULL;
    }
    if (recorder.process == getpid()) {
        write_end(how, value);
        page_flush();
        tail_close();
    }
    Py_RETURN_NONE;
}

static PyObject *note(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    const char *text;
    Py_ssize_t count;
    if (!PyArg_ParseTuple(arguments, "s#", &text, &count)) {
        return NULL;
    }
    if (recorder.process == getpid()) {
        write_note(text, (size_t)count);
        if (!recorder.on) {
            page_flush();
        }
    }
    Py_RETURN_NONE;
}

static PyObject *flush(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    page_flush();
    Py_RETURN_NONE;
}

static PyObject *state(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return Py_BuildValue("{s:O,s:K,s:K,s:K,s:K,s:K,s:i}", "on", recorder.on ? Py_True : Py_False, "calls",
                         (unsigned long long)recorder.next_call - 1, "skipped",
                         (unsigned long long)recorder.skipped_calls, "texts",
                         (unsigned long long)recorder.texts, "garbage",
                         (unsigned long long)recorder.calls_of_garbage, "bytes",
                         (unsigned long long)recorder.bytes_written, "problem", recorder.problem);
}

static PyObject *here(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return PyLong_FromUnsignedLongLong(running_call());
}

static PyObject *collect_at_calls(PyObject *Py_UNUSED(module), PyObject *function)
{
    collect_by_number(function);
    Py_RETURN_NONE;
}

static PyObject *report_calls(PyObject *Py_UNUSED(module), PyObject *path)
{
    const char *name = PyUnicode_AsUTF8(path);
    return name != NULL ? PyBool_FromLong(report_collections_to(name)) : NULL;
}

static PyObject *set_window_hooks(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *entered, *over;
    if (!PyArg_ParseTuple(arguments, "OO", &entered, &over)) {
        return NULL;
    }
    window_set_hooks(entered, over);
    Py_RETURN_NONE;
}

static PyObject *next_window(PyObject *Py_UNUSED(module), PyObject *wanted)
{
    unsigned long long number = PyLong_AsUnsignedLongLong(wanted);
    if (PyErr_Occurred()) {
        return NULL;
    }
    window_next(number);
    Py_RETURN_NONE;
}

static PyObject *freeze(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *ordinals, *entered, *left;
    if (!PyArg_ParseTuple(arguments, "O!OO", &PyTuple_Type, &ordinals, &entered, &left) ||
        !freezing_set(ordinals, entered, left)) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *references(PyObject *Py_UNUSED(module), PyObject *objects)
{
    if (!PyTuple_CheckExact(objects)) {
        PyErr_SetString(PyExc_TypeError, "objects are given as a tuple");
        return NULL;
    }
    return PyLong_FromUnsignedLongLong(references_of(objects));
}

static PyObject *limits(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    unsigned long long calls, depth;
    PyObject *function;
    if (!PyArg_ParseTuple(arguments, "KKO", &calls, &depth, &function)) {
        return NULL;
    }
    limits_set(calls, depth, function);
    Py_RETURN_NONE;
}

static PyObject *on_hard_exit(PyObject *Py_UNUSED(module), PyObject *function)
{
    call_on_hard_exit(function);
    Py_RETURN_NONE;
}

static PyObject *processes(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    const char *path, *name, *announcement, *folder;
    int child;
    if (!PyArg_ParseTuple(arguments, "sspss", &path, &name, &child, &announcement, &folder)) {
        return NULL;
    }
    return PyBool_FromLong(report_processes_to(path, name, child != 0) &&
                           announce_to_children(announcement, folder));
}

/* The limit of recursion in C: that of a new thread. It is stored nowhere else, and differs between
 * bug-fix releases. */
static int c_recursion_limit(PyThreadState *tstate)
{
    PyThreadState *fresh = PyThreadState_New(PyThreadState_GetInterpreter(tstate));
    if (fresh == NULL) {
        return c_recursion_left(tstate);
    }
    int limit = c_recursion_left(fresh);
    PyThreadState_Clear(fresh);
    PyThreadState_Delete(fresh);
    return limit;
}

/* The handler of SIGINT once the program's main code has ended; `late` is a `LateInterrupts`. In C,
 * so that a traceback of what it passes on to the program's handler shows no code of ours. */
static PyObject *handle_late(PyObject *late, PyObject *arguments)
{
    static bool deciding;
    PyObject *number = NULL, *frame = NULL;
    if (deciding || !PyArg_ParseTuple(arguments, "OO", &number, &frame)) {
        return deciding ? Py_NewRef(Py_None) : NULL;
    }
    deciding = true;
    PyObject *handler = PyObject_CallMethod(late, "handler_of", "O", frame);
    deciding = false;
    if (handler == NULL || handler == Py_None) {
        return handler;
    }
    PyObject *result = PyObject_CallFunctionObjArgs(handler, number, frame, NULL);
    Py_DECREF(handler);
    return result;
}

static PyMethodDef late_handler = {"late_interrupt", handle_late, METH_VARARGS, NULL};

/* Gives SIGINT to a `LateInterrupts`, and keeps an exception that is being raised. No Python code
 * of ours runs here, so nothing of ours can be interrupted: an interrupt that is pending is handled
 * by the program's handler inside `signal`, which then fails, and is called again. */
static void take_interrupts(PyObject *late)
{
    enum { TRIES = 1000 };
    SavedException saved = save_exception();
    PyObject *name = PyUnicode_FromString("_signal");
    PyObject *module = name == NULL ? NULL : PyImport_GetModule(name);
    PyObject *before =
        module == NULL ? NULL : PyObject_CallMethod(module, "getsignal", "i", SIGINT);
    PyObject *handler = PyCFunction_New(&late_handler, late);
    if (handler != NULL && before != NULL && PyCallable_Check(before) &&
        PyObject_SetAttrString(late, "program_handler", before) == 0) {
        PyObject *done = NULL;
        for (int tries = 0; done == NULL && tries < TRIES; tries++) {
            PyErr_Clear();
            done = PyObject_CallMethod(module, "signal", "iO", SIGINT, handler);
        }
        Py_XDECREF(done);
    }
    PyErr_Clear();
    Py_XDECREF(handler);
    Py_XDECREF(before);
    Py_XDECREF(module);
    Py_XDECREF(name);
    restore_exception(&saved);
}

/* Calls a function with no frame below it, as at the start of a thread: code that walks the stack
 * finds only the program's frames, and the recursion limits are the program's alone. From its end
 * on the first argument, a `LateInterrupts`, handles SIGINT; None: nothing changes. */
static PyObject *at_bottom(PyObject *Py_UNUSED(module), PyObject *const *arguments,
                           Py_ssize_t count)
{
    if (count < 2) {
        PyErr_SetString(PyExc_TypeError, "there is nothing to call");
        return NULL;
    }
    PyThreadState *tstate = PyThreadState_Get();
    int c_limit = c_recursion_limit(tstate);
    Recursion used = used_recursion(tstate, c_limit);
    Frame *ours = current_frame(tstate);
    set_current_frame(tstate, NULL);
    /* The interpreter starts a script without calling `exec`, which counts. */
    set_used_recursion(tstate, c_limit, no_recursion_but(PyCFunction_Check(arguments[1])));
    PyObject *result = PyObject_Vectorcall(arguments[1], arguments + 2, (size_t)(count - 2), NULL);
    if (arguments[0] != Py_None) {
        take_interrupts(arguments[0]);
    }
    set_used_recursion(tstate, c_limit, used);
    set_current_frame(tstate, ours);
    return result;
}

static PyObject *loop_positions(PyObject *Py_UNUSED(module), PyObject *generator)
{
    PyObject *positions = PyList_New(0);
    if (positions == NULL || !is_generator(generator) || !may_count_itself(generator)) {
        return positions;
    }
    const Frame *frame = generator_frame(generator);
    for (int from_top = (int)frame_stack_depth(frame); from_top > 0; from_top--) {
        Py_ssize_t position = 0;
        if (stacked_position(frame, from_top, &position)) {
            PyObject *number = PyLong_FromSsize_t(position);
            if (number == NULL || PyList_Append(positions, number) < 0) {
                Py_XDECREF(number);
                Py_DECREF(positions);
                return NULL;
            }
            Py_DECREF(number);
        }
    }
    return positions;
}

static PyMethodDef methods[] = {
    {"start", (PyCFunction)(void (*)(void))start, METH_VARARGS | METH_KEYWORDS,
     "Record this process from here on."},
    {"stop", stop, METH_NOARGS, "Record no further, and write what is left in memory."},
    {"end", end, METH_VARARGS, "end(how, value): write the END record."},
    {"note", note, METH_VARARGS, "note(text): write a NOTE record."},
    {"flush", flush, METH_NOARGS, "Write the records that are in memory."},
    {"state", state, METH_NOARGS, "How much was recorded, and what went wrong."},
    {"at_bottom", (PyCFunction)(void (*)(void))at_bottom, METH_FASTCALL,
     "at_bottom(late_interrupts, function, *arguments): call it with no frame below; from its end on "
     "interrupts are late ones."},
    {"here", here, METH_NOARGS, "The number of the call that runs in this thread."},
    {"collect_by_number", collect_at_calls, METH_O,
     "collect_by_number(gc.collect): collect garbage at fixed numbers of calls."},
    {"report_calls", report_calls, METH_O,
     "report_calls(path): write the number of calls there at each collection of garbage."},
    {"set_window_hooks", set_window_hooks, METH_VARARGS,
     "set_window_hooks(on_enter, on_end): after `start`; called when the target begins and ended."},
    {"next_window", next_window, METH_O,
     "next_window(number): set the next target call, when the current one begins."},
    {"freeze", freeze, METH_VARARGS,
     "freeze(ordinals, on_enter, on_exit): after `start`; on_enter(ordinal, whether the call can be "
     "replaced) returns (value, calls) to replace the call, or True to get "
     "on_exit(value, whether it returned) at its end."},
    {"references", references, METH_O,
     "references(objects): a number that changes whenever one of them refers to another object."},
    {"loop_positions", loop_positions, METH_O,
     "loop_positions(generator): how far its loops over lists and tuples are, the outermost first."},
    {"go_on", go_on, METH_VARARGS,
     "go_on(window, whole_calls, tail): in a forked checkpoint, whose descriptor is a new file."},
    {"checkpoints", checkpoints_from, METH_VARARGS,
     "checkpoints(due, seconds): call `due` after so many seconds; it returns the next delay."},
    {"fork_sleeper", fork_sleeper, METH_NOARGS,
     "Fork a copy that is not a child: 0 in it, 1 here, -1 on failure."},
    {"fork_worker", fork_worker, METH_NOARGS, "A child that ends with this process; as fork."},
    {"settle", settle, METH_NOARGS, "Block signals, and adopt orphaned processes."},
    {"sleep", sleep_until, METH_O, "sleep(descriptor): until it is readable."},
    {"send_descriptor", send_descriptor, METH_VARARGS,
     "send_descriptor(socket, message, descriptor): whether it was sent."},
    {"limits", limits, METH_VARARGS,
     "limits(calls, depth, function): call it with the name of the limit that is exceeded."},
    {"on_hard_exit", on_hard_exit, METH_O,
     "on_hard_exit(function): call it before os._exit, if the program has one thread."},
    {"processes", processes, METH_VARARGS,
     "processes(path, name, child, announcement, folder): from the next start on, list there which "
     "call started which process, and give each Python the announcement and the folder."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_recorder", "The recorder in C; see native_backend.py.", -1, methods,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__recorder(void)
{
    const char *problem = layout_problem();
    if (problem != NULL) {
        PyErr_Format(PyExc_ImportError, "the C recorder refuses: %s", problem);
        return NULL;
    }
    PyObject *module = PyModule_Create(&definition);
#if !HAS_MONITORING
    evaluation_try();
#endif
    if (module != NULL && PyModule_AddStringConstant(module, "HOOK", hook_name) < 0) {
        Py_CLEAR(module);
    }
    return module;
}
