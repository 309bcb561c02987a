/* Working out tags, in C: the twin of the functions that rewritten code calls most.
 *
 * Each function here does what the Python function of the same name does, on the ways that most
 * calls take, and leaves all else to that function (`twin_does`), before anything was done. So the
 * Python functions are the meaning, and work alone where there is no compiler. Classes are those
 * of tags.py, state.py and shadows.py, whose slots are read where the interpreter keeps them.
 *
 *   whole.c      the module: what is bound to what, and the table of functions
 *   tags.c       a tag in little memory
 *   shadows.c    what objects hold
 *   reading.c    all that operands hold
 *   identity.c   what operands hold, by identity
 *   making.c     lists and tuples
 *   hiding.c     what objects may have kept, and what was there before
 *   running.c    what is out of sight and runs
 *   operators.c  operators, tests and choices
 *   outside.c    calls of code out of sight, what they gave and may have changed
 *   places.c     attributes and items
 *   iterators.c  what iterators give
 *   loops.c      loops and unpacking
 *   calls.c      calls, from the caller
 *   entering.c   calls, from the callee
 *
 * All state is guarded by the GIL. */

#ifndef WHENCE_TAGGING_H
#define WHENCE_TAGGING_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <structmember.h>

enum {
    CONST, OP, LOST, BOUND, TEXT, NEW, INPUT, EXC, WHOLE,
    ARG, RET, LOAD, STORE, PHI, SEL, PART, AMBIG, CTL, FRAME, KINDS
};

/* The functions that have a twin here, and those of Python that go on where C does not. */
#define TWINS(X)                                                                                   \
    X(load_global) X(augment) X(unary) X(test) X(test_and_note) X(select) X(attribute)             \
    X(subscript) X(set_attribute) X(place_tag) X(each) X(unpack) X(natively) X(shape_of)           \
    X(everything) X(by_identity) X(held) X(in_step) X(hides) X(hide) X(part_of) X(scan) X(told)    \
    X(next_pair) X(advanced) X(pairs_of) X(stepped) X(nested) X(outside_tag) X(reread)             \
    X(held_out_of_sight) X(identified) X(of_sequence) X(make_list) X(make_tuple) X(found_in)       \
    X(prepare) X(bind_arguments) X(result) X(enter) X(returned) X(leave)
#define GOES_ON(X)                                                                                 \
    X(note_failure) X(read_attribute) X(read_item) X(wrote_attribute) X(store_attribute)           \
    X(item_tag) X(finish_function) X(nearest) X(roots) X(note_end) X(given_tag) X(iterator_of)     \
    X(given_outside) X(synchronise) X(changed_in_frame) X(finish_outside)

#define AS_TWIN(name) T_##name,
#define AS_REST(name) R_##name,
enum { TWINS(AS_TWIN) TWIN_COUNT };
enum { GOES_ON(AS_REST) REST_COUNT };

/* The slots of the classes that are read and written here. */
#define SLOTS(X)                                                                                   \
    X(Run, time) X(Run, number) X(Run, shadows) X(Run, holders) X(Run, held) X(Run, frames)        \
    X(Run, runs) X(Run, sources) X(Run, ends) X(Run, hiding) X(Run, loose) X(Run, passed)          \
    X(Run, on_outside) X(Run, on_enter) X(Run, on_leave) X(Run, activations) X(Run, root)          \
    X(Run, modules) X(Run, kept) X(Run, behind) X(Run, has_hidden) X(Run, is_scanned)              \
    X(Run, slots) X(Run, heard) X(Run, namespaces) X(Run, expressions) X(Going, activation)        \
    X(Going, position) X(SequenceSource, owner) X(SequenceSource, is_backwards)                    \
    X(Activation, arguments) X(Activation, calls) X(Activation, control) X(Activation, end)        \
    X(Activation, failure) X(Activation, function) X(Activation, guarded) X(Activation, made)      \
    X(Activation, number) X(Activation, operation) X(Activation, outs) X(Activation, parent)       \
    X(Activation, result) X(Activation, roots) X(Activation, sent) X(Activation, start)            \
    X(Activation, tests) X(Activation, value) X(Activation, values) X(Operation, activation)       \
    X(Operation, callbacks) X(Operation, control) X(Operation, expected) X(Operation, operands)    \
    X(Operation, site) X(Operation, text) X(Pending, activation) X(Pending, arguments)             \
    X(Pending, before) X(Pending, code) X(Pending, control) X(Pending, defined)                    \
    X(Pending, function) X(Pending, keyword_tags) X(Pending, keywords) X(Pending, run)             \
    X(Pending, site) X(Pending, starred) X(Pending, tag) X(Pending, tags) X(Pending, values)       \
    X(Modelled, arguments) X(Modelled, before) X(Prepared, arguments) X(Prepared, before)          \
    X(Prepared, called) X(Prepared, finish) X(Prepared, function) X(Prepared, in_sight)            \
    X(Prepared, keywords) X(Prepared, operation) X(Prepared, tag) X(Shadow, address)               \
    X(Shadow, again) X(Shadow, attribute_values) X(Shadow, attributes) X(Shadow, items)            \
    X(Shadow, keys) X(Shadow, object) X(Shadow, read) X(Shadow, shape) X(Shadow, values)           \
    X(FunctionInfo, free_names) X(FunctionInfo, global_names) X(FunctionInfo, is_stepped)          \
    X(FunctionInfo, has_named_rest) X(FunctionInfo, has_rest) X(FunctionInfo, keyword_only)        \
    X(FunctionInfo, positional) X(Site, is_guarded)

