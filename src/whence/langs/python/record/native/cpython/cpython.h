/* The internals of CPython that whence reads: the only place that knows them.
 *
 * The recorder reads frames, instances and numbers where the interpreter keeps them, because the
 * public functions would create objects, materialise `__dict__` or run code of the program. What
 * differs between minor versions is in v311.h … v315.h; this header selects one and adds what is the
 * same in all of them. No other file includes an internal header, asks for the version or reads a
 * private field.
 *
 * A new version needs a header of its own, which starts as a copy of its predecessor's. The compiler
 * tells what was renamed, layout.c and tests/unit/langs/python/record what was moved. */
#ifndef WHENCE_CPYTHON_H
#define WHENCE_CPYTHON_H

#define PY_SSIZE_T_CLEAN
#define Py_BUILD_CORE_MODULE 1
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>
#include <structmember.h>

#ifdef Py_GIL_DISABLED
#error "free-threaded builds of Python are not supported: all state is guarded by the GIL"
#endif

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter" /* theirs */
#include "internal/pycore_code.h"
#include "internal/pycore_dict.h"
#include "internal/pycore_frame.h"
#include "internal/pycore_interp.h"
#include "internal/pycore_long.h"
#include "internal/pycore_object.h"
#include "internal/pycore_pystate.h"
#include <opcode.h>

typedef struct _PyInterpreterFrame Frame;

#if PY_MINOR_VERSION >= 14
#include "internal/pycore_interpframe.h"
#endif
#if PY_MINOR_VERSION >= 15
#include "internal/pycore_lazyimportobject.h"
#endif
#pragma GCC diagnostic pop

/* Whether `os.posix_spawn` takes None for the environment of this process, as `subprocess` passes. */
#define SPAWN_TAKES_NONE (PY_MINOR_VERSION >= 13)

static inline bool likely(bool condition) { return __builtin_expect(condition, 1); }
static inline bool unlikely(bool condition) { return __builtin_expect(condition, 0); }

#pragma GCC visibility push(hidden)

/* What differs in this interpreter from the one that this was built for, or NULL. To be asked once,
 * before anything else is used: layout.c. */
const char *layout_problem(void);
/* The type of the box in which an asynchronous generator yields a value. */
extern PyTypeObject *yielded_box_type;

/* ---- generators ---- */

static inline Frame *generator_frame(PyObject *generator)
{
    return (Frame *)&((PyGenObject *)generator)->gi_iframe;
}

static inline PyGenObject *frame_generator(Frame *frame)
{
    return (PyGenObject *)((char *)frame - offsetof(PyGenObject, gi_iframe));
}

static inline bool owned_by_generator(const Frame *frame)
{
    return frame->owner == FRAME_OWNED_BY_GENERATOR;
}

static inline bool is_generator(PyObject *object)
{
    return PyGen_CheckExact(object) || PyCoro_CheckExact(object) || PyAsyncGen_CheckExact(object);
}

static inline bool is_suspended(Frame *frame)
{
    return frame_generator(frame)->gi_frame_state == FRAME_SUSPENDED;
}

/* Whether the event loop may bring an asynchronous generator back to life, to close it later. */
static inline bool may_be_resurrected(PyObject *generator)
{
    return PyAsyncGen_CheckExact(generator) && !PyObject_GC_IsFinalized(generator) &&
           ((PyAsyncGenObject *)generator)->ag_origin_or_finalizer != NULL &&
           !((PyAsyncGenObject *)generator)->ag_closed;
}

#if PY_MINOR_VERSION == 15
#include "v315.h"
#elif PY_MINOR_VERSION == 14
#include "v314.h"
#elif PY_MINOR_VERSION == 13
#include "v313.h"
#elif PY_MINOR_VERSION == 12
#include "v312.h"
#elif PY_MINOR_VERSION == 11
#include "v311.h"
#else
#error "no header here describes this version of CPython"
#endif

