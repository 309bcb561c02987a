/* The state of each thread, the call that started it, and what surrounds whence's own code.
 *
 * A new thread's calls belong to the call that started it. The audit event of the start (on 3.11 an
 * interposed function: interposition.c) comes in the starting thread, right before the interpreter
 * makes the state of the new one. The id that this state will have is known by then, and is the key
 * under which the starting call is stored. */
#include "recorder.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

__thread Thread *thread_state __attribute__((tls_model("initial-exec")));
uint64_t recording_generation;

enum { ORIGINS = 4096, LENT_FRAMES = 400 };

static struct {
    uint64_t id;
    uint64_t generation;
    Origin origin;
} origins[ORIGINS];

static pthread_key_t ending;
static bool prepared;
static Thread *all_threads;
static pthread_mutex_t all_threads_lock = PTHREAD_MUTEX_INITIALIZER; /* threads end without the GIL */

static void thread_link(Thread *thread)
{
    pthread_mutex_lock(&all_threads_lock);
    thread->after = all_threads;
    if (all_threads != NULL) {
        all_threads->before = thread;
    }
    all_threads = thread;
    pthread_mutex_unlock(&all_threads_lock);
}

static void thread_unlink(Thread *thread)
{
    pthread_mutex_lock(&all_threads_lock);
    if (thread->after != NULL) {
        thread->after->before = thread->before;
    }
    if (thread->before != NULL) {
        thread->before->after = thread->after;
    } else {
        all_threads = thread->after;
    }
    pthread_mutex_unlock(&all_threads_lock);
}

/* Marks the code of all activations. Other threads change theirs only with the GIL. */
void threads_mark_code(void)
{
    pthread_mutex_lock(&all_threads_lock);
    for (Thread *thread = all_threads; thread != NULL; thread = thread->after) {
        bool current = thread->generation == recording_generation;
        for (size_t i = 0; current && i < thread->count; i++) {
            if (thread->stack[i].code != NULL) {
                thread->stack[i].code->running = true;
            }
        }
    }
    pthread_mutex_unlock(&all_threads_lock);
}

static void thread_free(Thread *thread)
{
    PyMem_RawFree(thread->stack);
    PyMem_RawFree(thread->watches);
    PyMem_RawFree(thread->scratch.bytes);
    PyMem_RawFree(thread->changes.bytes);
    PyMem_RawFree(thread->seen);
    map_clear(&thread->seen_positions);
    PyMem_RawFree(thread->ends);
    PyMem_RawFree(thread);
}

static void free_ended_thread(void *thread)
{
    thread_state = NULL;
    thread_unlink(thread);
    thread_free(thread);
}

/* This thread's state, new for each recording. NULL if there is no memory. */
Thread *thread_new(void)
{
    Thread *thread = thread_state;
    if (thread == NULL) {
        thread = PyMem_RawCalloc(1, sizeof *thread);
        if (thread == NULL || pthread_setspecific(ending, thread) != 0) {
            PyMem_RawFree(thread);
            recorder_fail(ENOMEM);
            return NULL;
        }
        thread_state = thread;
        thread_link(thread);
    }
    thread->count = thread->watch_count = 0;
    thread->scratch.length = thread->changes.length = 0;
    thread->suspended = 0;
#if !HAS_MONITORING
    thread->floor = evaluation_floor();
#endif
    thread->generation = recording_generation;
    thread->number = recorder.next_thread++;
    thread->origin = (Origin){0, 0, 0, false};
    uint64_t id = PyThreadState_GetID(PyThreadState_Get());
    if (origins[id % ORIGINS].id == id &&
        origins[id % ORIGINS].generation == recording_generation) {
        thread->origin = origins[id % ORIGINS].origin;
    }
    return thread;
}

