/* Keeps a re-run from changing anything outside of its folder, whatever the journal missed.
 *
 * By the kernel if possible (Landlock: this process and its children may write files only below one
 * folder, and open no connections), and always by the interpreter's audit events: an event of a
 * change that the journal should have handled stops the re-run. */
#include "interposition.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/prctl.h>
#include <sys/syscall.h>

typedef struct {
    uint64_t handled_files, handled_net;
} Ruleset;

typedef struct __attribute__((packed)) {
    uint64_t allowed;
    int32_t parent;
} BelowPath;

enum { CREATE_RULESET = 444, ADD_RULE = 445, RESTRICT = 446, ASK_VERSION = 1, BELOW_PATH = 1 };
/* Writing files; removing and creating anything; since version 2 also moving between folders and
 * truncating. */
#define WRITE_FILE ((uint64_t)1 << 1)
#define CHANGES (WRITE_FILE | (uint64_t)0x1FF0)
#define MOVES ((uint64_t)1 << 13)
#define TRUNCATES ((uint64_t)1 << 14)

static bool allow(int rules, const char *path, uint64_t allowed)
{
    int parent = open(path, O_PATH | O_CLOEXEC);
    if (parent < 0) {
        return false;
    }
    BelowPath below = {allowed, parent};
    long failed = syscall(ADD_RULE, rules, BELOW_PATH, &below, 0);
    close(parent);
    return failed == 0;
}

static bool restrict_by_landlock(const char *folder)
{
    long version = syscall(CREATE_RULESET, NULL, 0, ASK_VERSION);
    if (version < 1) {
        return false;
    }
    uint64_t files = CHANGES | (version >= 2 ? MOVES : 0) | (version >= 3 ? TRUNCATES : 0);
    uint64_t on_device = WRITE_FILE | (version >= 3 ? TRUNCATES : 0);
    Ruleset ruleset = {files, version >= 4 ? 3 : 0};
    size_t size = version >= 4 ? sizeof ruleset : sizeof ruleset.handled_files;
    int rules = (int)syscall(CREATE_RULESET, &ruleset, size, 0);
    if (rules < 0) {
        return false;
    }
    bool done = allow(rules, folder, files) && allow(rules, "/dev/null", on_device) &&
                prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && syscall(RESTRICT, rules, 0) == 0;
    close(rules);
    return done;
}
#else
static bool restrict_by_landlock(const char *folder)
{
    (void)folder;
    return false;
}
#endif

static char allowed_folder[4096];

static const char *const CHANGING[] = {
    "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.chmod",
    "os.chown", "os.truncate", "os.utime", "os.setxattr", "os.removexattr", "os.system",
    "os.posix_spawn", "os.exec", "os.fork", "os.forkpty", "socket.connect", "socket.bind",
    "socket.sendto", "socket.sendmsg", "sqlite3.connect", "os.kill", "os.killpg",
    "cpython.PyInterpreterState_New", /* its requests are not in the journal */
};

/* Whether this path may be opened for writing. */
static bool may_write(PyObject *path)
{
    const char *text = NULL;
    if (PyUnicode_Check(path)) {
        text = PyUnicode_AsUTF8(path);
    } else if (PyBytes_Check(path)) {
        text = PyBytes_AS_STRING(path);
    } else {
        return true; /* a descriptor that was opened before */
    }
    if (text == NULL) {
        PyErr_Clear();
        return false;
    }
    return strcmp(text, "/dev/null") == 0 ||
           strncmp(text, allowed_folder, strlen(allowed_folder)) == 0;
}

static int escapes(const char *event, PyObject *arguments)
{
    if (strcmp(event, "open") == 0) {
        if (!PyTuple_Check(arguments) || PyTuple_GET_SIZE(arguments) < 3 ||
            !PyLong_Check(PyTuple_GET_ITEM(arguments, 2))) {
            return 0;
        }
        long flags = PyLong_AsLong(PyTuple_GET_ITEM(arguments, 2));
        bool writes = (flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) != 0;
        return writes && !may_write(PyTuple_GET_ITEM(arguments, 0));
    }
    for (size_t i = 0; i < sizeof CHANGING / sizeof *CHANGING; i++) {
        if (strcmp(event, CHANGING[i]) == 0) {
            return 1;
        }
    }
    return 0;
}

static int audit(const char *event, PyObject *arguments, void *Py_UNUSED(data))
{
    if (by_opener && strcmp(event, "open") == 0) {
        by_opener = false; /* a file opened by a function of the program is no escape */
        return 0;
    }
    if (journal.mode != PLAYING || inside || all_inside || !escapes(event, arguments)) {
        return 0;
    }
    PyObject *result = PyObject_CallFunction(journal.escaped, "sO", event, arguments);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

/* Confines the process; returns whether the kernel enforces it too. */
PyObject *confine(PyObject *folder)
{
    const char *path = PyUnicode_AsUTF8(folder);
    if (path == NULL || strlen(path) >= sizeof allowed_folder) {
        PyErr_SetString(PyExc_ValueError, "the folder of the re-run cannot be used");
        return NULL;
    }
    strcpy(allowed_folder, path);
    if (PySys_AddAuditHook(audit, NULL) != 0) {
        return NULL;
    }
    return PyBool_FromLong(restrict_by_landlock(path));
}
