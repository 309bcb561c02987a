/* Interposed functions and their calls: shared by interposition.c and what it passes calls to. */
#ifndef WHENCE_INTERPOSITION_H
#define WHENCE_INTERPOSITION_H

#include "journal.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#pragma GCC visibility push(hidden)

/* How calls of a function are handled: bits that ../journalled_functions.py sets. */
enum {
    HANDLED = 1,       /* by a function in Python */
    OF_FILE = 2,       /* a method of FileIO: not noted for regular files */
    OF_DESCRIPTOR = 4, /* the same, for the descriptor that is the first argument */
    FILLS = 8,         /* fills the first argument, and returns how many bytes */
    SENDS = 16,        /* sends the last argument, and returns how many bytes */
    NOT_IMPORTS = 32,  /* calls by the interpreter's import system are ignored */
    OF_PATH = 64,
    FORKS = 128,
    STARTS_THREAD = 256,
    ANY_ARGUMENTS = 512, /* the arguments are not compared */
    NOT_KEPT = 1024,     /* its result cannot be noted */
    NOTED = 2048,        /* while writing, a handler notes the outcome */
    FEWER_SHIFT = 12,    /* noted only if there are fewer arguments than this; 0: always */
    SIGNALS = 1 << 16,   /* sends a signal to a process, which may be this one */
    PICKS = 1 << 17,     /* returns some of the objects in each of its arguments */
    WARNS = 1 << 18,     /* may warn, which runs other code: it is called in a re-run as well */
};

typedef PyObject *(*Fast)(PyObject *, PyObject *const *, Py_ssize_t);
typedef PyObject *(*FastKeywords)(PyObject *, PyObject *const *, Py_ssize_t, PyObject *);
typedef PyObject *(*OfMethod)(PyObject *, PyTypeObject *, PyObject *const *, size_t, PyObject *);

enum {
    CONVENTION =
        METH_VARARGS | METH_KEYWORDS | METH_NOARGS | METH_O | METH_FASTCALL | METH_METHOD
};

typedef struct {
    PyMethodDef *definition, copy; /* `copy` is the original content */
    uint64_t kind;
    unsigned how;
    PyObject *handler;
} Interposed;

typedef struct {
    Interposed *function;
    PyObject *self;
    PyTypeObject *type;
    PyObject *const *arguments;
    Py_ssize_t count;
    PyObject *names;              /* of keyword arguments, which follow in `arguments` */
    PyObject *tuple, *dictionary; /* the arguments as received, if by these */
} Call;

#define ANY_FUNCTION(function) ((PyCFunction)(void (*)(void))(function))

/* ---- interposed_calls.c ---- */

extern _Thread_local bool inside;    /* this thread runs whence's own code */
extern _Thread_local bool by_opener; /* the next file is opened by a function of the program */
extern bool all_inside;     /* all threads do: a debugger may use one of its own */
extern PyObject *own_files; /* the beginning of the names of whence's own files */
extern PyMethodDef *fileno_definition;

bool is_watched(void);
bool is_for_import(void);
bool is_file(int descriptor);
bool is_regular(int descriptor);
int descriptor_of(const Call *call);
PyObject *call_original(const Call *call);
uint32_t digest(const Call *call);

static inline Py_ssize_t all_arguments(const Call *call)
{
    return call->count + (call->names == NULL ? 0 : PyTuple_GET_SIZE(call->names));
}

/* ---- writing.c, playing.c ---- */

Py_ssize_t length_of(PyObject *buffer);
PyObject *write_call(const Call *call);
PyObject *play_call(const Call *call);

/* ---- interposition.c ---- */

PyMethodDef *definition_of(PyObject *function);
void write_by_handler(PyObject *handler, PyObject *result, PyObject *positional, PyObject *named);

#pragma GCC visibility pop

#endif
