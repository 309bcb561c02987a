/* Confines this process by the kernel, so that a re-run cannot change anything outside.
 *
 * Landlock limits which files can be changed, forbids TCP, and keeps signals and abstract sockets
 * inside. A seccomp filter forbids what Landlock does not cover: addressing other sockets, changing
 * the attributes of files, and administrating the system. Both hold for all threads that are
 * started later, for all child processes, and cannot be taken back.
 *
 * What is forbidden fails with EPERM or EACCES. A kernel or platform that lacks a mechanism confines
 * less: `confine` returns what it does confine.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#ifdef __linux__

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* --- Landlock ---------------------------------------------------------------------------------- */

/* Declared here: the headers of the system where whence is built may be older than the kernel. */
#define CREATE_RULESET 444
#define ADD_RULE 445
#define RESTRICT_SELF 446
#define RULESET_VERSION 1
#define RULE_PATH_BENEATH 1

#define WRITE_FILE (1ULL << 1)
#define CHANGES (0x1FF0ULL | WRITE_FILE) /* create and remove entries of any kind, and write */
#define REFER (1ULL << 13)
#define TRUNCATE (1ULL << 14)
#define NETWORK_TCP 3ULL  /* bind and connect */
#define SCOPES 3ULL       /* abstract sockets and signals */

struct ruleset {
    uint64_t files, network, scopes;
};

struct __attribute__((packed)) path_rule {
    uint64_t allowed;
    int32_t parent;
};

/* Which changes of files a version of Landlock knows. */
static uint64_t
known_changes(long version)
{
    return CHANGES | (version >= 2 ? REFER : 0) | (version >= 3 ? TRUNCATE : 0);
}

static int
allow_below(int rules, const char *path, uint64_t changes)
{
    int place = open(path, O_PATH | O_CLOEXEC);
    if (place < 0) {
        return errno == ENOENT ? 0 : -1;
    }
    struct path_rule rule = {changes, place};
    long status = syscall(ADD_RULE, rules, RULE_PATH_BENEATH, &rule, 0);
    close(place);
    return (int)status;
}

/* The version of Landlock that is now in force; 0 if there is none, -1 with errno on failure. */
static long
restrict_files(PyObject *folders)
{
    long version = syscall(CREATE_RULESET, NULL, 0, RULESET_VERSION);
    if (version < 1) {
        return 0;
    }
    uint64_t changes = known_changes(version);
    struct ruleset handled = {changes, version >= 4 ? NETWORK_TCP : 0, version >= 6 ? SCOPES : 0};
    size_t size = version >= 6 ? 24 : version >= 4 ? 16 : 8;
    int rules = (int)syscall(CREATE_RULESET, &handled, size, 0);
    if (rules < 0) {
        return -1;
    }
    int status = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(folders) && status == 0; i++) {
        const char *folder = PyBytes_AsString(PyTuple_GET_ITEM(folders, i));
        status = folder == NULL ? -1 : allow_below(rules, folder, changes);
    }
    static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/tty"};
    for (size_t i = 0; i < sizeof devices / sizeof *devices && status == 0; i++) {
        status = allow_below(rules, devices[i], WRITE_FILE);
    }
    if (status == 0) {
        status = allow_below(rules, "/dev/shm", changes); /* semaphores and shared memory */
    }
    if (status == 0) {
        status = (int)syscall(RESTRICT_SELF, rules, 0);
    }
    int problem = errno;
    close(rules);
    errno = problem;
    return status == 0 ? version : -1;
}

/* --- seccomp ----------------------------------------------------------------------------------- */

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#ifdef ARCHITECTURE