/* A value on the stack of a frame, 1 is the topmost one; NULL if there are not as many. */
static inline PyObject *frame_stacked(const Frame *frame, int from_top)
{
    return frame_stack_depth(frame) < from_top ? NULL : frame_stack_item(frame, from_top);
}

/* Whether a generator may be in a loop that has no iterator. From 3.15 on that is a loop over a list
 * or tuple: the frame itself counts. It must have yielded, or await something. */
static inline bool may_count_itself(PyObject *generator)
{
#if PY_MINOR_VERSION >= 15
    return FRAME_STATE_SUSPENDED(((PyGenObject *)generator)->gi_frame_state);
#else
    return generator == NULL;
#endif
}

/* How far such a loop is, if that is what is on the stack of a frame there. */
static inline bool stacked_position(const Frame *frame, int from_top, Py_ssize_t *position)
{
#if PY_MINOR_VERSION >= 15
    _PyStackRef item = frame->stackpointer[-from_top];
    if (PyStackRef_IsTaggedInt(item)) {
        *position = PyStackRef_UntagInt(item);
        return true;
    }
    return false;
#else
    return frame == NULL && *position < from_top;
#endif
}

/* What a generator waits for that passes on what another one yielded, at the event of its own yield;
 * NULL if it yields by itself. */
static inline PyObject *waits_for_when_yielding(Frame *frame)
{
    return yields_from_another(frame) ? frame_stacked(frame, WAITED_FOR_WHEN_YIELDING) : NULL;
}

/* What the RESUME at which a generator stands says: 1 it follows a yield, 2 a `yield from`, 3 an
 * `await`. */
static inline int resumed_after(const Frame *frame)
{
    return instruction_argument(frame_instruction(frame)) & 3;
}

/* The same for one that resumes: it stands below the value that is sent, which is for the other one. */
static inline PyObject *waits_for_when_resumed(const Frame *frame)
{
    return resumed_after(frame) >= 2 ? frame_stacked(frame, WAITED_FOR_WHEN_RESUMED) : NULL;
}

/* The value that is sent into a generator, at the event of its resumption: it is on top of the stack.
 * NULL at its start, where it awaits (then the value is for what it awaits), and where an exception
 * is thrown into it. */
static inline PyObject *sent_value(const Frame *frame)
{
    int after = resumed_after(frame);
    return after == 1 || after == 2 ? frame_stacked(frame, 1) : NULL;
}

/* ---- frames ---- */

static inline PyObject *frame_globals(const Frame *frame) { return frame->f_globals; }

static inline Frame *frame_caller(const Frame *frame) { return frame->previous; }

/* The place (docs/trace-format.md) at which a frame stands: code units from its start, plus 1. */
static inline uint64_t frame_place(const Frame *frame)
{
    ptrdiff_t index = frame_instruction(frame) - _PyCode_CODE(frame_code(frame));
    return index < 0 ? 0 : (uint64_t)index + 1;
}

/* The place at which an exception came up in a frame, by its traceback. The frame itself may stand
 * elsewhere by then: at the end of a handler that did not match, of a `finally` or of a `with`. */
static inline uint64_t raised_place(const Frame *frame, PyObject *traceback)
{
    if (traceback != NULL && PyTraceBack_Check(traceback)) {
        const PyTracebackObject *newest = (PyTracebackObject *)traceback;
        if (newest->tb_frame->f_frame == frame && newest->tb_lasti >= 0) {
            return (uint64_t)newest->tb_lasti / sizeof(_Py_CODEUNIT) + 1;
        }
    }
    return frame_place(frame);
}

static inline bool slot_is_cell(const PyCodeObject *code, Py_ssize_t slot)
{
    return _PyLocals_GetKind(code->co_localspluskinds, (int)slot) & CO_FAST_CELL;
}

/* ---- threads ---- */

static inline PyThreadState *this_thread_state(void) { return _PyThreadState_GET(); }

/* The same where there may be none; NULL then. */
static inline PyThreadState *unchecked_thread_state(void)
{
#if PY_MINOR_VERSION >= 13
    return PyThreadState_GetUnchecked();
#else
    return _PyThreadState_UncheckedGet();
#endif
}

