/* Functions of the interpreter that reach the world, and what stands before them.
 *
 * As in the recorder's passages, only the address in a function's method definition is exchanged:
 * the program sees the functions that it knows. A function is entered by one of five conventions;
 * each has an entrance of its own for each place in the table, since an entrance is told nothing
 * of the definition that led to it. Once exchanged they stay: with the journal off they do nothing.
 *
 * While writing, the function is called and what came of it is noted. While playing it is not
 * called: what is noted next must be of the same kind and for the same arguments. Where that is
 * not the whole story (a file is opened, a buffer is filled) the rest is a handler's, in Python. */
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
    return journal.mode != OFF && !inside &&
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

static bool is_regular(int descriptor)
{
    struct stat status;
    int saved = errno;
    bool regular = descriptor > 2 && (descriptor >= 1024 || !foreign[descriptor]) &&
                   fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
    errno = saved;
    return regular;
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

/* ---- writing ---- */

static Py_ssize_t length_of(PyObject *buffer)
{
    Py_buffer view;
    if (PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE) != 0) {
        PyErr_Clear();
        return -1;
    }
    Py_ssize_t length = view.len;
    PyBuffer_Release(&view);
    return length;
}

static bool put_filled(Bytes *bytes, const Call *call, PyObject *result)
{
    Py_buffer view;
    if (!PyLong_CheckExact(result) || call->count == 0 ||
        PyObject_GetBuffer(call->arguments[0], &view, PyBUF_SIMPLE) != 0) {
        PyErr_Clear();
        return value_encode(bytes, result, 0);
    }
    Py_ssize_t length = PyLong_AsSsize_t(result);
    bool done = length >= 0 && length <= view.len && bytes_put(bytes, "b", 1) &&
                bytes_number(bytes, (uint64_t)length) &&
                bytes_put(bytes, view.buf, (size_t)length);
    PyBuffer_Release(&view);
    return done;
}

/* That all of it was sent is noted as such: the next time it may be another text of the same
 * kind, such as the address of an object. */
static bool put_sent(Bytes *bytes, const Call *call, PyObject *result)
{
    Py_ssize_t length = call->count > 0 ? length_of(call->arguments[call->count - 1]) : -1;
    if (PyLong_CheckExact(result) && length >= 0 && PyLong_AsSsize_t(result) == length) {
        return value_encode(bytes, Py_True, 0);
    }
    return value_encode(bytes, result, 0);
}

/* Which of the objects in each list that was given are in the list that was returned. */
static bool put_picked(Bytes *bytes, const Call *call, PyObject *result)
{
    bool done = PyTuple_CheckExact(result) && bytes_put(bytes, "(", 1) &&
                bytes_number(bytes, (uint64_t)PyTuple_GET_SIZE(result));
    for (Py_ssize_t i = 0; done && i < PyTuple_GET_SIZE(result); i++) {
        PyObject *given = i < call->count ? call->arguments[i] : NULL;
        PyObject *found = PyTuple_GET_ITEM(result, i);
        done = given != NULL && (PyList_CheckExact(given) || PyTuple_CheckExact(given)) &&
               PyList_CheckExact(found) && bytes_put(bytes, "[", 1) &&
               bytes_number(bytes, (uint64_t)PyList_GET_SIZE(found));
        for (Py_ssize_t j = 0; done && j < PyList_GET_SIZE(found); j++) {
            Py_ssize_t place = 0, length = PySequence_Fast_GET_SIZE(given);
            while (place < length &&
                   PySequence_Fast_GET_ITEM(given, place) != PyList_GET_ITEM(found, j)) {
                place++;
            }
            done = place < length && bytes_put(bytes, "i", 1) &&
                   bytes_number(bytes, (uint64_t)place << 1);
        }
    }
    return done;
}

