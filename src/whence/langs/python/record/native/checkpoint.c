/* Checkpoints: sleeping copies of a re-run, from which later re-runs start.
 *
 * A copy is made by fork when a call begins, if the program has run for a while since the last
 * one. debuggee/checkpoint_forks.py has what a copy does then.
 *
 * The interpreter's fork handlers are not called: the program did not fork, and they change its
 * state (`random` seeds itself). That is sound as long as there is only one thread.
 *
 * Invariant: the process that goes on cannot observe the copy: it has no child and gets no signal.
 */
#include "recorder.h"

#include <errno.h>
#include <time.h>

#define CHECK_INTERVAL ((uint64_t)2 * 1000 * 1000) /* approximate, in nanoseconds */
enum {
    MAX_CALLS_BETWEEN = 1 << 16, /* between two readings of the clock */
    /* Right before the target call, a copy is made after this fraction of the usual time: the next
     * question is probably about that call. */
    TARGET_SPACING_DIVISOR = 8,
};

static struct {
    PyObject *due; /* makes a copy; returns the seconds until the next one, negative for never */
    uint64_t spacing, last, last_check; /* nanoseconds of CPU time */
    uint64_t calls;                     /* between two readings of the clock */
} checkpoints;

static uint64_t time_used(void)
{
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Never beyond the target call: from there on the program may diverge. */
static void schedule_check(void)
{
    uint64_t before = calls_before(), at = before + checkpoints.calls;
    uint64_t wanted = calls_before_window();
    recorder.checkpoint_at = before > wanted ? NEVER : at < wanted ? at : wanted;
}

static void restart_spacing(double seconds)
{
    checkpoints.spacing = (uint64_t)(seconds * 1e9);
    checkpoints.last = checkpoints.last_check = time_used();
    checkpoints.calls = 1;
    schedule_check();
    if (seconds < 0) {
        recorder.checkpoint_at = NEVER;
    }
}

void checkpoints_set(PyObject *due, double seconds)
{
    Py_XSETREF(checkpoints.due, Py_NewRef(due));
    restart_spacing(seconds);
}

static void make_checkpoint(Thread *thread)
{
    double seconds = -1;
    OwnCode own = own_code_begin(thread);
    PyObject *said = PyObject_CallNoArgs(checkpoints.due);
    if (said != NULL && PyFloat_Check(said)) {
        seconds = PyFloat_AS_DOUBLE(said);
    }
    Py_XDECREF(said);
    own_code_end(&own);
    restart_spacing(seconds);
}

/* Adapts the number of calls between two readings of the clock to CHECK_INTERVAL. */
void check_checkpoint(Thread *thread)
{
    uint64_t now = time_used(), since = now - checkpoints.last_check;
    checkpoints.last_check = now;
    if (since < CHECK_INTERVAL / 2 && checkpoints.calls < MAX_CALLS_BETWEEN) {
        checkpoints.calls *= 2;
    }
    else if (since > CHECK_INTERVAL && checkpoints.calls > 1) {
        checkpoints.calls /= 2;
    }
    uint64_t wanted = calls_before_window();
    uint64_t spacing =
        checkpoints.spacing / (calls_before() == wanted ? TARGET_SPACING_DIVISOR : 1);
    if (calls_before() <= wanted && now - checkpoints.last >= spacing) {
        make_checkpoint(thread);
    }
    else {
        schedule_check();
    }
}

/* ---- copies ---- */

#ifdef __linux__

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static sigset_t program_mask;

/* In a process that will sleep: blocks all signals, so that no handler of the program runs. It
 * adopts orphaned descendants, and waits for them. */
void checkpoint_settle(void)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &program_mask);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

/* Makes a copy of this process that is not its child: 0 in the copy, 1 here, -1 on failure. */
int checkpoint_fork(void)
{
    int saved_errno = errno, status = 0;
    sigset_t all, child, pending;
    page_flush();
    sigfillset(&all);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    pthread_sigmask(SIG_SETMASK, &all, &program_mask);
    bool was_pending = sigpending(&pending) == 0 && sigismember(&pending, SIGCHLD) == 1;
    pid_t between = fork();
    if (between == 0) {
        pid_t copy = fork();
        if (copy != 0) {
            _exit(copy < 0);
        }
        return 0;
    }
    if (between > 0 && waitpid(between, &status, 0) < 0) {
        status = errno != ECHILD; /* no child to wait for: it has ended */
    }
    if (!was_pending) {
        sigtimedwait(&child, NULL, &(struct timespec){0, 0});
    }
    pthread_sigmask(SIG_SETMASK, &program_mask, NULL);
    errno = saved_errno;
    return between > 0 && status == 0 ? 1 : -1;
}

/* Forks a child that goes on while this process sleeps, and ends with it. */
int checkpoint_wake(void)
{
    pid_t sleeper = getpid(), worker = fork();
    if (worker == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        if (getppid() != sleeper) {
            _exit(1);
        }
        pthread_sigmask(SIG_SETMASK, &program_mask, NULL);
    }
    return worker;
}

/* Waits until there is something to read. */
void checkpoint_sleep(int descriptor)
{
    enum { REAPS_EVERY = 2 * 1000 }; /* milliseconds */
    struct pollfd orders = {descriptor, POLLIN, 0};
    while (orders.revents == 0) {
        if (poll(&orders, 1, REAPS_EVERY) < 0 && errno != EINTR) {
            return;
        }
        while (waitpid(-1, NULL, WNOHANG) > 0) {
        }
    }
}

/* Sends a message, and with it a descriptor. */
bool checkpoint_send(int control, const void *message, size_t length, int descriptor)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr aligned;
    } room = {{0}};
    struct iovec parts = {(void *)(uintptr_t)message, length};
    struct msghdr sent = {.msg_iov = &parts, .msg_iovlen = 1, .msg_control = room.bytes,
                          .msg_controllen = sizeof room.bytes};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&sent);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
    return sendmsg(control, &sent, MSG_NOSIGNAL) == (ssize_t)length;
}

#else

/* Other systems do not let a process adopt orphans or end with its parent. So there are no copies,
 * and every re-run starts at the beginning. */
int checkpoint_fork(void) { return -1; }

int checkpoint_wake(void) { return -1; }

void checkpoint_settle(void) {}

void checkpoint_sleep(int Py_UNUSED(descriptor)) {}

bool checkpoint_send(int Py_UNUSED(control), const void *Py_UNUSED(message),
                     size_t Py_UNUSED(length), int Py_UNUSED(descriptor))
{
    return false;
}

#endif
