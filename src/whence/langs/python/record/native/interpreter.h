/* What differs between the minor versions of CPython, and nothing else.
 *
 * The recorder reads frames, instances and numbers where the interpreter keeps them, because the
 * public functions would create objects, materialise `__dict__` or run code of the program. Every
 * such access is here, once for each supported version; a version that is not listed makes the
 * whole extension refuse with a reason (module.c). */
#ifndef WHENCE_INTERPRETER_H
#define WHENCE_INTERPRETER_H

#define PY_SSIZE_T_CLEAN
#include <patchlevel.h>

#if PY_VERSION_HEX < 0x030B0000 || PY_VERSION_HEX >= 0x030F0000
#define WHENCE_UNSUPPORTED "this version of Python is not known to it"
#endif

#ifndef WHENCE_UNSUPPORTED
#define Py_BUILD_CORE_MODULE 1
#endif
#include <Python.h>

#if !defined(WHENCE_UNSUPPORTED) && defined(Py_GIL_DISABLED)
#define WHENCE_UNSUPPORTED "free-threaded builds of Python are not supported by it"
#endif

#ifndef WHENCE_UNSUPPORTED
#include <stdbool.h>
#include <stdint.h>
#include <structmember.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter" /* theirs */
#include "internal/pycore_code.h"
#include "internal/pycore_dict.h"
#include "internal/pycore_frame.h"
#include "internal/pycore_interp.h"
#if PY_VERSION_HEX >= 0x030E0000
#include "internal/pycore_interpframe.h"
#endif
#include "internal/pycore_long.h"
#include "internal/pycore_object.h"
#include "internal/pycore_pystate.h"
#include <opcode.h>
#pragma GCC diagnostic pop
#include "garbage.h"

#define PYTHON_312 (PY_VERSION_HEX >= 0x030C0000)
#define PYTHON_313 (PY_VERSION_HEX >= 0x030D0000)
#define PYTHON_314 (PY_VERSION_HEX >= 0x030E0000)

typedef struct _PyInterpreterFrame Frame;

static inline bool likely(bool condition) { return __builtin_expect(condition, 1); }
static inline bool unlikely(bool condition) { return __builtin_expect(condition, 0); }

/* ---- frames ---- */

static inline PyCodeObject *frame_code(const Frame *frame)
{
#if PYTHON_314
    return (PyCodeObject *)PyStackRef_AsPyObjectBorrow(frame->f_executable);
#elif PYTHON_313
    return (PyCodeObject *)frame->f_executable;
#else
    return frame->f_code;
#endif
}

static inline Frame *current_frame(PyThreadState *tstate)
{
#if PYTHON_313
    return tstate->current_frame;
#else
    return tstate->cframe->current_frame;
#endif
}

static inline void set_current_frame(PyThreadState *tstate, Frame *frame)
{
#if PYTHON_313
    tstate->current_frame = frame;
#else
    tstate->cframe->current_frame = frame;
#endif
}

/* A frame that is about to be evaluated (3.11), made the one that runs, so that code of our own sees
 * it as the program's code will. */
typedef struct {
    PyThreadState *tstate;
    Frame *frame, *before; /* NULL: there was nothing to do */
} BegunFrame;

static inline BegunFrame frame_begun(PyThreadState *tstate, Frame *frame)
{
    BegunFrame begun = {tstate, NULL, NULL};
#if !PYTHON_312
    if (frame != NULL && frame != current_frame(tstate)) {
        begun = (BegunFrame){tstate, frame, current_frame(tstate)};
        set_current_frame(tstate, frame);
        /* Frames are shown from there on. */
        frame->prev_instr = _PyCode_CODE(frame->f_code) + frame->f_code->_co_firsttraceable;
    }
#else
    (void)frame;
#endif
    return begun;
}

static inline void frame_begins_again(const BegunFrame *begun)
{
#if !PYTHON_312
    if (begun->frame != NULL) {
        set_current_frame(begun->tstate, begun->before);
        begun->frame->prev_instr = _PyCode_CODE(begun->frame->f_code) - 1;
    }
#else
    (void)begun;
#endif
}

/* The function whose call it is. */
static inline PyObject *frame_function(const Frame *frame)
{
#if PYTHON_314
    return PyStackRef_AsPyObjectBorrow(frame->f_funcobj);
#elif PYTHON_312
    return frame->f_funcobj;
#else
    return (PyObject *)frame->f_func;
#endif
}

/* What stands in the slot of a variable: its value, a cell that has it, or NULL. */
static inline PyObject *frame_slot(const Frame *frame, int slot)
{
#if PYTHON_314
    return PyStackRef_AsPyObjectBorrow(frame->localsplus[slot]);
#else
    return frame->localsplus[slot];
#endif
}

/* Whether the value in a slot is borrowed from the frame's caller, which keeps it for as long and is
 * the one who counts as holding it (3.14). */
