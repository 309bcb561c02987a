/* A call of a function that reaches the world: whether it is the program's, and the call itself.
 *
 * What is the interpreter's own, to import, or whence's, is passed on as if nobody listened. */
#include "journal.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    HANDLED = 1,       /* by a function in Python */
    OF_FILE = 2,       /* of the descriptor of a FileIO: not for regular files */
    OF_DESCRIPTOR = 4, /* the same for the first argument */
    FILLS = 8,         /* the first argument, with as many bytes as it returns */
    SENDS = 16,        /* the last argument, and says how much of it */
    NOT_IMPORTS = 32,  /* the interpreter's own use of it, to import, is no matter of the program */
    OF_PATH = 64,
    FORKS = 128,
    STARTS_THREAD = 256,
    ANY_ARGUMENTS = 512, /* which are not compared */
    NOT_KEPT = 1024,     /* what it gives is more than can be noted here */
    NOTED = 2048,        /* while writing, a handler notes what came of it */
    FEWER_SHIFT = 12,    /* only if there are fewer arguments than this; 0: always */
    SIGNALS = 1 << 16,   /* the process, which may be this one */
    PICKS = 1 << 17,     /* some of the objects in each of its arguments */
};

typedef PyObject *(*Fast)(PyObject *, PyObject *const *, Py_ssize_t);
typedef PyObject *(*FastKeywords)(PyObject *, PyObject *const *, Py_ssize_t, PyObject *);
typedef PyObject *(*OfMethod)(PyObject *, PyTypeObject *, PyObject *const *, size_t, PyObject *);

enum { CONVENTION = METH_VARARGS | METH_KEYWORDS | METH_NOARGS | METH_O | METH_FASTCALL | METH_METHOD };

typedef struct {
    PyMethodDef *definition, copy; /* the copy is as it was */
    uint64_t kind;
    unsigned how;
    PyObject *handler;
} Passage;

typedef struct {
    Passage *passage;
    PyObject *self;
    PyTypeObject *type;
    PyObject *const *arguments;
    Py_ssize_t count;
    PyObject *names;              /* of keyword arguments, which follow in `arguments` */
    PyObject *tuple, *dictionary; /* as they were given, if so */
} Call;

enum { FIRST_PLACE = 100, PLACES = 200 };
static Passage passages[PLACES];
static int passage_count;
static _Thread_local bool inside, by_opener;
static bool all_inside; /* whatever thread it is: a debugger may talk from one of its own */
static PyObject *own_files; /* the beginning of the names of whence's own files */
static uint8_t foreign[1024]; /* descriptors of files that are regular only by name, as in /proc */

bool passages_inside(bool wish)
{
    bool before = inside;
    inside = wish;
    return before;
}

void passages_foreign(int descriptor, bool is_foreign)
{
    if (descriptor >= 0 && descriptor < 1024) {
        foreign[descriptor] = is_foreign;
    }
}

static bool is_watched(void)
{
    return journal.mode != OFF && !inside && !all_inside &&
           PyInterpreterState_Get() == PyInterpreterState_Main();
}

/* Whether it is the interpreter that imports, or whence. */
static bool is_for_import(void)
{
    PyFrameObject *frame = PyEval_GetFrame();
    if (frame == NULL) {
        return false;
    }
    PyCodeObject *code = PyFrame_GetCode(frame);
    const char *name = PyUnicode_AsUTF8(code->co_filename);
    bool found = false;
    if (name == NULL) {
        PyErr_Clear();
    } else {
        const char *own = own_files == NULL ? NULL : PyUnicode_AsUTF8(own_files);
        found = strncmp(name, "<frozen importlib", 17) == 0 ||
                strncmp(name, "<frozen zipimport", 17) == 0 ||
                (own != NULL && strncmp(name, own, strlen(own)) == 0);
    }
    Py_DECREF(code);
    return found;
}

static bool is_file(int descriptor)
{
    struct stat status;
    int saved = errno;
    bool found = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
    errno = saved;
    return found;
}

static bool is_regular(int descriptor)
{
    return descriptor > 2 && (descriptor >= 1024 || !foreign[descriptor]) && is_file(descriptor);
}

static PyMethodDef *fileno_definition;

static int descriptor_of(const Call *call)
{
    PyObject *number = NULL;
    if (call->passage->how & OF_FILE) {
        number = fileno_definition == NULL ? NULL : fileno_definition->ml_meth(call->self, NULL);
    } else if (call->count > 0) {
        number = call->arguments[0];
        Py_INCREF(number);
    }
    long found = number != NULL && PyLong_CheckExact(number) ? PyLong_AsLong(number) : -1;
    Py_XDECREF(number);
    PyErr_Clear();
    return (int)found;
}

/* ---- the function itself ---- */

static PyObject *call_original(const Call *call)
{
    PyCFunction original = call->passage->copy.ml_meth;
    void (*any)(void) = (void (*)(void))original;
    switch (call->passage->copy.ml_flags & CONVENTION) {
    case METH_NOARGS:
        return original(call->self, NULL);
    case METH_O:
        return original(call->self, call->arguments[0]);
    case METH_VARARGS:
        return original(call->self, call->tuple);
    case METH_VARARGS | METH_KEYWORDS:
        return ((PyCFunctionWithKeywords)any)(call->self, call->tuple, call->dictionary);
    case METH_FASTCALL:
        return ((Fast)any)(call->self, call->arguments, call->count);
    case METH_FASTCALL | METH_KEYWORDS:
        return ((FastKeywords)any)(call->self, call->arguments, call->count, call->names);
    default:
        return ((OfMethod)any)(call->self, call->type, call->arguments, (size_t)call->count,
                               call->names);
    }
}

static Py_ssize_t all_arguments(const Call *call)
{
    return call->count + (call->names == NULL ? 0 : PyTuple_GET_SIZE(call->names));
}

static uint32_t digest(const Call *call)
{
    if (call->passage->how & ANY_ARGUMENTS) {
        return digest_of(NULL, 0, NULL);
    }
    Py_ssize_t count = all_arguments(call);
    if (call->passage->how & SENDS) {
        count = count > 0 ? count - 1 : 0;
    }
    return digest_of(call->arguments, count, call->names);
}
