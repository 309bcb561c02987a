/* Interposed functions: builtin functions whose calls the recorder sees while it is on.
 *
 * No hook tells what they do: a text is written to standard output, a process is started, this one is
 * about to end at once. Only the address in such a function's method definition is exchanged, which
 * the interpreter reads at each call. The function objects, their types and whatever holds them stay
 * what they are, so that a program cannot see it. Each replacement calls the original and returns its
 * result; all are restored when the recording stops.
 *
 * A definition whose calling convention is not one of those known here is left alone. */
#include "activations.h"

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

bool interpose(Interposed *function, PyObject *object, int flags, PyCFunction replacement)
{
    PyMethodDef *definition = NULL;
    if (object != NULL && PyCFunction_CheckExact(object)) {
        definition = ((PyCFunctionObject *)object)->m_ml;
    }
    else if (object != NULL && Py_TYPE(object) == &PyMethodDescr_Type) {
        definition = ((PyMethodDescrObject *)object)->d_method;
    }
    if (definition == NULL || definition->ml_flags != flags || function->definition != NULL) {
        return false;
    }
    function->definition = definition;
    function->original = definition->ml_meth;
    definition->ml_meth = replacement;
    return true;
}

void restore_function(Interposed *function)
{
    if (function->definition != NULL) {
        function->definition->ml_meth = function->original;
        function->definition = NULL;
    }
}

bool is_recorded_here(void)
{
    return recorder.on && recorder.process == getpid() &&
           PyInterpreterState_Get() == PyInterpreterState_Main();
}

/* ---- the call that runs now ---- */

uint64_t running_call(void)
{
    Thread *thread = this_thread();
    return thread == NULL ? 0 : thread_top_synced(thread).call;
}

/* ---- processes that are started ---- */

/* The conventions that `_posixsubprocess.fork_exec` had; the last one is also os.posix_spawn's. */
static Interposed fork_plain, fork_fast, spawn, spawn_by_path;

typedef struct {
    uint64_t call;
    struct timespec time;
} Start;

static Start start_now(void)
{
    Start start = {0, {0, 0}};
    if (is_recorded_here()) {
        start.call = running_call();
        clock_gettime(CLOCK_REALTIME, &start.time);
    }
    return start;
}

static void write_start(Start start, long process)
{
    int saved_errno = errno;
    char line[160];
    int count = snprintf(line, sizeof line, "%ld %llu %lld%09ld %s\n", process,
                         (unsigned long long)start.call, (long long)start.time.tv_sec,
                         start.time.tv_nsec, own_name);
    int file = open(started_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (file >= 0) {
        if (write(file, line, (size_t)count) != count) {
            /* Then it is not known which call started the process, and the reader says so. */
        }
        close(file);
    }
    errno = saved_errno;
}

static PyObject *process_started(Start start, PyObject *process)
{
    if (process != NULL && start.time.tv_sec != 0 && PyLong_CheckExact(process)) {
        write_start(start, PyLong_AsLong(process));
    }
    return process;
}

/* The arguments of fork_exec: the files to execute, the environment. Those of posix_spawn and execve:
 * the file, the environment. */
enum { FORK_FILES = 1, FORK_ENVIRONMENT = 5, SPAWN_FILE = 0, SPAWN_ENVIRONMENT = 2, MOST_ARGUMENTS = 32 };

/* Calls the original with another environment in place of the argument with this number. */
static PyObject *with_environment(PyCFunction original, PyObject *module, PyObject *const *arguments,
                                  Py_ssize_t count, PyObject *names, bool has_names, Py_ssize_t number,
                                  PyObject *environment)
{
    PyObject *changed[MOST_ARGUMENTS];
    Py_ssize_t all = count + (names == NULL ? 0 : PyTuple_GET_SIZE(names));
    if (environment != NULL && all <= MOST_ARGUMENTS) {
        memcpy(changed, arguments, (size_t)all * sizeof *changed);
        changed[number] = environment;
        arguments = changed;
    }
    PyObject *result = has_names ? ((FastKeywords)(void (*)(void))original)(module, arguments, count, names)
                                 : ((Fast)(void (*)(void))original)(module, arguments, count);
    Py_XDECREF(environment);
    return result;
}

static PyObject *environment_of_fork(PyObject *const *arguments, Py_ssize_t count)
{
    if (count <= FORK_ENVIRONMENT || !is_recorded_here()) {
        return NULL;
    }
    return environment_for_fork_exec(arguments[FORK_FILES], arguments[FORK_ENVIRONMENT]);
}

static PyObject *environment_of_spawn(PyObject *const *arguments, Py_ssize_t count, bool takes_none)
{
    if (count <= SPAWN_ENVIRONMENT || !is_recorded_here()) {
        return NULL;
    }
    if (arguments[SPAWN_ENVIRONMENT] == Py_None && !takes_none) {
        return NULL; /* the original raises an exception */
    }
    return environment_for_spawn(arguments[SPAWN_FILE], arguments[SPAWN_ENVIRONMENT]);
}

static PyObject *interposed_fork_plain(PyObject *module, PyObject *arguments)
{
    Start start = start_now();
    PyObject *environment =
        environment_of_fork(((PyTupleObject *)arguments)->ob_item, PyTuple_GET_SIZE(arguments));
    if (environment == NULL) {
        return process_started(start, fork_plain.original(module, arguments));
    }
    PyObject *changed = PyTuple_New(PyTuple_GET_SIZE(arguments));
    if (changed == NULL) {
        Py_DECREF(environment);
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments); i++) {
        PyObject *argument = i == FORK_ENVIRONMENT ? environment : PyTuple_GET_ITEM(arguments, i);
        PyTuple_SET_ITEM(changed, i, Py_NewRef(argument));
    }
    PyObject *result = process_started(start, fork_plain.original(module, changed));
    Py_DECREF(changed);
    Py_DECREF(environment);
    return result;
}