static PyObject *written(const Call *call)
{
    unsigned how = call->passage->how;
    uint32_t question = digest(call);
    inside = true;
    PyObject *result = call_original(call);
    inside = false;
    if ((how & FORKS) && result != NULL && PyLong_CheckExact(result) &&
        PyLong_AsLong(result) == 0) {
        journal.mode = OFF; /* this is the child */
        return result;
    }
    int saved = errno;
    Bytes bytes = {0};
    bool done;
    if (result == NULL) {
        done = error_encode(&bytes, call->arguments, all_arguments(call));
    } else if (how & FILLS) {
        done = put_filled(&bytes, call, result);
    } else if (how & SENDS) {
        done = put_sent(&bytes, call, result);
    } else if (how & PICKS) {
        done = put_picked(&bytes, call, result);
    } else {
        done = value_encode(&bytes, result, 0);
    }
    if (!done || (how & NOT_KEPT)) {
        bytes.length = 0; /* which cannot be played */
    }
    if (result != NULL) {
        PyErr_Clear();
    }
    entry_write(call->passage->kind, question, result == NULL ? RAISED : RETURNED, &bytes);
    free(bytes.bytes);
    errno = saved;
    return result;
}

/* ---- playing ---- */

static PyObject *name_of(uint64_t kind)
{
    PyObject *name = Py_None;
    if (journal.kinds != NULL && kind < (uint64_t)PyTuple_GET_SIZE(journal.kinds)) {
        name = PyTuple_GET_ITEM(journal.kinds, (Py_ssize_t)kind);
    }
    return name;
}

static PyObject *diverge(uint64_t kind, PyObject *const *arguments, Py_ssize_t count,
                         const Entry *recorded)
{
    inside = true;
    PyObject *given = PyTuple_New(count);
    for (Py_ssize_t i = 0; given != NULL && i < count; i++) {
        Py_INCREF(arguments[i]);
        PyTuple_SET_ITEM(given, i, arguments[i]);
    }
    PyObject *result = PyObject_CallFunction(journal.diverged, "OOO", name_of(kind),
                                             given == NULL ? Py_None : given,
                                             recorded == NULL ? Py_None : name_of(recorded->kind));
    Py_XDECREF(given);
    Py_XDECREF(result);
    if (!PyErr_Occurred()) {
        PyErr_SetString(PyExc_RuntimeError, "the program went another way");
    }
    return NULL;
}

/* The entry that comes next, which must be this one. */
static bool taken(uint64_t kind, uint32_t question, PyObject *const *arguments, Py_ssize_t count,
                  Entry *entry)
{
    bool found = entry_peek(entry);
    if (!found || entry->kind != kind || entry->digest != question) {
        diverge(kind, arguments, count, found ? entry : NULL);
        return false;
    }
    entry_take();
    return true;
}

PyObject *entry_played(uint64_t kind, uint32_t question, PyObject *const *arguments,
                       Py_ssize_t count)
{
    Entry entry;
    if (!taken(kind, question, arguments, count, &entry)) {
        return NULL;
    }
    if (entry.payload.at == entry.payload.end) {
        entry.kind = kind;
        return diverge(kind, arguments, count, &entry);
    }
    if (entry.how == RAISED) {
        error_decode(&entry.payload, arguments, count);
        return NULL;
    }
    return value_decode(&entry.payload, 0);
}

static PyObject *played_into(const Call *call, PyObject *data)
{
    Py_buffer view;
    if (data == NULL || !PyBytes_CheckExact(data) || call->count == 0) {
        return data;
    }
    if (PyObject_GetBuffer(call->arguments[0], &view, PyBUF_WRITABLE) != 0) {
        Py_DECREF(data);
        return NULL;
    }
    Py_ssize_t length = PyBytes_GET_SIZE(data);
    bool fits = length <= view.len;
    if (fits) {
        memcpy(view.buf, PyBytes_AS_STRING(data), (size_t)length);
    }
    PyBuffer_Release(&view);
    Py_DECREF(data);
    if (!fits) {
        return diverge(call->passage->kind, call->arguments, call->count, NULL);
    }
    return PyLong_FromSsize_t(length);
}

