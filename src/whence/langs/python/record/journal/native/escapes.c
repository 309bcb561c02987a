/* Stops a re-run that is about to change something outside of its folder.
 *
 * By the interpreter's audit events: an event that announces a change which should have been played
 * ends the re-run, with a reason that a person understands. The kernel confines the process as well
 * (`../../native/_confinement.c`), but does not say why something failed. */
#include "interposition.h"

#include <fcntl.h>

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

/* Watches from now on. */
PyObject *watch_escapes(PyObject *folder)
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
    Py_RETURN_NONE;
}