static const int forbidden[] = {
    /* other sockets */
    SYS_connect, SYS_bind, SYS_listen, SYS_sendmmsg, SYS_io_uring_setup,
    /* attributes of files, which Landlock does not cover */
    SYS_fchmodat, SYS_fchownat, SYS_utimensat, SYS_setxattr, SYS_lsetxattr, SYS_removexattr,
    SYS_lremovexattr,
#ifdef SYS_chmod /* older calls, which newer architectures do not have */
    SYS_chmod, SYS_chown, SYS_lchown, SYS_utime, SYS_utimes, SYS_futimesat,
#endif
#ifdef SYS_fchmodat2
    SYS_fchmodat2,
#endif
    /* other processes and the system, for programs of an administrator */
    SYS_ptrace, SYS_process_vm_writev, SYS_mount, SYS_umount2, SYS_reboot, SYS_settimeofday,
    SYS_clock_settime, SYS_adjtimex, SYS_sethostname, SYS_setdomainname, SYS_init_module,
    SYS_finit_module, SYS_delete_module, SYS_swapon, SYS_swapoff, SYS_msgsnd,
};

#define FORBIDDEN ((int)(sizeof forbidden / sizeof *forbidden))
#define OFFSET(field) ((uint32_t)offsetof(struct seccomp_data, field))
#define REFUSE (SECCOMP_RET_ERRNO | EPERM)

/* Install the filter; `channel` is the only socket that messages can be sent by, or -1. */
static int
filter_calls(int channel)
{
    struct sock_filter code[2 * FORBIDDEN + 24];
    int n = 0;
#define ADD(...) (code[n++] = (struct sock_filter)__VA_ARGS__)
    ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, OFFSET(arch)));
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0));
    ADD(BPF_STMT(BPF_RET | BPF_K, REFUSE)); /* calls of another architecture have other numbers */
    ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, OFFSET(nr)));
#ifdef __x86_64__
    ADD(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1)); /* x32 */
    ADD(BPF_STMT(BPF_RET | BPF_K, REFUSE));
#endif
    for (int i = 0; i < FORBIDDEN; i++) {
        ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)forbidden[i], 0, 1));
        ADD(BPF_STMT(BPF_RET | BPF_K, REFUSE));
    }
    /* sendto: only without an address, whose two halves are looked at one by one */
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sendto, 0, 6));
    for (uint32_t half = 0; half < 8; half += 4) {
        ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, OFFSET(args[4]) + half));
        ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0));
        ADD(BPF_STMT(BPF_RET | BPF_K, REFUSE));
    }
    /* sendmsg: only by the channel */
    ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, OFFSET(nr)));
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sendmsg, 0, 3));
    ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, OFFSET(args[0])));
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)channel, 1, 0));
    ADD(BPF_STMT(BPF_RET | BPF_K, REFUSE));
    ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
#undef ADD
    struct sock_fprog program = {(unsigned short)n, code};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

#endif /* ARCHITECTURE */

static int
append(PyObject *list, const char *word)
{
    PyObject *text = PyUnicode_FromString(word);
    int status = text == NULL ? -1 : PyList_Append(list, text);
    Py_XDECREF(text);
    return status;
}

static PyObject *
confine(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *folders;
    int channel;
    if (!PyArg_ParseTuple(args, "O!i", &PyTuple_Type, &folders, &channel)) {
        return NULL;
    }
    PyObject *confined = PyList_New(0);
    if (confined == NULL) {
        return NULL;
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        return confined; /* then neither mechanism can be used */
    }
    long version = restrict_files(folders);
    if (PyErr_Occurred()) {
        Py_DECREF(confined);
        return NULL;
    }
    int status = version > 0 ? append(confined, "files") : 0;
    if (status == 0 && version >= 6) {
        status = append(confined, "signals");
    }
#ifdef ARCHITECTURE
    if (status == 0 && filter_calls(channel) == 0) {
        status = append(confined, "sockets");
    }
#else
    (void)channel;
#endif
    if (status != 0) {
        Py_CLEAR(confined);
    }
    return confined;
}

#else /* not Linux */

static PyObject *
confine(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(args))
{
    return PyList_New(0);
}

#endif

static PyMethodDef methods[] = {
    {"confine", confine, METH_VARARGS, "Confine this process; returns what is confined."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_confinement", .m_size = 0, .m_methods = methods,
};

PyMODINIT_FUNC
PyInit__confinement(void)
{
    return PyModule_Create(&definition);
}