static PyObject *played(const Call *call)
{
    unsigned how = call->passage->how;
    Py_ssize_t count = all_arguments(call);
    uint32_t question = digest(call);
    if ((how & OF_PATH) && call->count > 0) {
        PyObject *path = call->arguments[0];
        if (!PyUnicode_Check(path) && !PyBytes_Check(path) && !PyLong_Check(path) &&
            path != Py_None) {
            /* It may be an object of the program, which is asked for its path as before. */
            Py_XDECREF(PyOS_FSPath(path));
            PyErr_Clear();
        }
    }
    PyObject *result = entry_played(call->passage->kind, question, call->arguments, count);
    if (how & FILLS) {
        return played_into(call, result);
    }
    if ((how & SIGNALS) && result != NULL && call->count == 2) {
        /* One that is sent to the program itself arrives once more. */
        long process = PyLong_AsLong(call->arguments[0]), number = PyLong_AsLong(call->arguments[1]);
        if (!PyErr_Occurred() && (process == 0 || process == journal.process)) {
            kill(getpid(), (int)number);
        }
        PyErr_Clear();
    }
    if ((how & SENDS) && result == Py_True && call->count > 0) {
        Py_ssize_t length = length_of(call->arguments[call->count - 1]);
        Py_DECREF(result);
        return PyLong_FromSsize_t(length < 0 ? 0 : length);
    }
    return result;
}

/* ---- through the entrance ---- */

/* What a handler does is nobody's to trace or to record. What it makes does not bring the next
 * collection of garbage nearer, and no signal arrives in it: both run code of the program. */
static PyObject *called_aside(PyObject *handler, PyObject *const *arguments, size_t count)
{
    PyThreadState *thread = PyThreadState_Get();
    int *young = &PyInterpreterState_Get()->gc.generations[0].count;
    int before = *young;
    int collects = PyGC_Disable();
    PyThreadState_EnterTracing(thread);
    inside = true;
    PyObject *result = PyObject_Vectorcall(handler, arguments, count, NULL);
    inside = false;
    PyThreadState_LeaveTracing(thread);
    if (collects) {
        PyGC_Enable();
    }
    *young = before;
    if (result == NULL) {
        /* As if it had been raised by the function itself. */
        PyObject *type, *error, *traceback;
        PyErr_Fetch(&type, &error, &traceback);
        PyErr_NormalizeException(&type, &error, &traceback);
        Py_XDECREF(traceback);
        if (error != NULL) {
            PyException_SetTraceback(error, Py_None);
        }
        PyErr_Restore(type, error, NULL);
    }
    return result;
}

/* Let a handler note what came of a call: its result, or the exception that is raised. */
static void noted(PyObject *handler, PyObject *result, PyObject *positional, PyObject *named)
{
    PyObject *type = NULL, *error = NULL, *traceback = NULL;
    if (result == NULL) {
        PyErr_Fetch(&type, &error, &traceback);
        PyErr_NormalizeException(&type, &error, &traceback);
    }
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    PyObject *given[] = {result == NULL ? Py_None : result, error == NULL ? Py_None : error,
                         positional, named == NULL ? Py_None : named};
    PyObject *done = called_aside(handler, given, 4);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    Py_XDECREF(done);
    PyErr_Clear();
    if (type != NULL) {
        PyErr_Restore(type, error, traceback);
    }
}

static PyObject *handled(const Call *call)
{
    Passage *passage = call->passage;
    bool of_method = (passage->copy.ml_flags & METH_METHOD) != 0;
    PyObject *original = PyCMethod_New(&passage->copy, call->self, NULL,
                                       of_method ? call->type : NULL);
    PyObject *positional = PyTuple_New(call->count), *named = PyDict_New(), *result = NULL;
    bool done = original != NULL && positional != NULL && named != NULL;
    for (Py_ssize_t i = 0; done && i < call->count; i++) {
        Py_INCREF(call->arguments[i]);
        PyTuple_SET_ITEM(positional, i, call->arguments[i]);
    }
    if (done && call->dictionary != NULL) {
        done = PyDict_Update(named, call->dictionary) == 0;
    }
    for (Py_ssize_t i = call->count; done && i < all_arguments(call); i++) {
        done = PyDict_SetItem(named, PyTuple_GET_ITEM(call->names, i - call->count),
                              call->arguments[i]) == 0;
    }
    if (done && (passage->how & NOTED) && journal.mode == WRITING) {
        inside = true;
        result = call_original(call);
        inside = false;
        noted(passage->handler, result, positional, named);
    } else if (done) {
        PyObject *self = call->self == NULL ? Py_None : call->self;
        PyObject *given[] = {original, self, positional, named};
        result = called_aside(passage->handler, given, 4);
    }
    Py_XDECREF(original);
    Py_XDECREF(positional);
    Py_XDECREF(named);
    return result;
}

