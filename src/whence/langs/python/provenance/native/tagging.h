/* Computes tags in C: native versions of the functions that rewritten code calls most.
 *
 * A function `native_x` does what the Python function `x` does in the common cases, and hands all
 * other cases to it (`call_python`) before it has done anything. So the Python functions define the
 * meaning, and work alone where there is no compiler. The classes are those of tags.py,
 * run_state.py and shadow_memory.py; their slots are read where the interpreter keeps them.
 *
 *   _tagging.c              the module: its functions, and what Python binds to it
 *   tags.c                  the tag object
 *   shadow_memory.c         the shadows of objects
 *   deep_tags.c             the tags of operands and of all that they hold
 *   tags_by_identity.c      the same, by the addresses of the values
 *   displays.c              lists and tuples
 *   opaque_holders.c        objects that may have absorbed values, and objects from before the run
 *   operations.c            running code out of sight
 *   operators.c             operators, tests and choices
 *   out_of_sight_calls.c    calls of code out of sight
 *   attributes_and_items.c  reading and writing attributes and items
 *   iterators.c             the values of iterators
 *   loops.c                 loops and unpacking
 *   call_sites.c            calls, on the caller's side
 *   call_entry.c            calls, on the callee's side
 *   address_set.h           a set of addresses
 *   cpython/                access to CPython beyond its documented API
 *
 * Each .c file compiles alone against this header. All state is guarded by the GIL. */

#ifndef WHENCE_TAGGING_H
#define WHENCE_TAGGING_H

#include "cpython/cpython.h"

#include <stddef.h>
#include <stdint.h>

/* The kinds of tags, as in tags.py. */
enum TagKind {
    CONST, OP, LOST, BOUND, TEXT, NEW, INPUT, EXC, WHOLE,
    ARG, RET, LOAD, STORE, PHI, SEL, PART, AMBIG, CTL, FRAME, TAG_KIND_COUNT
};

/* Where a tag has its fields, by their names in tags.py: what stands there depends on the kind. */
enum TagField {
    FIELD_KIND, FIELD_SITE, FIELD_CONTROL,
    FIELD_SOURCE = 3, FIELD_NAME = 3, FIELD_TEXT = 3, FIELD_RUN = 3, FIELD_CHOICES = 3,
    FIELD_PREDICATE = 3, FIELD_WHOLE_TIME = 3,
    FIELD_ACTIVATION = 4, FIELD_RETURNED_BY = 4, FIELD_STEP = 4, FIELD_RECEIVER = 4,
    FIELD_TIME = 4, FIELD_WHOLE_ADDRESS = 4,
    FIELD_OUTCOME = 5, FIELD_ADDRESS = 5, WHOLE_NEEDS = 5,
    FIELD_KEY = 6, FIELD_DROPPED = 6,
    LOAD_NEEDS = 7
};

/* The functions that have a native version, and the Python functions that these call. */
#define NATIVE_FUNCTIONS(X)                                                                        \
    X(constant) X(join_branches) X(load_global) X(augment) X(unary) X(test) X(test_and_note)       \
    X(select) X(attribute) X(subscript) X(set_attribute) X(sequence_item_tag) X(iterate) X(unpack) \
    X(run_out_of_sight) X(shape_tag) X(deep_tags) X(tags_by_identity) X(identical_tags)            \
    X(note_held) X(matches_object) X(is_opaque) X(absorb) X(part_tag) X(scan_existing_objects)     \
    X(outcome_tag) X(next_pair) X(advance_tag) X(iterate_pairs) X(step_iterator) X(nest_control)   \
    X(out_of_sight_tag) X(resynchronise) X(note_referents) X(identify_arguments)                   \
    X(shadow_sequence) X(make_list) X(make_tuple) X(class_attribute) X(prepare_call)               \
    X(bind_arguments) X(finish_call) X(enter_function) X(return_value) X(leave_function)
#define PYTHON_HELPERS(X)                                                                          \
    X(note_failure) X(read_attribute) X(read_item) X(attribute_written) X(store_attribute)         \
    X(item_tag) X(finish_function) X(nearest_activation) X(reachable_roots) X(note_end)            \
    X(yielded_tag) X(iterator_of) X(out_of_sight_result) X(synchronise) X(changed_in_frame)        \
    X(finish_out_of_sight) X(note_world_change) X(world_tag)

#define AS_FUNCTION_INDEX(name) F_##name,
#define AS_HELPER_INDEX(name) H_##name,
enum { NATIVE_FUNCTIONS(AS_FUNCTION_INDEX) FUNCTION_COUNT };
enum { PYTHON_HELPERS(AS_HELPER_INDEX) HELPER_COUNT };

