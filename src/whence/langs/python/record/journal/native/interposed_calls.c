/* A call of an interposed function: whether it is the program's, and the call of the original.
 *
 * Calls by the interpreter's import system and by whence itself are passed on without an entry. */
#include "interposition.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

_Thread_local bool inside, by_opener;
bool all_inside;
PyObject *own_files;
static uint8_t foreign[1024]; /* descriptors of files that are regular only by name, as in /proc */

bool set_inside(bool is_inside)
{
    bool before = inside;
    inside = is_inside;
    return before;
}

void set_foreign(int descriptor, bool is_foreign)
{
    if (descriptor >= 0 && descriptor < 1024) {
        foreign[descriptor] = is_foreign;
    }
}

bool is_watched(void)
{
    return journal.mode != OFF && !inside && !all_inside &&
           PyInterpreterState_Get() == PyInterpreterState_Main();
}

/* Whether the caller is the interpreter's import system or whence. */
bool is_for_import(void)
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

bool is_file(int descriptor)
{
    struct stat status;
    int saved = errno;
    bool found = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
    errno = saved;
    return found;
}

bool is_regular(int descriptor)
{
    return descriptor > 2 && (descriptor >= 1024 || !foreign[descriptor]) && is_file(descriptor);
}

PyMethodDef *fileno_definition;

int descriptor_of(const Call *call)
{
    PyObject *number = NULL;
    if (call->function->how & OF_FILE) {
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

PyObject *call_original(const Call *call)
{
    PyCFunction original = call->function->copy.ml_meth;
    void (*any)(void) = (void (*)(void))original;
    switch (call->function->copy.ml_flags & CONVENTION) {
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

uint32_t digest(const Call *call)
{
    if (call->function->how & ANY_ARGUMENTS) {
        return digest_of(NULL, 0, NULL);
    }
    Py_ssize_t count = all_arguments(call);
    if (call->function->how & SENDS) {
        count = count > 0 ? count - 1 : 0;
    }
    return digest_of(call->arguments, count, call->names);
}