static inline bool slot_is_borrowed(const Frame *frame, int slot)
{
#if PYTHON_314
    return !PyStackRef_RefcountOnObject(frame->localsplus[slot]);
#else
    (void)frame;
    (void)slot;
    return false;
#endif
}

static inline ptrdiff_t frame_stack_depth(const Frame *frame)
{
#if PYTHON_314
    return frame->stackpointer - frame->localsplus - frame_code(frame)->co_nlocalsplus;
#else
    return frame->stacktop - frame_code(frame)->co_nlocalsplus;
#endif
}

/* A value on the stack of a frame, 1 is the topmost one; NULL if there are not as many. */
static inline PyObject *frame_stacked(const Frame *frame, int from_top)
{
    if (frame_stack_depth(frame) < from_top) {
        return NULL;
    }
#if PYTHON_314
    _PyStackRef found = frame->stackpointer[-from_top];
    return PyStackRef_IsNullOrInt(found) ? NULL : PyStackRef_AsPyObjectBorrow(found);
#else
    return frame->localsplus[frame->stacktop - from_top];
#endif
}

#if PYTHON_312
/* From 3.14 on a constant is put on the stack first. */
static inline bool returns_constant(uint8_t operation)
{
#if PYTHON_314
    (void)operation;
    return false;
#else
    return operation == RETURN_CONST;
#endif
}

/* A unit of the code that returns what is on the stack; or else one that returns a constant, this one
 * if there is one; or -1. */
static inline Py_ssize_t returning_unit(PyCodeObject *code, PyObject *value, bool *from_stack,
                                        uint8_t *constant)
{
    PyObject *bytes = PyCode_GetCode(code); /* as it was compiled */
    Py_ssize_t found = -1, count = bytes != NULL ? PyBytes_GET_SIZE(bytes) : 0;
    const uint8_t *units = bytes != NULL ? (const uint8_t *)PyBytes_AS_STRING(bytes) : NULL;
    bool is_this = false;
    *from_stack = false;
    for (Py_ssize_t at = 0; at < count && !*from_stack; at += 2) {
        bool is_extended = at > 0 && units[at - 2] == EXTENDED_ARG;
        if (units[at] == RETURN_VALUE) {
            found = at / 2;
            *from_stack = true;
        }
        else if (returns_constant(units[at]) && !is_extended && !is_this) {
            found = at / 2;
            *constant = units[at + 1];
            is_this = PyTuple_GET_ITEM(code->co_consts, *constant) == value;
        }
    }
    PyErr_Clear();
    Py_XDECREF(bytes);
    return found;
}

/* A constant of a code in whose place another value stands until the frame has returned that. */
static struct {
    PyObject **place, *constant;
} exchanged;

static inline void frame_gave(void)
{
    if (exchanged.place != NULL) {
        *exchanged.place = exchanged.constant; /* what stood there is being returned: it stays */
        exchanged.place = NULL;
    }
}

/* From where it begins, a frame goes to its end with this: when a function has been called at a RESUME
 * the interpreter looks whether that has let the frame jump, and takes its stack as it is then. The
 * end returns what is on the stack, or a constant, which is exchanged for as long as that takes:
 * nothing is run in between. A code that ends in no other way than by an exception is left alone. */
static inline void frame_gives(Frame *frame, PyObject *value)
{
    PyCodeObject *code = frame_code(frame);
    bool from_stack;
    uint8_t constant = 0;
    Py_ssize_t end = returning_unit(code, value, &from_stack, &constant);
    if (end < 0) {
        return;
    }
    if (from_stack) {
#if PYTHON_314
        *frame->stackpointer++ = PyStackRef_FromPyObjectNew(value);
#else
        frame->localsplus[frame->stacktop++] = Py_NewRef(value);
#endif
    }
    else if (PyTuple_GET_ITEM(code->co_consts, constant) != value) {
        exchanged.place = &PyTuple_GET_ITEM(code->co_consts, constant);
        exchanged.constant = *exchanged.place;
        *exchanged.place = Py_NewRef(value);
    }
#if PYTHON_313
    frame->instr_ptr = _PyCode_CODE(code) + end;
#else
    frame->prev_instr = _PyCode_CODE(code) + end;
#endif
}
#else
/* It is not evaluated at all: evaluation.c. */
extern PyObject *given;

static inline void frame_gives(Frame *frame, PyObject *value)
{
    (void)frame;
    given = Py_NewRef(value);
}

static inline void frame_gave(void) {}
#endif

/* The place (docs/trace-format.md) at which a frame stands: code units from its start, plus 1. */
static inline uint64_t frame_place(const Frame *frame)
{
#if PYTHON_313
    const _Py_CODEUNIT *at = frame->instr_ptr;
#else
    const _Py_CODEUNIT *at = frame->prev_instr;
#endif
    ptrdiff_t index = at - _PyCode_CODE(frame_code(frame));
    return index < 0 ? 0 : (uint64_t)index + 1;
}