/* Drops activations of frames that ended without an event: they are not in the chain of frames. */
void thread_sync(Thread *thread, const Frame *running)
{
    while (thread->count > 0) {
        const Frame *top = thread->stack[thread->count - 1].frame;
        for (const Frame *frame = running; frame != NULL; frame = frame_caller(frame)) {
            if (frame == top) {
                return;
            }
        }
        thread->watch_count = thread->stack[--thread->count].watches;
    }
}

Origin thread_top_synced(Thread *thread)
{
    thread_sync(thread, current_frame(PyThreadState_Get()));
    return thread_top(thread);
}

void note_thread_start(void)
{
    Thread *thread = this_thread();
    if (thread != NULL && !thread->suspended) {
        uint64_t id = next_thread_id();
        origins[id % ORIGINS].id = id;
        origins[id % ORIGINS].generation = recording_generation;
        origins[id % ORIGINS].origin = thread_top_synced(thread);
    }
}

static int audit_hook(const char *event, PyObject *Py_UNUSED(arguments), void *Py_UNUSED(data))
{
    if (unlikely(recorder.on && strcmp(event, "os.exec") == 0)) {
        page_flush(); /* this process is about to become another program */
        tail_close();
    }
    if (unlikely(recorder.on && strncmp(event, "_thread.start_", 14) == 0) &&
        is_recorded_here()) {
        note_thread_start();
    }
    return 0;
}

/* A forked child is not recorded: its numbers and file position would be those of its parent. */
static void forked(void)
{
    all_threads_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    all_threads = thread_state; /* the only one that is left */
    if (all_threads != NULL) {
        all_threads->after = all_threads->before = NULL;
    }
    recorder.on = false;
    recorder.page.length = 0;
    tail_after_fork();
}

/* Once per process: neither an audit hook nor a fork handler can be removed. */
bool threads_watch(void)
{
    if (prepared) {
        return true;
    }
    if (pthread_key_create(&ending, free_ended_thread) != 0 ||
        pthread_atfork(NULL, NULL, forked) != 0) {
        PyErr_SetString(PyExc_OSError, "the recorder cannot watch threads and forks");
        return false;
    }
    if (PySys_AddAuditHook(audit_hook, NULL) < 0) {
        return false;
    }
    prepared = true;
    return true;
}

/* ---- whence's own code ---- */

uint64_t moment;

OwnCode own_code_begin(Thread *thread)
{
    moment++;
    OwnCode own = {save_exception(), PyThreadState_Get(), thread, 0};
    if (thread != NULL) {
        thread->suspended++;
    }
    PyThreadState_EnterTracing(own.tstate);
    lend_recursion(own.tstate, LENT_FRAMES);
    own.collecting = PyGC_Disable();
    return own;
}

static int raise_interrupt(void *interrupt)
{
    PyErr_SetObject((PyObject *)Py_TYPE((PyObject *)interrupt), interrupt);
    Py_DECREF((PyObject *)interrupt);
    return -1;
}

/* A signal handler may have raised an interrupt or exit while our own code ran: it is raised where
 * the program continues. Any other exception is our own, and is dropped. */
void pass_on_interrupt(void)
{
    if (PyErr_ExceptionMatches(PyExc_Exception)) {
        PyErr_Clear();
        return;
    }
    PyObject *type, *interrupt, *traceback;
    PyErr_Fetch(&type, &interrupt, &traceback);
    PyErr_NormalizeException(&type, &interrupt, &traceback);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    if (interrupt != NULL && Py_AddPendingCall(raise_interrupt, interrupt) != 0) {
        Py_DECREF(interrupt);
    }
}

void own_code_end(OwnCode *own)
{
    if (PyErr_Occurred()) {
        pass_on_interrupt();
    }
    if (own->collecting) {
        PyGC_Enable();
    }
    lend_recursion(own->tstate, -LENT_FRAMES);
    PyThreadState_LeaveTracing(own->tstate);
    if (own->thread != NULL) {
        own->thread->suspended--;
    }
    restore_exception(&own->exception);
}