#define AS_OFFSET(class, slot) static Py_ssize_t class##_##slot;
SLOTS(AS_OFFSET)
#define SLOT(object, name) (*(PyObject **)((char *)(object) + (name)))

/* What `bind` is given: the run, the state of the threads, classes, tables. */
#define BOUND_NAMES(X)                                                                             \
    X(RUN) X(HERE) X(Activation) X(Operation) X(Pending) X(Modelled) X(Prepared) X(Shadow)         \
    X(Run) X(Going) X(SequenceSource) X(FunctionInfo) X(Site) X(deque) X(FAILED) X(FUNCTIONS)      \
    X(SITES) X(CODES) X(DEFAULTS) X(NO_KEYWORDS) X(GROUP) X(getenv) X(PROXY) X(MODELS)             \
    X(METHOD_MODELS)
#define AS_GLOBAL(name) static PyObject *the_##name;
BOUND_NAMES(AS_GLOBAL)

static PyObject *twins[TWIN_COUNT];
static PyObject *rests[REST_COUNT];
static PyObject *kinds[KINDS];
static PyObject *empty_tuple, *zero, *minus_one;
static PyObject *name_operation, *name_pending, *name_behind, *name_append, *name_frombytes;
static PyObject *word_item, *word_attribute, *no_text, *name_dict, *name_note_maker, *name_note_dropped;
static PyObject *builtin_len, *builtin_isinstance, *builtin_print;
static PyCFunction list_append;         /* the C function behind `[].append` */
static PyTypeObject *method_wrapper;    /* the type of `[].__len__` */
static bool enabled;

static inline bool has_places(PyObject *thing) /* what holds items */
{
    return PyList_Check(thing) || PyTuple_Check(thing) || PyDict_Check(thing) ||
           PyAnySet_Check(thing) || PyObject_TypeCheck(thing, (PyTypeObject *)the_deque);
}

static inline void put(PyObject **slot, PyObject *value) /* keeps a reference of its own */
{
    PyObject *before = *slot;
    *slot = Py_NewRef(value);
    Py_XDECREF(before);
}

static inline void put_new(PyObject **slot, PyObject *value) /* takes the reference */
{
    PyObject *before = *slot;
    *slot = value;
    Py_XDECREF(before);
}

static inline PyObject *twin_does(int which, PyObject *const *given, Py_ssize_t count)
{
    return PyObject_Vectorcall(twins[which], given, (size_t)count, NULL);
}

static inline bool is_scalar(PyObject *value) /* tags.SCALARS */
{
    PyTypeObject *type = Py_TYPE(value);
    return type == &PyUnicode_Type || type == &PyLong_Type || type == &PyBool_Type ||
           value == Py_None || type == &PyFloat_Type || type == &PyBytes_Type ||
           type == &PyComplex_Type || type == &PyRange_Type || type == &PyEllipsis_Type;
}

static inline bool is_pair(PyObject *given)
{
    return PyTuple_CheckExact(given) && PyTuple_GET_SIZE(given) == 2;
}

/* Functions, classes and modules: the same wherever they come from. */
static inline bool is_shared(PyObject *value) /* shadows._SHARED */
{
    return PyType_Check(value) || PyFunction_Check(value) || PyModule_Check(value) ||
           PyCFunction_Check(value);
}

#define VALUE(pair) PyTuple_GET_ITEM(pair, 0)
#define TAG(pair) PyTuple_GET_ITEM(pair, 1)

/* --- tags ---------------------------------------------------------------------------------------- */

typedef struct {
    PyObject_HEAD
    uint8_t kind;
    uint8_t truth;  /* of a test: 1 it did not hold, 2 it did; else 0 */
    uint16_t count; /* of what stands in `rest`: the control, and all else but the outcome */
    uint32_t site;
    PyObject *rest[];
} Tag;

static PyTypeObject TagType;

static inline int kind_of(PyObject *tag)
{
    return Py_IS_TYPE(tag, &TagType) ? ((Tag *)tag)->kind
                                     : (int)PyLong_AsLong(PyTuple_GET_ITEM(tag, 0));
}

static inline long site_of(PyObject *tag)
{
    return Py_IS_TYPE(tag, &TagType) ? (long)((Tag *)tag)->site
                                     : PyLong_AsLong(PyTuple_GET_ITEM(tag, 1));
}