/* The place at which an exception came up in a frame, by its traceback. The frame itself may stand
 * elsewhere by then: at the end of a handler that did not want it, of a `finally` or of a `with`. */
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

/* A variable that is shared through a cell. Before a frame's first instruction (3.11, where it may be
 * looked at that early) an argument is in no cell yet, and the cells of a closure are the function's.
 */
static inline PyObject *shared_variable(const Frame *frame, int slot, bool is_free)
{
    PyObject *value = frame_slot(frame, slot);
#if !PYTHON_312
    const PyCodeObject *code = frame->f_code;
    if (frame->prev_instr < _PyCode_CODE(code)) {
        PyObject *closure = frame->f_func->func_closure;
        if (!is_free || closure == NULL) {
            return value;
        }
        value = PyTuple_GET_ITEM(closure, slot - (code->co_nlocalsplus - code->co_nfreevars));
    }
#else
    (void)is_free;
#endif
    return value != NULL && PyCell_Check(value) ? ((PyCellObject *)value)->ob_ref : value;
}

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

/* While a generator yields it counts as suspended already, though its frame still runs. If our code
 * then let other threads run, one of them could resume it, and the interpreter would crash. So for
 * that time it counts as running, and (up to 3.12, where the next instruction tells) as one that
 * does not wait for another. */
static inline int8_t generator_keep(Frame *frame)
{
    if (!owned_by_generator(frame)) {
        return 0;
    }
    int8_t state = frame_generator(frame)->gi_frame_state;
    frame_generator(frame)->gi_frame_state = FRAME_EXECUTING;
#if !PYTHON_313
    frame->prev_instr--;
#endif
    return state;
}

static inline void generator_release(Frame *frame, int8_t state)
{
    if (owned_by_generator(frame)) {
        frame_generator(frame)->gi_frame_state = state;
#if !PYTHON_313
        frame->prev_instr++;
#endif
    }
}

/* What the instruction so many units further says, if it is a RESUME: 1 it stands after a yield, 2
 * after a `yield from`, 3 after an `await`. */
static inline int resumed_after(const Frame *frame, int further)
{
#if PYTHON_313
    return (frame->instr_ptr + further)->op.arg & 3;
#elif PYTHON_312
    return (frame->prev_instr + further)->op.arg & 3;
#else
    return _Py_OPARG(*(frame->prev_instr + further)) & 3;
#endif
}

/* What a generator waits for that yields what another one yielded, while the interpreter tells that
 * it does; NULL if it yields by itself. */
static inline PyObject *waits_for_when_yielding(Frame *frame)
{
#if PYTHON_314 /* it has not yielded yet: the value is still on the stack, above the other one */
    bool waits = resumed_after(frame, 1) >= 2;
    int from_top = 2;
#elif PYTHON_313
    bool waits = owned_by_generator(frame) &&
                 frame_generator(frame)->gi_frame_state == FRAME_SUSPENDED_YIELD_FROM;
    int from_top = 1;
#else
    bool waits = resumed_after(frame, 1) >= 2;
    int from_top = 1;
#endif
    return waits ? frame_stacked(frame, from_top) : NULL;
}

/* The same for one that goes on: below what it goes on with, which is for the other one. */
static inline PyObject *waits_for_when_resumed(const Frame *frame)
{
    return resumed_after(frame, 0) >= 2 ? frame_stacked(frame, 2) : NULL;
}

/* What a generator goes on with, while the interpreter tells that it does: it stands at the RESUME
 * after a yield (1) or a `yield from` (2), and the value is on top of its stack. NULL at its start,
 * where it awaits (3: then it is for what it awaits), and where an exception is thrown into it. */
static inline PyObject *sent_value(const Frame *frame)
{
    int after = resumed_after(frame, 0);
    return after == 1 || after == 2 ? frame_stacked(frame, 1) : NULL;
}

#if !PYTHON_312
/* Whether an exception is thrown into a generator, where no event of its own tells: it does not
 * stand at a RESUME. */
static inline bool is_thrown_into(const Frame *frame)
{
    int operation = _Py_OPCODE(*frame->prev_instr);
    return operation != RESUME && operation != RESUME_QUICK;
}
#endif

/* ---- garbage ---- */

/* Whether the program lets garbage be collected by itself. */
static inline bool collector_is_on(const PyThreadState *tstate)
{
    return tstate->interp->gc.enabled && youngest_generation(&tstate->interp->gc)->threshold != 0;
}

/* How many objects were made since the last collection: by it the next one comes. */
static inline int *young_objects(PyThreadState *tstate)
{
    return &youngest_generation(&tstate->interp->gc)->count;
}