/* The slots of the classes that are read and written here. */
#define SLOTS(X)                                                                                   \
    X(ShadowRun, time) X(ShadowRun, number) X(ShadowRun, shadows) X(ShadowRun, holder_addresses)   \
    X(ShadowRun, held_addresses) X(ShadowRun, frames) X(ShadowRun, runs) X(ShadowRun, sources)     \
    X(ShadowRun, iteration_ends) X(ShadowRun, opaque_types) X(ShadowRun, stray_results)            \
    X(ShadowRun, passed_out_of_sight) X(ShadowRun, on_outside) X(ShadowRun, on_enter)              \
    X(ShadowRun, on_leave) X(ShadowRun, activations) X(ShadowRun, root) X(ShadowRun, modules)      \
    X(ShadowRun, kept_alive) X(ShadowRun, behind) X(ShadowRun, has_absorbed)                       \
    X(ShadowRun, is_scanned) X(ShadowRun, slots) X(ShadowRun, callback_history)                    \
    X(ShadowRun, namespaces) X(ShadowRun, expressions) X(ShadowRun, world)                         \
    X(ShadowRun, kept_operations) X(ShadowRun, has_dict_access) X(GeneratorRun, activation)        \
    X(GeneratorRun, position) X(SequenceSource, owner) X(SequenceSource, is_backwards)             \
    X(Activation, arguments) X(Activation, calls) X(Activation, control) X(Activation, end)        \
    X(Activation, failure) X(Activation, function) X(Activation, guarded) X(Activation, made)      \
    X(Activation, number) X(Activation, operation) X(Activation, yielded) X(Activation, parent)    \
    X(Activation, result) X(Activation, roots) X(Activation, sent) X(Activation, start)            \
    X(Activation, tests) X(Activation, value) X(Activation, values) X(Operation, activation)       \
    X(Operation, callbacks) X(Operation, control) X(Operation, expected) X(Operation, operands)    \
    X(Operation, site) X(Operation, text) X(PendingCall, activation) X(PendingCall, arguments)     \
    X(PendingCall, before) X(PendingCall, code) X(PendingCall, control) X(PendingCall, defined)    \
    X(PendingCall, function) X(PendingCall, keyword_tags) X(PendingCall, keywords)                 \
    X(PendingCall, run) X(PendingCall, site) X(PendingCall, starred) X(PendingCall, tag)           \
    X(PendingCall, tags) X(PendingCall, values) X(ModelledCall, arguments)                         \
    X(ModelledCall, before) X(PreparedCall, arguments) X(PreparedCall, before)                     \
    X(PreparedCall, called) X(PreparedCall, finish) X(PreparedCall, function)                      \
    X(PreparedCall, in_sight) X(PreparedCall, keywords) X(PreparedCall, operation)                 \
    X(PreparedCall, tag) X(Shadow, address) X(Shadow, again) X(Shadow, attribute_values)           \
    X(Shadow, attributes) X(Shadow, items) X(Shadow, keys) X(Shadow, object) X(Shadow, read)       \
    X(Shadow, shape) X(Shadow, values) X(FunctionInfo, free_names) X(FunctionInfo, global_names)   \
    X(FunctionInfo, is_stepped) X(FunctionInfo, has_named_rest) X(FunctionInfo, has_rest)          \
    X(FunctionInfo, keyword_only) X(FunctionInfo, positional) X(Site, is_guarded)

#define AS_OFFSET(class, slot) extern Py_ssize_t class##_##slot;
SLOTS(AS_OFFSET)
#define SLOT(object, name) (*(PyObject **)((char *)(object) + (name)))

/* What `bind` is given: the run, the state of the threads, classes, tables. */
#define BOUND_NAMES(X)                                                                             \
    X(RUN) X(THREAD) X(Activation) X(Operation) X(PendingCall) X(ModelledCall) X(PreparedCall)     \
    X(Shadow) X(ShadowRun) X(GeneratorRun) X(SequenceSource) X(FunctionInfo) X(Site) X(deque)      \
    X(FAILED) X(FUNCTIONS) X(SITES) X(REWRITTEN_CODES) X(DEFAULTS) X(NO_KEYWORDS) X(GROUP)         \
    X(getenv) X(PROXY) X(MODELS) X(METHOD_MODELS)
#define AS_GLOBAL(name) extern PyObject *the_##name;
BOUND_NAMES(AS_GLOBAL)

extern PyObject *python_functions[FUNCTION_COUNT];
extern PyObject *python_helpers[HELPER_COUNT];
extern PyObject *kinds[TAG_KIND_COUNT];
extern PyObject *empty_tuple, *zero, *minus_one;
extern PyObject *name_operation, *name_pending, *name_behind, *name_append, *name_frombytes;
extern PyObject *word_item, *word_attribute, *no_text, *name_dict, *name_note_maker,
    *name_note_dropped;
extern PyObject *builtin_len, *builtin_isinstance, *builtin_print;
extern PyCFunction list_append;         /* the C function behind `[].append` */
extern PyTypeObject *method_wrapper;    /* the type of `[].__len__` */
extern bool enabled;

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