static PyObject *interposed_fork_fast(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    Start start = start_now();
    PyObject *environment = environment_of_fork(arguments, count);
    return process_started(start, with_environment(fork_fast.original, module, arguments, count, NULL,
                                                   false, FORK_ENVIRONMENT, environment));
}

static PyObject *interposed_spawn(PyObject *module, PyObject *const *arguments, Py_ssize_t count,
                               PyObject *names)
{
    Start start = start_now();
    PyObject *environment = environment_of_spawn(arguments, count, SPAWN_TAKES_NONE);
    return process_started(start, with_environment(spawn.original, module, arguments, count, names,
                                                   true, SPAWN_ENVIRONMENT, environment));
}

static PyObject *interposed_spawn_by_path(PyObject *module, PyObject *const *arguments,
                                       Py_ssize_t count, PyObject *names)
{
    Start start = start_now();
    PyObject *environment = NULL, *path = NULL;
    if (count > SPAWN_ENVIRONMENT && is_recorded_here() && announces_to_children() &&
        (arguments[SPAWN_ENVIRONMENT] != Py_None || SPAWN_TAKES_NONE)) {
        path = program_on_path(arguments[SPAWN_FILE]);
    }
    if (path != NULL) {
        environment = environment_for_spawn(path, arguments[SPAWN_ENVIRONMENT]);
        Py_DECREF(path);
    }
    return process_started(start, with_environment(spawn_by_path.original, module, arguments, count,
                                                   names, true, SPAWN_ENVIRONMENT, environment));
}

/* ---- a process that becomes another program ----
 *
 * It keeps its number. That it starts itself is written before it does; if it then cannot, no later
 * trace has this number, and the line means nothing. */

static Interposed become, become_in_environment;

/* Replaces a variable of this process; returns its old value, which the caller frees, or NULL. */
static char *exchange_variable(const char *name, const char *value)
{
    const char *old = getenv(name);
    char *kept = old == NULL ? NULL : strdup(old);
    if (value == NULL) {
        unsetenv(name);
    }
    else {
        setenv(name, value, 1);
    }
    return kept;
}

static PyObject *interposed_execv(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    Fast original = (Fast)(void (*)(void))become.original;
    if (count == 0 || !is_recorded_here() || !is_announced_to(arguments[0])) {
        return original(module, arguments, count);
    }
    char *paths = paths_for_child(getenv("PYTHONPATH"));
    char *variable = exchange_variable(CHILD_VARIABLE, announced_text());
    char *old_paths = exchange_variable("PYTHONPATH", paths);
    write_start(start_now(), getpid());
    PyObject *result = original(module, arguments, count); /* it returns only if it failed */
    free(exchange_variable(CHILD_VARIABLE, variable));
    free(exchange_variable("PYTHONPATH", old_paths));
    free(variable);
    free(paths);
    free(old_paths);
    return result;
}

static PyObject *interposed_execve(PyObject *module, PyObject *const *arguments, Py_ssize_t count,
                                   PyObject *names)
{
    PyObject *environment = names == NULL ? environment_of_spawn(arguments, count, false) : NULL;
    if (environment != NULL) {
        write_start(start_now(), getpid());
    }
    return with_environment(become_in_environment.original, module, arguments, count, names, true,
                            SPAWN_ENVIRONMENT, environment);
}

/* ---- threads that are started ---- */

#if !HAS_MONITORING
static Interposed start_thread;

/* Where no audit event tells of it. */
static PyObject *interposed_start_thread(PyObject *module, PyObject *arguments)
{
    if (is_recorded_here()) {
        note_thread_start();
    }
    return start_thread.original(module, arguments);
}
#endif

