/* CPython 3.11: where it keeps what the recorder reads. Frames are hooked by PEP 523. */
#ifndef WHENCE_CPYTHON_V311_H
#define WHENCE_CPYTHON_V311_H

#include "internal/pycore_runtime.h"

#define HAS_MONITORING 0    /* sys.monitoring, function watchers */
#define HAS_DICT_WATCHERS 0 /* each dict has a version instead */

/* ---- frames ---- */

static inline PyCodeObject *frame_code(const Frame *frame) { return frame->f_code; }

static inline PyObject *frame_function(const Frame *frame) { return (PyObject *)frame->f_func; }

static inline Frame *current_frame(PyThreadState *tstate) { return tstate->cframe->current_frame; }

static inline void set_current_frame(PyThreadState *tstate, Frame *frame)
{
    tstate->cframe->current_frame = frame;
}

/* The instruction that the frame executes, or executed last. */
static inline const _Py_CODEUNIT *frame_instruction(const Frame *frame)
{
    return frame->prev_instr;
}

static inline int instruction_argument(const _Py_CODEUNIT *unit) { return _Py_OPARG(*unit); }

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

/* Where the stack of a running frame begins. */
static inline PyObject **frame_stack(Frame *frame)
{
    return frame->localsplus + frame->f_code->co_nlocalsplus;
}

/* A frame that is about to be evaluated: it is not the current one yet. Our own code that runs before
 * must see it as the program's code will. */
typedef struct {
    PyThreadState *tstate;
    Frame *frame, *before; /* NULL: the frame is the current one already */
} PendingFrame;

static inline PendingFrame pending_frame_enter(PyThreadState *tstate, Frame *frame)
{
    PendingFrame pending = {tstate, NULL, NULL};
    if (frame != NULL && frame != current_frame(tstate)) {
        pending = (PendingFrame){tstate, frame, current_frame(tstate)};
        set_current_frame(tstate, frame);
        /* Python code can see a frame only from this instruction on. */
        frame->prev_instr = _PyCode_CODE(frame->f_code) + frame->f_code->_co_firsttraceable;
    }
    return pending;
}

static inline void pending_frame_leave(const PendingFrame *pending)
{
    if (pending->frame != NULL) {
        set_current_frame(pending->tstate, pending->before);
        pending->frame->prev_instr = _PyCode_CODE(pending->frame->f_code) - 1;
    }
}

/* Makes the frame return this value without running its body: frame_evaluation.c does not evaluate
 * it at all. */
extern PyObject *forced_result;

static inline void force_return(Frame *Py_UNUSED(frame), PyObject *value)
{
    forced_result = Py_NewRef(value);
}

static inline void undo_force_return(void) {}

/* The value of a variable that is shared through a cell. Before a frame's first instruction an
 * argument is in no cell yet, and the cells of a closure are the function's. */
static inline PyObject *shared_variable(const Frame *frame, int slot, bool is_free)
{
    PyObject *value = frame_slot(frame, slot);
    const PyCodeObject *code = frame->f_code;
    if (frame->prev_instr < _PyCode_CODE(code)) {
        PyObject *closure = frame->f_func->func_closure;
        if (!is_free || closure == NULL) {
            return value;
        }
        value = PyTuple_GET_ITEM(closure, slot - (code->co_nlocalsplus - code->co_nfreevars));
    }
    return value != NULL && PyCell_Check(value) ? ((PyCellObject *)value)->ob_ref : value;
}

/* ---- the evaluation of frames ---- */

static inline _PyFrameEvalFunction evaluator(const PyInterpreterState *interpreter)
{
    return interpreter->eval_frame;
}

static inline void set_evaluator(PyInterpreterState *interpreter, _PyFrameEvalFunction function)
{
    interpreter->eval_frame = function;
}

static inline PyObject *evaluate_by_interpreter(PyThreadState *tstate, Frame *frame, int thrown)
{
    return _PyEval_EvalFrameDefault(tstate, frame, thrown);
}

/* Whether a call that begins can be replaced by its result. Deep in a recursion frames are not
 * evaluated by us. */
static inline bool can_force_return(const PyThreadState *tstate)
{
    return tstate->interp->eval_frame != NULL;
}

static inline bool is_at_recursion_limit(const PyThreadState *tstate)
{
    return tstate->recursion_remaining <= 0;
}

/* As the interpreter does right before it evaluates a frame. */
static inline void link_to_current_frame(PyThreadState *tstate, Frame *frame)
{
    frame->previous = current_frame(tstate);
}

/* While it goes on, a generator's frame is told of at its RESUME. */
static inline void step_to_resume(Frame *frame, int units) { frame->prev_instr += units; }

/* ---- the profile hook ---- */

static inline Frame *frame_of(const PyFrameObject *object) { return object->f_frame; }

static inline Py_tracefunc profile_function(const PyThreadState *tstate)
{
    return tstate->c_profilefunc;
}

static inline void set_profile_function(PyThreadState *tstate, Py_tracefunc function, bool traces)
{
    tstate->c_profilefunc = function;
    tstate->cframe->use_tracing = traces ? 255 : 0;
}

/* Its next change of frame clears use_tracing. */
static inline void clear_profile_function(PyThreadState *tstate) { tstate->c_profilefunc = NULL; }

