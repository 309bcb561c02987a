/* Interposed functions of the interpreter that reach the outside world.
 *
 * As in the recorder's interposition.c, only the address in a function's method definition is
 * exchanged: the function objects stay. A C function cannot know which definition it was called by,
 * so each of the five calling conventions has one trampoline for each index of the table. Once
 * installed they stay; with the journal off they only pass calls on.
 *
 * While writing, the function is called and its outcome becomes an entry. While playing it is not
 * called: the next entry must have the same kind and the same arguments. If an outcome is not
 * enough (a file is opened, a buffer is filled), a handler in Python does the rest. */
#include "interposition.h"

enum { FIRST_NUMBER = 100, MAX_FUNCTIONS = 200 };
static Interposed functions[MAX_FUNCTIONS];
static int function_count;

/* Calls a handler untraced and unrecorded. Its allocations do not count for the next garbage
 * collection, and no signal is handled in it: both would run code of the program. */
PyObject *call_handler(PyObject *handler, PyObject *const *arguments, size_t count)
{
    PyThreadState *thread = PyThreadState_Get();
    int *young = young_objects(thread);
    int before = *young;
    int collects = PyGC_Disable();
    PyThreadState_EnterTracing(thread);
    bool was_inside = set_inside(true);
    PyObject *result = PyObject_Vectorcall(handler, arguments, count, NULL);
    set_inside(was_inside);
    PyThreadState_LeaveTracing(thread);
    if (collects) {
        PyGC_Enable();
    }
    *young = before;
    if (result == NULL) {
        /* The traceback must look as if the function itself had raised it. */
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

/* Lets a handler write the entry of a call: its result, or the exception that is raised. */
void write_by_handler(PyObject *handler, PyObject *result, PyObject *positional, PyObject *named)
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
    PyObject *done = call_handler(handler, given, 4);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    Py_XDECREF(done);
    PyErr_Clear();
    if (type != NULL) {
        PyErr_Restore(type, error, traceback);
    }
}

static PyObject *handle_call(const Call *call)
{
    Interposed *function = call->function;
    bool of_method = (function->copy.ml_flags & METH_METHOD) != 0;
    PyObject *original = PyCMethod_New(&function->copy, call->self, NULL,
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
    if (done && (function->how & NOTED) && journal.mode == WRITING) {
        inside = true;
        result = call_original(call);
        inside = false;
        write_by_handler(function->handler, result, positional, named);
    } else if (done) {
        PyObject *self = call->self == NULL ? Py_None : call->self;
        PyObject *given[] = {original, self, positional, named};
        result = call_handler(function->handler, given, 4);
    }
    Py_XDECREF(original);
    Py_XDECREF(positional);
    Py_XDECREF(named);
    return result;
}

static PyObject *start_thread(const Call *call)
{
    PyObject *result = call_original(call);
    if (result == NULL) {
        return NULL;
    }
    /* The thread still waits for the GIL, so it has written no entry. */
    PyObject *ident = PyLong_CheckExact(result) ? Py_NewRef(result)
                                                : PyObject_GetAttrString(result, "ident");
    unsigned long number = ident == NULL ? 0 : PyLong_AsUnsignedLong(ident);
    Py_XDECREF(ident);
    PyErr_Clear();
    thread_started(number);
    return result;
}

/* Passes output on. Standard output and error have no entries: when their buffers are flushed
 * depends on whether they are a terminal. A re-run prints only to files: its own, or one that
 * captures its output. */
static PyObject *pass_output(const Call *call, int descriptor)
{
    Py_ssize_t length = call->count > 0 ? length_of(call->arguments[call->count - 1]) : -1;
    bool is_done = journal.mode == WRITING || length < 0 || is_file(descriptor);
    return is_done ? call_original(call) : PyLong_FromSsize_t(length);
}

static PyObject *dispatch(const Call *call)
{
    unsigned how = call->function->how, fewer = (how >> FEWER_SHIFT) & 3;
    if (!is_watched() || (fewer > 0 && call->count >= (Py_ssize_t)fewer) ||
        ((how & NOT_IMPORTS) && is_for_import())) {
        return call_original(call);
    }
    /* A handler reaches the outside world only if it writes an entry. */
    journal.passed += (how & HANDLED) == 0;
    if (how & (OF_FILE | OF_DESCRIPTOR)) {
        int descriptor = descriptor_of(call);
        if (is_regular(descriptor)) {
            return call_original(call);
        }
        if ((how & SENDS) && (descriptor == 1 || descriptor == 2)) {
            return pass_output(call, descriptor);
        }
    }
    if (how & STARTS_THREAD) {
        return start_thread(call);
    }
    if ((how & WARNS) && journal.mode == PLAYING) {
        /* Only for the warning; if that raises, so does the recorded entry. */
        Py_XDECREF(call_original(call));
        PyErr_Clear();
    }
    if (how & HANDLED) {
        return handle_call(call);
    }
    return journal.mode == WRITING ? write_call(call) : play_call(call);
}

static PyObject *dispatch_plain(Interposed *function, PyObject *self, PyObject *argument)
{
    int convention = function->copy.ml_flags & CONVENTION;
    Call call = {.function = function, .self = self};
    if (convention == METH_O) {
        call.arguments = &argument;
        call.count = 1;
    } else if (convention == METH_VARARGS) {
        call.tuple = argument;
        call.arguments = &PyTuple_GET_ITEM(argument, 0);
        call.count = PyTuple_GET_SIZE(argument);
    }
    return dispatch(&call);
}

static PyObject *dispatch_keywords(Interposed *function, PyObject *self, PyObject *tuple,
                                  PyObject *dictionary)
{
    Call call = {function, self, NULL, &PyTuple_GET_ITEM(tuple, 0), PyTuple_GET_SIZE(tuple),
                 NULL, tuple, dictionary};
    return dispatch(&call);
}

static PyObject *dispatch_vector(Interposed *function, PyObject *self, PyTypeObject *type,
                                PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    Call call = {function, self, type, arguments, count, names, NULL, NULL};
    return dispatch(&call);
}

#define TRAMPOLINES(n)                                                                           \
    static PyObject *plain_##n(PyObject *s, PyObject *a)                                          \
    {                                                                                             \
        return dispatch_plain(&functions[n - FIRST_NUMBER], s, a);                               \
    }                                                                                             \
    static PyObject *keywords_##n(PyObject *s, PyObject *a, PyObject *k)                          \
    {                                                                                             \
        return dispatch_keywords(&functions[n - FIRST_NUMBER], s, a, k);                         \
    }                                                                                             \
    static PyObject *fast_##n(PyObject *s, PyObject *const *a, Py_ssize_t c)                      \
    {                                                                                             \
        return dispatch_vector(&functions[n - FIRST_NUMBER], s, NULL, a, c, NULL);               \
    }                                                                                             \
    static PyObject *named_##n(PyObject *s, PyObject *const *a, Py_ssize_t c, PyObject *k)        \
    {                                                                                             \
        return dispatch_vector(&functions[n - FIRST_NUMBER], s, NULL, a, c, k);                  \
    }                                                                                             \
    static PyObject *method_##n(PyObject *s, PyTypeObject *t, PyObject *const *a, size_t c,       \
                                PyObject *k)                                                      \
    {                                                                                             \
        return dispatch_vector(&functions[n - FIRST_NUMBER], s, t, a, (Py_ssize_t)c, k);         \
    }
#define TEN(M, n) M(n##0) M(n##1) M(n##2) M(n##3) M(n##4) M(n##5) M(n##6) M(n##7) M(n##8) M(n##9)
#define ALL(M)                                                                                    \
    TEN(M, 10) TEN(M, 11) TEN(M, 12) TEN(M, 13) TEN(M, 14) TEN(M, 15) TEN(M, 16) TEN(M, 17)       \
    TEN(M, 18) TEN(M, 19) TEN(M, 20) TEN(M, 21) TEN(M, 22) TEN(M, 23) TEN(M, 24) TEN(M, 25)       \
    TEN(M, 26) TEN(M, 27) TEN(M, 28) TEN(M, 29)

ALL(TRAMPOLINES)

#define ROW(n)                                                                         \
    {ANY_FUNCTION(plain_##n), ANY_FUNCTION(keywords_##n), ANY_FUNCTION(fast_##n),      \
     ANY_FUNCTION(named_##n), ANY_FUNCTION(method_##n)},
static const PyCFunction trampolines[MAX_FUNCTIONS][5] = {ALL(ROW)};

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

PyMethodDef *definition_of(PyObject *function)
{
    if (PyCFunction_Check(function)) {
        return ((PyCFunctionObject *)function)->m_ml;
    }
    if (Py_TYPE(function) == &PyMethodDescr_Type || Py_TYPE(function) == &PyClassMethodDescr_Type) {
        return ((PyMethodDescrObject *)function)->d_method;
    }
    return NULL;
}

/* Installs a trampoline for a function; returns whether its calls are interposed now. */
PyObject *interpose(PyObject *function, uint64_t kind, unsigned how, PyObject *handler)
{
    PyMethodDef *definition = definition_of(function);
    int column = definition == NULL ? -1 : column_of(definition->ml_flags);
    if (column < 0 || function_count == MAX_FUNCTIONS) {
        Py_RETURN_FALSE;
    }
    for (int i = 0; i < function_count; i++) {
        if (functions[i].definition == definition) {
            Py_RETURN_TRUE;
        }
    }
    Interposed *interposed = &functions[function_count];
    interposed->definition = definition;
    interposed->copy = *definition;
    interposed->kind = kind;
    interposed->how = how;
    Py_XINCREF(handler);
    interposed->handler = handler;
    definition->ml_meth = trampolines[function_count++][column];
    Py_RETURN_TRUE;
}
