/* Builtin functions of the interpreter that pass through the recorder while it is on.
 *
 * What they do is what no hook tells: a text is written to standard output, a process is started,
 * this one is about to end without a word. Of such a function only the address in its method
 * definition is exchanged, which the interpreter reads at each call; the function objects, their
 * types and whatever holds them stay what they are, so that a program cannot see it. Each passage
 * calls the original and gives its result; all are closed when the recording stops.
 *
 * A definition whose calling convention is not one of those known here is left alone. */
#include "recorder.h"

#ifndef WHENCE_UNSUPPORTED

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

typedef PyObject *(*Fast)(PyObject *, PyObject *const *, Py_ssize_t);
typedef PyObject *(*FastKeywords)(PyObject *, PyObject *const *, Py_ssize_t, PyObject *);

enum { FAST_KEYWORDS = METH_FASTCALL | METH_KEYWORDS };

/* Where it is told which process was started by which call: a line for each in a file that all
 * processes of a recording share. Empty: nobody asked. */
static char started_path[4096];
static char own_name[64];
/* A child may be killed as soon as its parent has what it waited for. So what was recorded is in
 * the file before anything is written to a pipe. */
static bool is_child;

bool passage_open(Passage *passage, PyObject *function, int flags, PyCFunction through)
{
    PyMethodDef *definition = NULL;
    if (function != NULL && PyCFunction_CheckExact(function)) {
        definition = ((PyCFunctionObject *)function)->m_ml;
    }
    else if (function != NULL && Py_TYPE(function) == &PyMethodDescr_Type) {
        definition = ((PyMethodDescrObject *)function)->d_method;
    }
    if (definition == NULL || definition->ml_flags != flags || passage->definition != NULL) {
        return false;
    }
    passage->definition = definition;
    passage->original = definition->ml_meth;
    definition->ml_meth = through;
    return true;
}

void passage_close(Passage *passage)
{
    if (passage->definition != NULL) {
        passage->definition->ml_meth = passage->original;
        passage->definition = NULL;
    }
}

bool passage_is_watched(void)
{
    return recorder.on && recorder.process == getpid() &&
           PyInterpreterState_Get() == PyInterpreterState_Main();
}

/* ---- the call that runs now ---- */

uint64_t running_call(void)
{
    Thread *thread = this_thread();
    return thread == NULL ? 0 : thread_top_now(thread).call;
}

/* ---- processes that are started ---- */

/* The conventions that `_posixsubprocess.fork_exec` had; the last one is also os.posix_spawn's. */
static Passage fork_plain, fork_fast, spawn, spawn_by_path;

typedef struct {
    uint64_t call;
    struct timespec time;
} Start;

static Start start_now(void)
{
    Start start = {0, {0, 0}};
    if (passage_is_watched()) {
        start.call = running_call();
        clock_gettime(CLOCK_REALTIME, &start.time);
    }
    return start;
}