/* ---- processes that end, or tell others something ---- */

static Interposed hard_exit, pipe_write;
static PyObject *on_hard_exit; /* called before os._exit; NULL: nothing is */

void call_on_hard_exit(PyObject *function) { Py_XSETREF(on_hard_exit, Py_NewRef(function)); }

/* Whether no other thread of the program can continue while ours runs Python code. */
static bool is_only_thread(void)
{
    PyThreadState *first = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    return first != NULL && PyThreadState_Next(first) == NULL;
}

/* os._exit runs nothing at the end, so that what is in memory would be lost. */
static PyObject *interposed_exit(PyObject *module, PyObject *const *arguments, Py_ssize_t count,
                              PyObject *names)
{
    bool sound = count == 1 && names == NULL && PyLong_CheckExact(arguments[0]);
    int overflow = 0;
    if (sound) {
        long status = PyLong_AsLongAndOverflow(arguments[0], &overflow);
        sound = overflow == 0 && status >= INT_MIN && status <= INT_MAX;
    }
    if (is_recorded_here()) {
        if (sound) {
            recorder.on = false;
            write_run_skipped();
            write_end(END_BY_EXIT, arguments[0]);
        }
        page_flush();
        if (sound) {
            tail_close();
        }
        if (sound && on_hard_exit != NULL && is_only_thread()) {
            OwnCode own = own_code_begin(this_thread());
            Py_XDECREF(PyObject_CallNoArgs(on_hard_exit));
            own_code_end(&own);
        }
    }
    return ((FastKeywords)(void (*)(void))hard_exit.original)(module, arguments, count, names);
}

static PyObject *interposed_write_bytes(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    if (recorder.page.length > 0 && is_recorded_here()) {
        page_flush();
    }
    return ((Fast)(void (*)(void))pipe_write.original)(module, arguments, count);
}

/* ---- all of them ---- */

static void interpose_named(Interposed *function, PyObject *module, const char *name, int flags,
                            void (*replacement)(void))
{
    PyObject *object = module == NULL ? NULL : PyObject_GetAttrString(module, name);
    interpose(function, object, flags, (PyCFunction)replacement);
    Py_XDECREF(object);
    PyErr_Clear();
}

#define FUNCTION(name) ((void (*)(void))(name))

void interpose_all(void)
{
    PyObject *posix = PyImport_ImportModule("posix");
    interpose_named(&hard_exit, posix, "_exit", FAST_KEYWORDS, FUNCTION(interposed_exit));
    if (started_path[0] != '\0') {
        PyObject *module = PyImport_ImportModule("_posixsubprocess");
        interpose_named(&fork_plain, module, "fork_exec", METH_VARARGS, FUNCTION(interposed_fork_plain));
        interpose_named(&fork_fast, module, "fork_exec", METH_FASTCALL, FUNCTION(interposed_fork_fast));
        Py_XDECREF(module);
        interpose_named(&spawn, posix, "posix_spawn", FAST_KEYWORDS, FUNCTION(interposed_spawn));
        interpose_named(&spawn_by_path, posix, "posix_spawnp", FAST_KEYWORDS,
                      FUNCTION(interposed_spawn_by_path));
        if (announces_to_children()) {
            interpose_named(&become, posix, "execv", METH_FASTCALL, FUNCTION(interposed_execv));
            interpose_named(&become_in_environment, posix, "execve", FAST_KEYWORDS,
                            FUNCTION(interposed_execve));
        }
    }
#if !HAS_MONITORING
    PyObject *threads = PyImport_ImportModule("_thread");
    interpose_named(&start_thread, threads, "start_new_thread", METH_VARARGS,
                  FUNCTION(interposed_start_thread));
    Py_XDECREF(threads);
#endif
    if (is_child) {
        interpose_named(&pipe_write, posix, "write", METH_FASTCALL, FUNCTION(interposed_write_bytes));
    }
    Py_XDECREF(posix);
    output_watch(recorder.detail == DETAIL_FULL);
    PyErr_Clear();
}

void restore_all(void)
{
    Interposed *every[] = {&fork_plain, &fork_fast, &spawn, &spawn_by_path, &hard_exit, &pipe_write,
                           &become, &become_in_environment};
    for (size_t i = 0; i < sizeof every / sizeof *every; i++) {
        restore_function(every[i]);
    }
#if !HAS_MONITORING
    restore_function(&start_thread);
#endif
    output_watch(false);
    Py_CLEAR(on_hard_exit);
}

bool report_processes_to(const char *path, const char *name, bool child)
{
    if (strlen(path) >= sizeof started_path || strlen(name) >= sizeof own_name) {
        return false;
    }
    strcpy(started_path, path);
    strcpy(own_name, name);
    is_child = child;
    return true;
}