/* Whether trace and profile functions are not told of what runs now. */
static inline bool is_tracing(const PyThreadState *tstate) { return tstate->tracing > 0; }

/* The id of the thread that is started next. */
static inline uint64_t next_thread_id(void)
{
    return PyInterpreterState_Get()->threads.next_unique_id + 1;
}

/* ---- garbage ---- */

/* Whether the program lets garbage be collected automatically. */
static inline bool collector_is_on(const PyThreadState *tstate)
{
    return tstate->interp->gc.enabled && youngest_generation(&tstate->interp->gc)->threshold != 0;
}

/* How many objects were made since the last collection, which decides when the next one comes. */
static inline int *young_objects(PyThreadState *tstate)
{
    return &youngest_generation(&tstate->interp->gc)->count;
}

/* Makes the collector count as if so many objects were alive and none was made since. */
static inline void reset_collector(Py_ssize_t alive)
{
    struct _gc_runtime_state *collector = &PyInterpreterState_Get()->gc;
    for (int i = 0; i < NUM_GENERATIONS; i++) {
        youngest_generation(collector)[i].count = 0;
    }
    collector->long_lived_total = alive;
    collector->long_lived_pending = 0;
}

/* ---- numbers ---- */

static inline bool small_number(PyObject *number, long long *value)
{
    if (likely(compact_number(number, value))) {
        return true;
    }
    int overflow;
    *value = PyLong_AsLongLongAndOverflow(number, &overflow);
    return overflow == 0;
}

/* ---- instances ---- */

/* The state that an instance keeps beside its slots: either values in the order of the keys that its
 * class shares, or a dict, or (before the first attribute is set) neither. */
typedef struct {
    PyDictValues *values;
    PyObject *dict;
} InstanceState;

static inline PyObject *computed_dict(PyObject *object, PyTypeObject *type)
{
    Py_ssize_t offset = type->tp_dictoffset;
    if (offset == 0) {
        return NULL;
    }
    if (offset < 0) {
        Py_ssize_t items = type->tp_flags & Py_TPFLAGS_LONG_SUBCLASS ? number_digits(object)
                                                                     : Py_ABS(Py_SIZE(object));
        offset += (Py_ssize_t)_PyObject_VAR_SIZE(type, items);
    }
    return *(PyObject **)((char *)object + offset);
}

static inline InstanceState instance_state(PyObject *object, PyTypeObject *type)
{
    InstanceState state = {NULL, NULL};
    if (type->tp_flags & Py_TPFLAGS_MANAGED_DICT) {
        managed_state(object, type, &state.values, &state.dict);
    }
    else {
        state.dict = computed_dict(object, type);
    }
    if (state.dict != NULL && !PyDict_Check(state.dict)) {
        state.dict = NULL;
    }
    return state;
}

#define HAS_FROZENDICT (PY_MINOR_VERSION >= 15)

/* Whether a slot is behind the items of an object of variable size: from 3.15 on, classes that extend
 * tuple may have slots. */
static inline bool is_after_items(const PyMemberDef *member)
{
#if PY_MINOR_VERSION >= 15
    return member->flags & _Py_AFTER_ITEMS;
#else
    return member == NULL;
#endif
}

/* How much memory these items take. */
static inline Py_ssize_t items_size(PyObject *object)
{
    Py_ssize_t size = Py_SIZE(object) * Py_TYPE(object)->tp_itemsize;
    return (size + (Py_ssize_t)sizeof(void *) - 1) / (Py_ssize_t)sizeof(void *) *
           (Py_ssize_t)sizeof(void *);
}

/* The value at an index of `values_index`, which is that of its name among the shared keys. */
static inline PyObject *value_at(const PyDictValues *values, Py_ssize_t index)
{
    return values->values[index];
}

/* The keys that the instances of a class share: what tells one set of them from another, how many
 * there are, and their names. */