/* ---- exceptions ---- */

#if !PYTHON_312
/* The class of an exception in flight of which only the arguments exist so far; or NULL. */
static inline PyObject *unmade_class(PyObject *type, PyObject *value)
{
    return value != NULL && PyExceptionInstance_Check(value) ? NULL : type;
}
#endif

/* ---- recursion ---- */

/* From 3.14 on it is the C stack itself that has a limit: nobody can lend of that. */
static inline void lend_c_recursion(PyThreadState *tstate, int frames)
{
#if PYTHON_312 && !PYTHON_314
    tstate->c_recursion_remaining += frames;
#else
    (void)tstate;
    (void)frames;
#endif
}

/* Lets the thread go deeper by this many frames, whatever the limit: whence's own do not count. */
static inline void lend_recursion(PyThreadState *tstate, int frames)
{
#if PYTHON_312
    tstate->py_recursion_remaining += frames;
    lend_c_recursion(tstate, frames);
#else
    tstate->recursion_remaining += frames;
#endif
}

/* ---- numbers ---- */

static inline bool small_number(PyObject *number, long long *value)
{
#if PYTHON_312
    if (likely(_PyLong_IsCompact((PyLongObject *)number))) {
        *value = _PyLong_CompactValue((PyLongObject *)number);
        return true;
    }
#else
    Py_ssize_t size = Py_SIZE(number);
    if (likely(size >= -1 && size <= 1)) {
        *value = size == 0 ? 0 : (long long)size * ((PyLongObject *)number)->ob_digit[0];
        return true;
    }
#endif
    int overflow;
    *value = PyLong_AsLongLongAndOverflow(number, &overflow);
    return overflow == 0;
}

static inline Py_ssize_t number_digits(PyObject *number)
{
#if PYTHON_312
    return _PyLong_DigitCount((PyLongObject *)number);
#else
    return Py_ABS(Py_SIZE(number));
#endif
}

static inline bool number_is_negative(PyObject *number)
{
#if PYTHON_312
    return _PyLong_IsNegative((PyLongObject *)number);
#else
    return Py_SIZE(number) < 0;
#endif
}

static inline const digit *number_digit(PyObject *number)
{
#if PYTHON_312
    return ((PyLongObject *)number)->long_value.ob_digit;
#else
    return ((PyLongObject *)number)->ob_digit;
#endif
}

/* ---- instances ---- */

/* The state that an instance keeps beside its slots: either values in the order of the keys that
 * its class shares, or a dict, or (before the first attribute is set) neither. */
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
    if (!(type->tp_flags & Py_TPFLAGS_MANAGED_DICT)) {
        state.dict = computed_dict(object, type);
    }
    else {
#if PYTHON_313
        if ((type->tp_flags & Py_TPFLAGS_INLINE_VALUES) && _PyObject_InlineValues(object)->valid) {
            state.values = _PyObject_InlineValues(object);
        }
        else {
            state.dict = (PyObject *)_PyObject_GetManagedDict(object);
        }
#elif PYTHON_312
        PyDictOrValues either = *_PyObject_DictOrValuesPointer(object);
        if (_PyDictOrValues_IsValues(either)) {
            state.values = _PyDictOrValues_GetValues(either);
        }
        else {
            state.dict = _PyDictOrValues_GetDict(either);
        }
#else
        state.values = *_PyObject_ValuesPointer(object);
        if (state.values == NULL) {
            state.dict = *_PyObject_ManagedDictPointer(object);
        }
#endif
    }
    if (state.dict != NULL && !PyDict_Check(state.dict)) {
        state.dict = NULL;
    }
    return state;
}

static inline PyDictUnicodeEntry *shared_keys(PyTypeObject *type)
{
    return DK_UNICODE_ENTRIES(((PyHeapTypeObject *)type)->ht_cached_keys);
}

static inline Py_ssize_t values_count(const PyDictValues *values)
{
#if PYTHON_313
    return values->size;
#else
    return ((const uint8_t *)values)[-2];
#endif
}

/* Where the value that was set i-th stands, in the values and in the shared keys alike. */
static inline Py_ssize_t values_index(const PyDictValues *values, Py_ssize_t i)
{
#if PYTHON_313
    return ((const uint8_t *)&values->values[values->capacity])[i];
#else
    return ((const uint8_t *)values)[-3 - i];
#endif
}

/* ---- OrderedDict ---- */

/* Its order, as Objects/odictobject.c keeps it, which no header tells. The nodes own their keys. */
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

/* ---- versions of module namespaces ---- */

#if !PYTHON_313
static inline uint64_t dict_version(PyObject *dict)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    return ((PyDictObject *)dict)->ma_version_tag;
#pragma GCC diagnostic pop
}
#endif

#endif /* WHENCE_UNSUPPORTED */
#endif