static PyObject *process_started(Start start, PyObject *process)
{
    if (process == NULL || start.time.tv_sec == 0 || !PyLong_CheckExact(process)) {
        return process;
    }
    int saved_errno = errno;
    char line[160];
    int count = snprintf(line, sizeof line, "%ld %llu %lld%09ld %s\n", PyLong_AsLong(process),
                         (unsigned long long)start.call, (long long)start.time.tv_sec,
                         start.time.tv_nsec, own_name);
    int file = open(started_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (file >= 0) {
        if (write(file, line, (size_t)count) != count) {
            /* Then it is not known which call started the process, and the reader says so. */
        }
        close(file);
    }
    errno = saved_errno;
    return process;
}

static PyObject *through_fork_plain(PyObject *module, PyObject *arguments)
{
    Start start = start_now();
    return process_started(start, fork_plain.original(module, arguments));
}

static PyObject *through_fork_fast(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    Start start = start_now();
    Fast original = (Fast)(void (*)(void))fork_fast.original;
    return process_started(start, original(module, arguments, count));
}

static PyObject *through_spawn(PyObject *module, PyObject *const *arguments, Py_ssize_t count,
                               PyObject *names)
{
    Start start = start_now();
    FastKeywords original = (FastKeywords)(void (*)(void))spawn.original;
    return process_started(start, original(module, arguments, count, names));
}

static PyObject *through_spawn_by_path(PyObject *module, PyObject *const *arguments,
                                       Py_ssize_t count, PyObject *names)
{
    Start start = start_now();
    FastKeywords original = (FastKeywords)(void (*)(void))spawn_by_path.original;
    return process_started(start, original(module, arguments, count, names));
}

/* ---- threads that are started ---- */

#if !PYTHON_312
static Passage start_thread;

/* Where no audit event tells of it. */
static PyObject *through_start_thread(PyObject *module, PyObject *arguments)
{
    if (passage_is_watched()) {
        thread_starts();
    }
    return start_thread.original(module, arguments);
}
#endif

/* ---- processes that end, or tell others something ---- */

static Passage hard_exit, pipe_write;

/* os._exit runs nothing at the end, so that what is in memory would be lost. */
static PyObject *through_exit(PyObject *module, PyObject *const *arguments, Py_ssize_t count,
                              PyObject *names)
{
    bool sound = count == 1 && names == NULL && PyLong_CheckExact(arguments[0]);
    int overflow = 0;
    if (sound) {
        long status = PyLong_AsLongAndOverflow(arguments[0], &overflow);
        sound = overflow == 0 && status >= INT_MIN && status <= INT_MAX;
    }
    if (passage_is_watched()) {
        if (sound) {
            recorder.on = false;
            write_run_skipped();
            write_end(END_BY_EXIT, arguments[0]);
        }
        page_flush();
        if (sound) {
            tail_close();
        }
    }
    return ((FastKeywords)(void (*)(void))hard_exit.original)(module, arguments, count, names);
}

static PyObject *through_write_bytes(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    if (recorder.page.length > 0 && passage_is_watched()) {
        page_flush();
    }
    return ((Fast)(void (*)(void))pipe_write.original)(module, arguments, count);
}

/* ---- all of them ---- */

static void open_function(Passage *passage, PyObject *module, const char *name, int flags,
                          void (*through)(void))
{
    PyObject *function = module == NULL ? NULL : PyObject_GetAttrString(module, name);
    passage_open(passage, function, flags, (PyCFunction)through);
    Py_XDECREF(function);
    PyErr_Clear();
}

#define FUNCTION(name) ((void (*)(void))(name))

void passages_open(void)
{
    PyObject *posix = PyImport_ImportModule("posix");
    open_function(&hard_exit, posix, "_exit", FAST_KEYWORDS, FUNCTION(through_exit));
    if (started_path[0] != '\0') {
        PyObject *module = PyImport_ImportModule("_posixsubprocess");
        open_function(&fork_plain, module, "fork_exec", METH_VARARGS, FUNCTION(through_fork_plain));
        open_function(&fork_fast, module, "fork_exec", METH_FASTCALL, FUNCTION(through_fork_fast));
        Py_XDECREF(module);
        open_function(&spawn, posix, "posix_spawn", FAST_KEYWORDS, FUNCTION(through_spawn));
        open_function(&spawn_by_path, posix, "posix_spawnp", FAST_KEYWORDS,
                      FUNCTION(through_spawn_by_path));
    }
#if !PYTHON_312
    PyObject *threads = PyImport_ImportModule("_thread");
    open_function(&start_thread, threads, "start_new_thread", METH_VARARGS,
                  FUNCTION(through_start_thread));
    Py_XDECREF(threads);
#endif
    if (is_child) {
        open_function(&pipe_write, posix, "write", METH_FASTCALL, FUNCTION(through_write_bytes));
    }
    Py_XDECREF(posix);
    output_watch(recorder.detail == DETAIL_FULL);
    PyErr_Clear();
}

void passages_close(void)
{
    Passage *every[] = {&fork_plain, &fork_fast, &spawn, &spawn_by_path, &hard_exit, &pipe_write};
    for (size_t i = 0; i < sizeof every / sizeof *every; i++) {
        passage_close(every[i]);
    }
#if !PYTHON_312
    passage_close(&start_thread);
#endif
    output_watch(false);
}

bool processes_told(const char *path, const char *name, bool child)
{
    if (strlen(path) >= sizeof started_path || strlen(name) >= sizeof own_name) {
        return false;
    }
    strcpy(started_path, path);
    strcpy(own_name, name);
    is_child = child;
    return true;
}

#else
typedef int not_empty;
#endif