static inline PyObject *call_python(int which, PyObject *const *given, Py_ssize_t count)
{
    return PyObject_Vectorcall(python_functions[which], given, (size_t)count, NULL);
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

/* --- tags ------------------------------------------------------------------------------------- */

/* A tag in half the memory of a tuple; where there is C, all tags are such objects. */
typedef struct {
    PyObject_HEAD
    unsigned kind : 5;    /* an enum TagKind */
    unsigned outcome : 2; /* of a test: 1 it failed, 2 it held; else 0 */
    signed site : 25;
    uint32_t count;       /* the length of `fields` */
    PyObject *fields[];   /* from the control on, without the outcome */
} TagObject;

extern PyTypeObject TagType;

static inline int kind_of(PyObject *tag) { return (int)((TagObject *)tag)->kind; }

static inline long site_of(PyObject *tag) { return ((TagObject *)tag)->site; }

/* How many fields a tag has; a test's outcome is not counted. */
static inline Py_ssize_t fields_of(PyObject *tag)
{
    return FIELD_CONTROL + (Py_ssize_t)((TagObject *)tag)->count;
}

/* A field from the control on, but for the outcome; borrowed. */
static inline PyObject *tag_field(PyObject *tag, Py_ssize_t index)
{
    return ((TagObject *)tag)->fields[index - FIELD_CONTROL];
}

static inline bool is_control(PyObject *given)
{
    return Py_IS_TYPE(given, &TagType) && kind_of(given) >= CTL;
}

/* A tag: a kind, where and under which control, and the rest. */
PyObject *tag_with(int kind, PyObject *site, PyObject *control, PyObject *const *rest,
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

static inline PyObject *now(void) { return SLOT(the_RUN, ShadowRun_time); }

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
    return by_address(SLOT(the_RUN, ShadowRun_shadows), thing);
}

/* What this thread is about to do: the dictionary of HERE. It lives as long as the thread does, and
 * is looked for anew when the interpreter has another state for the thread. */
static inline PyObject *here(void)
{
    static _Thread_local uint64_t known_thread;
    static _Thread_local PyObject *known;
    uint64_t thread = PyThreadState_GetID(PyThreadState_Get());
    if (known == NULL || thread != known_thread) {
        PyObject *found = PyObject_GetAttrString(the_THREAD, "__dict__");
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
} RunningOperation;

static inline bool had_callbacks(const RunningOperation *running)
{
    return PyList_GET_SIZE(SLOT(running->operation, Operation_callbacks)) > 0;
}

/* --- what the files offer each other ---------------------------------------------------------- */

/* tags.c */
PyObject *tag_of_parts(int kind, PyObject *site, PyObject *control, const Parts *parts, int count);
PyObject *test_tag(PyObject *site, PyObject *control, PyObject *why, PyObject *activation,
                   bool held, PyObject *dropped);
PyObject *receiver_tag(PyObject *tag);
PyObject *tag_count(PyObject *self, PyObject *nothing);

/* shadow_memory.c */
PyObject *new_shadow(PyObject *thing);
PyObject *shadow_for(PyObject *thing);
bool keep_alive(PyObject *thing);
PyObject *instance_dict(PyObject *thing);
bool each_part(PyObject *shadow, bool (*visit)(PyObject *, PyObject *, void *), void *with);
PyObject *shape_of(PyObject *thing);
bool note_holds(PyObject *holder, PyObject *value);
PyObject *part_tag_of(PyObject *site, PyObject *control, PyObject *owner, PyObject *step,
                      PyObject *value, PyObject *const *needs, Py_ssize_t count);
int shadow_matches(PyObject *shadow);

/* deep_tags.c */
PyObject *space_of(PyObject *thing);
int is_opaque_surely(PyObject *thing);

/* tags_by_identity.c */
PyObject *all_operands(PyObject *operation);

/* opaque_holders.c */
int known_opaque(PyObject *thing);

/* operations.c */
PyObject *new_operation(PyObject *site, PyObject *control, PyObject *operands);
bool begin_operation(RunningOperation *running, PyObject *site, PyObject *control,
                     PyObject *operands);
void report_error(int which, PyObject **given, Py_ssize_t count);
bool end_operation(RunningOperation *running, bool failed);
PyObject *outcome_tag_of(PyObject *operation, PyObject *value, PyObject *const *needs,
                         Py_ssize_t count);

/* operators.c */
bool note_change_target(PyObject *control, PyObject *tag);
PyObject *operator(PyObject *self, PyObject *const *given, Py_ssize_t count);

/* out_of_sight_calls.c */
PyObject *call_outside(PyObject *const *given);

/* iterators.c */
PyObject *next_of(PyObject *site, PyObject *control, PyObject *iterator, PyObject *owner);

extern PyTypeObject OperatorType, RoundsType;
extern PyObject *operators; /* by their names */

/* The functions that Python calls by the same name without `native_`. */
#define AS_PROTOTYPE(name)                                                                         \
    PyObject *native_##name(PyObject *self, PyObject *const *given, Py_ssize_t count);
NATIVE_FUNCTIONS(AS_PROTOTYPE)

#endif