static inline const void *shared_keys(PyTypeObject *type)
{
    return ((PyHeapTypeObject *)type)->ht_cached_keys;
}

static inline Py_ssize_t shared_key_count(PyTypeObject *type)
{
    return ((PyHeapTypeObject *)type)->ht_cached_keys->dk_nentries;
}

static inline PyObject *shared_key(PyTypeObject *type, Py_ssize_t index)
{
    return DK_UNICODE_ENTRIES(((PyHeapTypeObject *)type)->ht_cached_keys)[index].me_key;
}

/* ---- dicts ---- */

/* Whether code can run with these as its module's variables. */
static inline bool is_namespace(PyObject *object)
{
#if HAS_FROZENDICT
    return PyAnyDict_Check(object);
#else
    return PyDict_Check(object);
#endif
}

/* Whether it stands in a namespace for what is imported when it is first used (3.15). */
static inline bool is_lazy_import(PyObject *object)
{
#if PY_MINOR_VERSION >= 15
    return PyLazyImport_CheckExact(object);
#else
    return object == NULL;
#endif
}

/* Looks up a str: runs no code if the dict is one of a namespace. Borrowed. */
static inline PyObject *dict_get(PyObject *dict, PyObject *key, Py_hash_t hash)
{
    return _PyDict_GetItem_KnownHash(dict, key, hash);
}

static inline Py_ssize_t dict_index(const PyDictKeysObject *keys, size_t slot)
{
    switch (keys->dk_log2_index_bytes - keys->dk_log2_size) {
    case 0:
        return ((const int8_t *)keys->dk_indices)[slot];
    case 1:
        return ((const int16_t *)keys->dk_indices)[slot];
    case 2:
        return ((const int32_t *)keys->dk_indices)[slot];
    default:
        return (Py_ssize_t)((const int64_t *)keys->dk_indices)[slot];
    }
}

/* What a dict holds under this very object: no key is compared, which could run `__eq__`. */
static inline PyObject *value_of_key(const PyDictObject *dict, const PyObject *key, Py_hash_t hash)
{
    PyDictKeysObject *keys = dict->ma_keys;
    size_t mask = ((size_t)1 << keys->dk_log2_size) - 1;
    size_t perturb = (size_t)hash, slot = (size_t)hash & mask;
    if (dict->ma_values != NULL) {
        return NULL; /* an OrderedDict's keys are never shared */
    }
    for (;;) {
        Py_ssize_t index = dict_index(keys, slot);
        if (index == DKIX_EMPTY) {
            return NULL;
        }
        if (index >= 0 && DK_IS_UNICODE(keys) && DK_UNICODE_ENTRIES(keys)[index].me_key == key) {
            return DK_UNICODE_ENTRIES(keys)[index].me_value;
        }
        if (index >= 0 && !DK_IS_UNICODE(keys) && DK_ENTRIES(keys)[index].me_key == key) {
            return DK_ENTRIES(keys)[index].me_value;
        }
        perturb >>= 5;
        slot = (slot * 5 + perturb + 1) & mask;
    }
}

/* The order of an OrderedDict, as Objects/odictobject.c keeps it and no header declares. The nodes
 * own their keys. */
typedef struct OrderedNode {
    PyObject *key;
    Py_hash_t hash;
    struct OrderedNode *next, *previous;
} OrderedNode;

typedef struct {
    PyDictObject dict;
    OrderedNode *first, *last;
    void *nodes;
    Py_ssize_t nodes_size;
    void *resize_sentinel;
    size_t state; /* differs after each change of the order */
    PyObject *attributes, *weak_references;
} OrderedDict;

static inline bool ordered_dict_is_known(void)
{
    return PyODict_Type.tp_basicsize == (Py_ssize_t)sizeof(OrderedDict) &&
           PyODict_Type.tp_dictoffset == (Py_ssize_t)offsetof(OrderedDict, attributes) &&
           PyODict_Type.tp_weaklistoffset == (Py_ssize_t)offsetof(OrderedDict, weak_references);
}

#pragma GCC visibility pop

#endif