static PyObject *started_thread(const Call *call)
{
    PyObject *result = call_original(call);
    if (result == NULL) {
        return NULL;
    }
    /* The thread waits for the GIL, so nothing of it can have been noted. */
    PyObject *ident = PyLong_CheckExact(result) ? Py_NewRef(result)
                                                : PyObject_GetAttrString(result, "ident");
    unsigned long number = ident == NULL ? 0 : PyLong_AsUnsignedLong(ident);
    Py_XDECREF(ident);
    PyErr_Clear();
    thread_started(number);
    return result;
}

/* Standard output and error are not noted: when their buffers are emptied depends on whether a
 * terminal shows them. */
static PyObject *printed(const Call *call)
{
    Py_ssize_t length = call->count > 0 ? length_of(call->arguments[call->count - 1]) : -1;
    return journal.mode == WRITING || length < 0 ? call_original(call) : PyLong_FromSsize_t(length);
}

static PyObject *through(const Call *call)
{
    unsigned how = call->passage->how, fewer = (how >> FEWER_SHIFT) & 3;
    if (!is_watched() || (fewer > 0 && call->count >= (Py_ssize_t)fewer) ||
        ((how & NOT_IMPORTS) && is_for_import())) {
        return call_original(call);
    }
    if (how & (OF_FILE | OF_DESCRIPTOR)) {
        int descriptor = descriptor_of(call);
        if (is_regular(descriptor)) {
            return call_original(call);
        }
        if ((how & SENDS) && (descriptor == 1 || descriptor == 2)) {
            return printed(call);
        }
    }
    if (how & STARTS_THREAD) {
        return started_thread(call);
    }
    if (how & HANDLED) {
        return handled(call);
    }
    return journal.mode == WRITING ? written(call) : played(call);
}

static PyObject *through_plain(Passage *passage, PyObject *self, PyObject *argument)
{
    int convention = passage->copy.ml_flags & CONVENTION;
    Call call = {.passage = passage, .self = self};
    if (convention == METH_O) {
        call.arguments = &argument;
        call.count = 1;
    } else if (convention == METH_VARARGS) {
        call.tuple = argument;
        call.arguments = &PyTuple_GET_ITEM(argument, 0);
        call.count = PyTuple_GET_SIZE(argument);
    }
    return through(&call);
}

static PyObject *through_keywords(Passage *passage, PyObject *self, PyObject *tuple,
                                  PyObject *dictionary)
{
    Call call = {passage, self, NULL, &PyTuple_GET_ITEM(tuple, 0), PyTuple_GET_SIZE(tuple),
                 NULL, tuple, dictionary};
    return through(&call);
}

static PyObject *through_vector(Passage *passage, PyObject *self, PyTypeObject *type,
                                PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    Call call = {passage, self, type, arguments, count, names, NULL, NULL};
    return through(&call);
}

#define ENTRANCES(n)                                                                              \
    static PyObject *plain_##n(PyObject *s, PyObject *a)                                          \
    {                                                                                             \
        return through_plain(&passages[n - FIRST_PLACE], s, a);                                   \
    }                                                                                             \
    static PyObject *keywords_##n(PyObject *s, PyObject *a, PyObject *k)                          \
    {                                                                                             \
        return through_keywords(&passages[n - FIRST_PLACE], s, a, k);                             \
    }                                                                                             \
    static PyObject *fast_##n(PyObject *s, PyObject *const *a, Py_ssize_t c)                      \
    {                                                                                             \
        return through_vector(&passages[n - FIRST_PLACE], s, NULL, a, c, NULL);                   \
    }                                                                                             \
    static PyObject *named_##n(PyObject *s, PyObject *const *a, Py_ssize_t c, PyObject *k)        \
    {                                                                                             \
        return through_vector(&passages[n - FIRST_PLACE], s, NULL, a, c, k);                      \
    }                                                                                             \
    static PyObject *method_##n(PyObject *s, PyTypeObject *t, PyObject *const *a, size_t c,       \
                                PyObject *k)                                                      \
    {                                                                                             \
        return through_vector(&passages[n - FIRST_PLACE], s, t, a, (Py_ssize_t)c, k);             \
    }
