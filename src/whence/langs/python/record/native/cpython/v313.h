/* CPython 3.13: where it keeps what the recorder reads. */
#ifndef WHENCE_CPYTHON_V313_H
#define WHENCE_CPYTHON_V313_H

#define HAS_DICT_WATCHERS 1

/* ---- frames ---- */

static inline PyCodeObject *frame_code(const Frame *frame)
{
    return (PyCodeObject *)frame->f_executable;
}

static inline PyObject *frame_function(const Frame *frame) { return frame->f_funcobj; }

static inline Frame *current_frame(PyThreadState *tstate) { return tstate->current_frame; }

static inline void set_current_frame(PyThreadState *tstate, Frame *frame)
{
    tstate->current_frame = frame;
}

static inline const _Py_CODEUNIT *frame_instruction(const Frame *frame)
{
    return frame->instr_ptr;
}

static inline void set_frame_instruction(Frame *frame, Py_ssize_t unit)
{
    frame->instr_ptr = _PyCode_CODE(frame_code(frame)) + unit;
}

static inline int instruction_argument(const _Py_CODEUNIT *unit) { return unit->op.arg; }

static inline PyObject *frame_slot(const Frame *frame, int slot) { return frame->localsplus[slot]; }

static inline bool slot_is_borrowed(const Frame *Py_UNUSED(frame), int Py_UNUSED(slot))
{
    return false;
}

static inline ptrdiff_t frame_stack_depth(const Frame *frame)
{
    return frame->stacktop - frame_code(frame)->co_nlocalsplus;
}

static inline PyObject *frame_stack_item(const Frame *frame, int from_top)
{
    return frame->localsplus[frame->stacktop - from_top];
}

static inline void frame_push(Frame *frame, PyObject *value)
{
    frame->localsplus[frame->stacktop++] = Py_NewRef(value);
}

/* ---- generators ---- */

/* The interpreter marks a generator as suspended before it tells that it yields, though its frame
 * still runs. If our code then let other threads run, one of them could resume it, and the
 * interpreter would crash. So meanwhile it is marked as running. */
static inline int8_t generator_mark_running(Frame *frame)
{
    if (!owned_by_generator(frame)) {
        return 0;
    }
    int8_t state = frame_generator(frame)->gi_frame_state;
    frame_generator(frame)->gi_frame_state = FRAME_EXECUTING;
    return state;
}

static inline void generator_restore_state(Frame *frame, int8_t state)
{
    if (owned_by_generator(frame)) {
        frame_generator(frame)->gi_frame_state = state;
    }
}

static inline bool yields_from_another(Frame *frame)
{
    return owned_by_generator(frame) &&
           frame_generator(frame)->gi_frame_state == FRAME_SUSPENDED_YIELD_FROM;
}

/* Where it stands on the stack, from the top. */
enum { WAITED_FOR_WHEN_YIELDING = 1, WAITED_FOR_WHEN_RESUMED = 2 };

/* ---- code ---- */

/* The variables that an instruction assigns to: their slots, and how many there are. */
static inline int stored_slots(int operation, int argument, int slots[2])
{
    switch (operation) {
    case STORE_FAST_STORE_FAST:
        slots[0] = argument & 15;
        slots[1] = argument >> 4;
        return 2;
    case STORE_FAST_LOAD_FAST:
        slots[0] = argument >> 4;
        return 1;
    default:
        slots[0] = argument;
        return operation == STORE_FAST || operation == DELETE_FAST || operation == STORE_DEREF ||
               operation == DELETE_DEREF;
    }
}

static inline bool returns_constant(int operation) { return operation == RETURN_CONST; }

/* ---- recursion ---- */

static inline void lend_c_recursion(PyThreadState *tstate, int frames)
{
    tstate->c_recursion_remaining += frames;
}

/* ---- garbage ---- */

static inline struct gc_generation *youngest_generation(struct _gc_runtime_state *collector)
{
    return collector->generations;
}

/* ---- instances and dicts ---- */

static inline void managed_state(PyObject *object, PyTypeObject *type, PyDictValues **values,
                                 PyObject **dict)
{
    bool has_values =
        (type->tp_flags & Py_TPFLAGS_INLINE_VALUES) && _PyObject_InlineValues(object)->valid;
    *values = has_values ? _PyObject_InlineValues(object) : NULL;
    *dict = has_values ? NULL : (PyObject *)_PyObject_GetManagedDict(object);
}

static inline Py_ssize_t values_count(const PyDictValues *values) { return values->size; }

static inline Py_ssize_t values_index(const PyDictValues *values, Py_ssize_t i)
{
    return ((const uint8_t *)&values->values[values->capacity])[i];
}

#include "since_v312.h"

#endif
