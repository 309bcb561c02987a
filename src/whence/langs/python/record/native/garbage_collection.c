/* Collections of garbage at fixed numbers of calls, for a program that is to be run again.
 *
 * They run code of the program (`__del__`, callbacks of weak references), so they have to come at
 * the same place in every run. The interpreter's own come when so many objects were made, which
 * differs by what a recorder makes besides. So these come by the number of calls, be they recorded
 * or only counted, and the interpreter's own are put off (journal/collector.py).
 *
 * Invariant: whether one comes before a call depends on the number of calls before it, and on
 * whether the program has switched collecting off. */
#include "recorder.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    YOUNG_EVERY = 100,       /* calls: classes made at run time live about as long as otherwise */
    MIDDLE_EVERY = 10,       /* young ones */
    FULL_EVERY = 500 * 1000, /* calls at least; a quarter more than before is due */
};

static PyObject *collect; /* gc.collect */
static uint64_t full_at;
static uint64_t *told; /* where it stands how many calls there were, for whoever waits for us */

/* Without a descriptor: their numbers are the program's. */
bool report_collections_to(const char *path)
{
    int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    void *place = MAP_FAILED;
    if (descriptor >= 0 && ftruncate(descriptor, sizeof *told) == 0) {
        place = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    }
    if (descriptor >= 0) {
        close(descriptor);
    }
    if (told != NULL) {
        munmap(told, sizeof *told);
    }
    told = place != MAP_FAILED ? place : NULL;
    return told != NULL;
}

void collect_by_number(PyObject *function)
{
    Py_XSETREF(collect, Py_NewRef(function));
    recorder.collect_at = calls_before() + YOUNG_EVERY;
    full_at = recorder.collect_at + FULL_EVERY;
    update_fast_calls();
}

static int generation_due(uint64_t number)
{
    if (number >= full_at) {
        full_at = number + (number / 4 > FULL_EVERY ? number / 4 : FULL_EVERY);
        return 2;
    }
    return number / YOUNG_EVERY % MIDDLE_EVERY == 0;
}

static void collect_now(int generation)
{
    PyThreadState *tstate = PyThreadState_Get();
    if (!collector_is_on(tstate)) {
        return;
    }
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *which = PyLong_FromLong(generation); /* one that exists for good */
    bool hooked = is_tracing(tstate); /* not where frames are evaluated */
    if (hooked) {
        PyThreadState_LeaveTracing(tstate);
    }
    uint64_t before = calls_before();
    PyObject *done = PyObject_CallOneArg(collect, which);
    recorder.calls_of_garbage += calls_before() - before;
    if (hooked) {
        PyThreadState_EnterTracing(tstate);
    }
    if (done == NULL) {
        pass_on_interrupt();
    }
    Py_XDECREF(done);
    Py_XDECREF(which);
    PyErr_Restore(type, value, traceback);
}

/* Which generation is due now, at the number of calls that it is due at. */
static int next_collection(void)
{
    uint64_t number = recorder.collect_at;
    if (told != NULL) {
        *told = number;
    }
    int generation = generation_due(number);
    recorder.collect_at = number + YOUNG_EVERY;
    update_fast_calls();
    return generation;
}

void collect_garbage(void) { collect_now(next_collection()); }

void collect_for_skipped(void)
{
    int generation = -1;
    while (recorder.collect_at < calls_before()) {
        int due = next_collection();
        generation = due > generation ? due : generation;
    }
    if (generation >= 0) {
        collect_now(generation);
    }
}