static inline void stop_tracing(PyThreadState *tstate)
{
    if (tstate->c_profilefunc == NULL && tstate->c_tracefunc == NULL) {
        tstate->cframe->use_tracing = 0;
    }
}

static inline bool is_main_thread(void)
{
    return PyThread_get_thread_ident() == _PyRuntime.main_thread;
}

/* ---- generators ---- */

/* The interpreter marks a generator as suspended before it tells that it yields, though its frame
 * still runs. If our code then let other threads run, one of them could resume it, and the
 * interpreter would crash. So meanwhile it is marked as running, and (the next instruction tells) as
 * one that does not wait for another. */
static inline int8_t generator_mark_running(Frame *frame)
{
    if (!owned_by_generator(frame)) {
        return 0;
    }
    int8_t state = frame_generator(frame)->gi_frame_state;
    frame_generator(frame)->gi_frame_state = FRAME_EXECUTING;
    frame->prev_instr--;
    return state;
}

static inline void generator_restore_state(Frame *frame, int8_t state)
{
    if (owned_by_generator(frame)) {
        frame_generator(frame)->gi_frame_state = state;
        frame->prev_instr++;
    }
}

static inline bool yields_from_another(const Frame *frame)
{
    return instruction_argument(frame_instruction(frame) + 1) % 4 >= 2;
}

/* Where it stands on the stack, from the top. */
enum { WAITED_FOR_WHEN_YIELDING = 1, WAITED_FOR_WHEN_RESUMED = 2 };

/* Whether an exception is thrown into a generator, where no event of its own tells: it does not stand
 * at a RESUME. */
static inline bool is_thrown_into(const Frame *frame)
{
    int operation = _Py_OPCODE(*frame->prev_instr);
    return operation != RESUME && operation != RESUME_QUICK;
}

/* How far an object of the collector stands behind the start of its memory. */
static inline size_t collector_header(void) { return sizeof(PyGC_Head); }

/* ---- code ---- */

/* The variables that an instruction assigns to: their slots, and how many there are. */
static inline int stored_slots(int operation, int argument, int slots[2])
{
    slots[0] = argument;
    return operation == STORE_FAST || operation == DELETE_FAST || operation == STORE_DEREF ||
           operation == DELETE_DEREF;
}

/* What a code object keeps once it was asked for: nothing here that a program could count. */
typedef struct {
    char none;
} CodeAttributes;

static inline CodeAttributes code_attributes(const PyCodeObject *Py_UNUSED(code))
{
    return (CodeAttributes){0};
}

static inline void drop_new_attributes(PyCodeObject *Py_UNUSED(code),
                                       const CodeAttributes *Py_UNUSED(before))
{
}

/* ---- exceptions and recursion ---- */

typedef struct {
    PyObject *type, *value, *traceback;
} SavedException;

static inline SavedException save_exception(void)
{
    SavedException saved;
    PyErr_Fetch(&saved.type, &saved.value, &saved.traceback);
    return saved;
}

static inline void restore_exception(SavedException *saved)
{
    PyErr_Restore(saved->type, saved->value, saved->traceback);
}

/* The class of an exception in flight of which only the arguments exist so far; or NULL. */
static inline PyObject *pending_exception_class(PyObject *type, PyObject *value)
{
    return value != NULL && PyExceptionInstance_Check(value) ? NULL : type;
}

static inline void lend_c_recursion(PyThreadState *Py_UNUSED(tstate), int Py_UNUSED(frames)) {}

static inline void lend_recursion(PyThreadState *tstate, int frames)
{
    tstate->recursion_remaining += frames;
}

/* ---- garbage ---- */

static inline struct gc_generation *youngest_generation(struct _gc_runtime_state *collector)
{
    return collector->generations;
}

/* ---- numbers ---- */

static inline bool compact_number(PyObject *number, long long *value)
{
    Py_ssize_t size = Py_SIZE(number);
    if (size < -1 || size > 1) {
        return false;
    }
    *value = size == 0 ? 0 : (long long)size * ((PyLongObject *)number)->ob_digit[0];
    return true;
}

static inline Py_ssize_t number_digits(PyObject *number) { return Py_ABS(Py_SIZE(number)); }

static inline bool number_is_negative(PyObject *number) { return Py_SIZE(number) < 0; }

static inline const digit *number_digit(PyObject *number)
{
    return ((PyLongObject *)number)->ob_digit;
}

/* ---- instances and dicts ---- */

static inline void managed_state(PyObject *object, PyTypeObject *Py_UNUSED(type),
                                 PyDictValues **values, PyObject **dict)
{
    *values = *_PyObject_ValuesPointer(object);
    *dict = *values == NULL ? *_PyObject_ManagedDictPointer(object) : NULL;
}

static inline Py_ssize_t values_count(const PyDictValues *values)
{
    return ((const uint8_t *)values)[-2];
}

static inline Py_ssize_t values_index(const PyDictValues *values, Py_ssize_t i)
{
    return ((const uint8_t *)values)[-3 - i];
}

static inline uint64_t dict_version(PyObject *dict)
{
    return ((PyDictObject *)dict)->ma_version_tag;
}

#endif