/* How many fields a tag has, as a tuple; a test's outcome is not counted. */
static inline Py_ssize_t fields_of(PyObject *tag)
{
    return Py_IS_TYPE(tag, &TagType) ? 2 + ((Tag *)tag)->count : PyTuple_GET_SIZE(tag);
}

/* A field from the third on; borrowed. */
static inline PyObject *field(PyObject *tag, Py_ssize_t place)
{
    return Py_IS_TYPE(tag, &TagType) ? ((Tag *)tag)->rest[place - 2]
                                     : PyTuple_GET_ITEM(tag, place);
}

static inline bool is_control(PyObject *given)
{
    return Py_IS_TYPE(given, &TagType)
               ? ((Tag *)given)->kind >= CTL
               : PyTuple_CheckExact(given) && PyTuple_GET_SIZE(given) > 4;
}

/* A tag: a kind, where and under which control, and the rest. */
static PyObject *tag_with(int kind, PyObject *site, PyObject *control, PyObject *const *rest,
                          Py_ssize_t count);

#define TAG_WITH(kind, site, control, ...)                                                         \
    tag_with(kind, site, control, (PyObject *const[]){__VA_ARGS__},                                \
             sizeof((PyObject *const[]){__VA_ARGS__}) / sizeof(PyObject *))

/* Some of what a tag needs. */
typedef struct {
    PyObject *const *tags;
    Py_ssize_t count;
} Parts;

/* A pair of two new references; NULL if one of them is. */
static inline PyObject *pair_of(PyObject *value, PyObject *tag)
{
    PyObject *made = value != NULL && tag != NULL ? PyTuple_New(2) : NULL;
    if (made == NULL) {
        Py_XDECREF(value);
        Py_XDECREF(tag);
        return NULL;
    }
    PyTuple_SET_ITEM(made, 0, value);
    PyTuple_SET_ITEM(made, 1, tag);
    return made;
}

static inline PyObject *now(void) { return SLOT(the_RUN, Run_time); }

static inline bool tick(Py_ssize_t slot) /* one further: the time, or the number of calls */
{
    PyObject *next = PyLong_FromLongLong(PyLong_AsLongLong(SLOT(the_RUN, slot)) + 1);
    if (next == NULL) {
        return false;
    }
    put_new(&SLOT(the_RUN, slot), next);
    return true;
}

/* What a dict has under an address; borrowed. NULL without an exception: nothing. */
static inline PyObject *by_address(PyObject *dict, const void *address)
{
    if (PyDict_GET_SIZE(dict) == 0) {
        return NULL;
    }
    PyObject *key = PyLong_FromVoidPtr((void *)address);
    if (key == NULL) {
        return NULL;
    }
    PyObject *found = PyDict_GetItemWithError(dict, key);
    Py_DECREF(key);
    return found;
}

static inline PyObject *shadow_of(PyObject *thing)
{
    return by_address(SLOT(the_RUN, Run_shadows), thing);
}

/* What this thread is about to do: the dictionary of HERE. It lives as long as the thread does, and
 * is looked for anew when the interpreter has another state for the thread. */
static inline PyObject *here(void)
{
    static _Thread_local uint64_t known_thread;
    static _Thread_local PyObject *known;
    uint64_t thread = PyThreadState_GetID(PyThreadState_Get());
    if (known == NULL || thread != known_thread) {
        PyObject *found = PyObject_GetAttrString(the_HERE, "__dict__");
        if (found == NULL) {
            return NULL;
        }
        known = found;
        known_thread = thread;
        Py_DECREF(found);
    }
    return known;
}

static inline PyObject *of_thread(PyObject *thread, PyObject *name) /* borrowed, never NULL */
{
    PyObject *found = PyDict_GetItemWithError(thread, name);
    return found != NULL ? found : Py_None;
}

static inline bool forget_pending(PyObject *thread)
{
    return of_thread(thread, name_pending) == Py_None ||
           PyDict_SetItem(thread, name_pending, Py_None) == 0;
}

/* --- what is out of sight and runs ------------------------------------------------------------ */

typedef struct {
    PyObject *thread, *operation, *before;
} Running;

static PyObject *new_operation(PyObject *site, PyObject *control, PyObject *operands);
static bool begin(Running *running, PyObject *site, PyObject *control, PyObject *operands);
static bool end(Running *running, bool failed);

static inline bool was_told(const Running *running)
{
    return PyList_GET_SIZE(SLOT(running->operation, Operation_callbacks)) > 0;
}

static PyObject *shape(PyObject *thing);
static bool aim(PyObject *control, PyObject *tag);
static bool hold(PyObject *holder, PyObject *value);
static int hides_things(PyObject *thing);
static PyObject *part(PyObject *site, PyObject *control, PyObject *owner, PyObject *step,
                      PyObject *value, PyObject *const *needs, Py_ssize_t count);

#endif