#define TEN(M, n) M(n##0) M(n##1) M(n##2) M(n##3) M(n##4) M(n##5) M(n##6) M(n##7) M(n##8) M(n##9)
#define ALL(M)                                                                                    \
    TEN(M, 10) TEN(M, 11) TEN(M, 12) TEN(M, 13) TEN(M, 14) TEN(M, 15) TEN(M, 16) TEN(M, 17)       \
    TEN(M, 18) TEN(M, 19) TEN(M, 20) TEN(M, 21) TEN(M, 22) TEN(M, 23) TEN(M, 24) TEN(M, 25)       \
    TEN(M, 26) TEN(M, 27) TEN(M, 28) TEN(M, 29)

ALL(ENTRANCES)

#define ANY(function) ((PyCFunction)(void (*)(void))(function))
#define ROW(n) {ANY(plain_##n), ANY(keywords_##n), ANY(fast_##n), ANY(named_##n), ANY(method_##n)},
static const PyCFunction entrances[PLACES][5] = {ALL(ROW)};

static int column_of(int flags)
{
    switch (flags & CONVENTION) {
    case METH_NOARGS:
    case METH_O:
    case METH_VARARGS:
        return 0;
    case METH_VARARGS | METH_KEYWORDS:
        return 1;
    case METH_FASTCALL:
        return 2;
    case METH_FASTCALL | METH_KEYWORDS:
        return 3;
    case METH_METHOD | METH_FASTCALL | METH_KEYWORDS:
        return 4;
    default:
        return -1;
    }
}

static PyMethodDef *definition_of(PyObject *function)
{
    if (PyCFunction_Check(function)) {
        return ((PyCFunctionObject *)function)->m_ml;
    }
    if (Py_TYPE(function) == &PyMethodDescr_Type || Py_TYPE(function) == &PyClassMethodDescr_Type) {
        return ((PyMethodDescrObject *)function)->d_method;
    }
    return NULL;
}

/* True if calls of the function come through here from now on. */
PyObject *passage_exchange(PyObject *function, uint64_t kind, unsigned how, PyObject *handler)
{
    PyMethodDef *definition = definition_of(function);
    int column = definition == NULL ? -1 : column_of(definition->ml_flags);
    if (column < 0 || passage_count == PLACES) {
        Py_RETURN_FALSE;
    }
    for (int i = 0; i < passage_count; i++) {
        if (passages[i].definition == definition) {
            Py_RETURN_TRUE;
        }
    }
    Passage *passage = &passages[passage_count];
    passage->definition = definition;
    passage->copy = *definition;
    passage->kind = kind;
    passage->how = how;
    Py_XINCREF(handler);
    passage->handler = handler;
    definition->ml_meth = entrances[passage_count++][column];
    Py_RETURN_TRUE;
}

/* ---- files, which are opened by making one ---- */

static initproc file_init;
static PyObject *file_handler;

static PyObject *given_as(PyObject *positional, PyObject *named, Py_ssize_t place,
                          const char *name)
{
    if (place < PyTuple_GET_SIZE(positional)) {
        return PyTuple_GET_ITEM(positional, place);
    }
    return named == NULL ? NULL : PyDict_GetItemString(named, name);
}

static int through_file_init(PyObject *self, PyObject *positional, PyObject *named)
{
    PyObject *name = given_as(positional, named, 0, "file");
    PyObject *opener = given_as(positional, named, 3, "opener");
    bool has_opener = opener != NULL && opener != Py_None;
    if (!is_watched() || name == NULL || PyLong_Check(name) || has_opener || is_for_import()) {
        by_opener = has_opener && journal.mode == PLAYING;
        return file_init(self, positional, named);
    }
    if (journal.mode == WRITING) {
        inside = true;
        int failed = file_init(self, positional, named);
        inside = false;
        noted(file_handler, failed ? NULL : self, positional, named);
        return failed;
    }
    PyObject *given[] = {self, positional, named == NULL ? Py_None : named};
    PyObject *result = called_aside(file_handler, given, 3);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

static PyObject *init_as_before(PyObject *Py_UNUSED(module), PyObject *arguments, PyObject *named)
{
    PyObject *self = PyTuple_GET_SIZE(arguments) > 0 ? PyTuple_GET_ITEM(arguments, 0) : NULL;
    PyObject *rest = PyTuple_GetSlice(arguments, 1, PyTuple_GET_SIZE(arguments));
    int failed = self == NULL || rest == NULL || file_init == NULL ? -1
                                                                   : file_init(self, rest, named);
    Py_XDECREF(rest);
    if (failed) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef init_definition = {"file_init", ANY(init_as_before),
                                      METH_VARARGS | METH_KEYWORDS,
                                      "Opens a file as it was done before."};

/* From here on FileIO(...) is the handler's; the way in which it was done before. */
PyObject *files_exchange(PyObject *file_type, PyObject *handler)
{
    PyTypeObject *type = (PyTypeObject *)file_type;
    PyObject *descriptor = PyDict_GetItemString(type->tp_dict, "__init__");
    PyObject *fileno = PyDict_GetItemString(type->tp_dict, "fileno");
    if (descriptor == NULL || !Py_IS_TYPE(descriptor, &PyWrapperDescr_Type) || fileno == NULL ||
        file_init != NULL) {
        PyErr_SetString(PyExc_RuntimeError, "FileIO is not what it was");
        return NULL;
    }
    fileno_definition = definition_of(fileno);
    if (fileno_definition != NULL && (fileno_definition->ml_flags & CONVENTION) != METH_NOARGS) {
        fileno_definition = NULL;
    }
    file_init = type->tp_init;
    Py_INCREF(handler);
    file_handler = handler;
    type->tp_init = through_file_init;
    ((PyWrapperDescrObject *)descriptor)->d_wrapped = (void *)through_file_init;
    return PyCFunction_New(&init_definition, NULL);
}

/* ---- directories that are walked ---- */

static iternextfunc scandir_next;
static uint64_t scandir_kind;

static PyObject *through_scandir_next(PyObject *self)
{
    bool noted = is_watched() && journal.mode == WRITING && !is_for_import();
    PyObject *entry = scandir_next(self);
    if (!noted || (entry == NULL && PyErr_Occurred())) {
        return entry;
    }
    Bytes bytes = {0};
    PyObject *parts = NULL;
    if (entry == NULL) {
        parts = Py_NewRef(Py_None);
    } else {
        PyObject *name = PyObject_GetAttrString(entry, "name");
        PyObject *path = PyObject_GetAttrString(entry, "path");
        parts = name == NULL || path == NULL ? NULL : PyTuple_Pack(2, name, path);
        Py_XDECREF(name);
        Py_XDECREF(path);
    }
    if (parts == NULL || !value_encode(&bytes, parts, 0)) {
        bytes.length = 0;
    }
    PyErr_Clear();
    entry_write(scandir_kind, digest_of(NULL, 0, NULL), RETURNED, &bytes);
    free(bytes.bytes);
    Py_XDECREF(parts);
    return entry;
}

static void exchange_scandir(PyObject *iterator, uint64_t kind)
{
    PyTypeObject *type = Py_TYPE(iterator);
    if (scandir_next == NULL) {
        scandir_next = type->tp_iternext;
        scandir_kind = kind;
        type->tp_iternext = through_scandir_next;
        PyObject *descriptor = PyDict_GetItemString(type->tp_dict, "__next__");
        if (descriptor != NULL && Py_IS_TYPE(descriptor, &PyWrapperDescr_Type)) {
            ((PyWrapperDescrObject *)descriptor)->d_wrapped = (void *)through_scandir_next;
        }
    }
}
