/* What has stayed the same since CPython 3.12. */
#ifndef WHENCE_CPYTHON_SINCE_V312_H
#define WHENCE_CPYTHON_SINCE_V312_H

#define HAS_MONITORING 1 /* sys.monitoring, function watchers */

/* ---- frames ---- */

/* A frame that tells of its start is the current one already. */
typedef struct {
    char none;
} PendingFrame;

static inline PendingFrame pending_frame_enter(PyThreadState *Py_UNUSED(tstate),
                                               Frame *Py_UNUSED(frame))
{
    return (PendingFrame){0};
}

static inline void pending_frame_leave(const PendingFrame *Py_UNUSED(pending)) {}

static inline bool can_force_return(const PyThreadState *Py_UNUSED(tstate)) { return true; }

/* The value of a variable that is shared through a cell. */
static inline PyObject *shared_variable(const Frame *frame, int slot, bool Py_UNUSED(is_free))
{
    PyObject *value = frame_slot(frame, slot);
    return value != NULL && PyCell_Check(value) ? ((PyCellObject *)value)->ob_ref : value;
}

/* Finds an instruction of the code that returns what is on the stack; or else one that returns a
 * constant, preferably this value; or -1. */
static inline Py_ssize_t find_return(PyCodeObject *code, PyObject *value, bool *from_stack,
                                     uint8_t *constant)
{
    PyObject *bytes = PyCode_GetCode(code); /* as it was compiled */
    Py_ssize_t unit = -1, count = bytes != NULL ? PyBytes_GET_SIZE(bytes) : 0;
    const uint8_t *units = bytes != NULL ? (const uint8_t *)PyBytes_AS_STRING(bytes) : NULL;
    bool is_value = false;
    *from_stack = false;
    for (Py_ssize_t at = 0; at < count && !*from_stack; at += 2) {
        bool is_extended = at > 0 && units[at - 2] == EXTENDED_ARG;
        if (units[at] == RETURN_VALUE) {
            unit = at / 2;
            *from_stack = true;
        }
        else if (returns_constant(units[at]) && !is_extended && !is_value) {
            unit = at / 2;
            *constant = units[at + 1];
            is_value = PyTuple_GET_ITEM(code->co_consts, *constant) == value;
        }
    }
    PyErr_Clear();
    Py_XDECREF(bytes);
    return unit;
}

/* A constant of a code object that is replaced by another value until the frame has returned it. */
typedef struct {
    PyObject **place, *constant;
} ReplacedConstant;

extern ReplacedConstant replaced_constant;

static inline void undo_force_return(void)
{
    if (replaced_constant.place != NULL) {
        /* The value that stood there is being returned: its reference goes with it. */
        *replaced_constant.place = replaced_constant.constant;
        replaced_constant.place = NULL;
    }
}

/* Makes the frame return this value without running its body. After a callback at a RESUME the
 * interpreter looks whether the frame has jumped, and takes its stack as it is then. So the frame
 * jumps to an instruction that returns what is on the stack, or a constant, which is replaced for as
 * long as that takes: nothing runs in between. A code that can end only by an exception is left
 * alone. */
static inline void force_return(Frame *frame, PyObject *value)
{
    PyCodeObject *code = frame_code(frame);
    bool from_stack;
    uint8_t constant = 0;
    Py_ssize_t unit = find_return(code, value, &from_stack, &constant);
    if (unit < 0) {
        return;
    }
    if (from_stack) {
        frame_push(frame, value);
    }
    else if (PyTuple_GET_ITEM(code->co_consts, constant) != value) {
        replaced_constant.place = &PyTuple_GET_ITEM(code->co_consts, constant);
        replaced_constant.constant = *replaced_constant.place;
        *replaced_constant.place = Py_NewRef(value);
    }
    set_frame_instruction(frame, unit);
}

/* ---- code ---- */

/* A code object keeps its names and bytes once they were asked for: a program that counts the objects
 * there are would see ours. */
typedef _PyCoCached CodeAttributes;

static inline CodeAttributes code_attributes(const PyCodeObject *code)
{
    return code->_co_cached != NULL ? *code->_co_cached : (CodeAttributes){NULL, NULL, NULL, NULL};
}

static inline void drop_new_attributes(PyCodeObject *code, const CodeAttributes *before)
{
    CodeAttributes *now = code->_co_cached;
    if (now == NULL) {
        return;
    }
    if (before->_co_code == NULL) {
        Py_CLEAR(now->_co_code);
    }
    if (before->_co_varnames == NULL) {
        Py_CLEAR(now->_co_varnames);
    }
    if (before->_co_cellvars == NULL) {
        Py_CLEAR(now->_co_cellvars);
    }
    if (before->_co_freevars == NULL) {
        Py_CLEAR(now->_co_freevars);
    }
}

/* A `def` gives its new function the version of its code. With one, calls of the function would be
 * specialised, and bypass its vectorcall. */
static inline void forget_code_version(PyCodeObject *code) { code->co_version = 0; }

/* ---- exceptions and recursion ---- */

typedef PyObject *SavedException;

static inline SavedException save_exception(void) { return PyErr_GetRaisedException(); }

static inline void restore_exception(SavedException *saved) { PyErr_SetRaisedException(*saved); }

static inline void lend_recursion(PyThreadState *tstate, int frames)
{
    tstate->py_recursion_remaining += frames;
    lend_c_recursion(tstate, frames);
}

/* How much of both recursion limits a thread uses. */
typedef struct {
    int python, c;
} Recursion;

static inline Recursion used_recursion(PyThreadState *tstate, int c_limit)
{
    return (Recursion){tstate->py_recursion_limit - tstate->py_recursion_remaining,
                       c_limit - c_recursion_left(tstate)};
}

static inline void set_used_recursion(PyThreadState *tstate, int c_limit, Recursion used)
{
    tstate->py_recursion_remaining = tstate->py_recursion_limit - used.python;
    lend_c_recursion(tstate, used_recursion(tstate, c_limit).c - used.c);
}

/* What a thread uses that runs nothing, and will use `calls` for calls of C functions. */
static inline Recursion no_recursion_but(int calls) { return (Recursion){0, -calls}; }

/* ---- numbers ---- */

static inline bool compact_number(PyObject *number, long long *value)
{
    if (!_PyLong_IsCompact((PyLongObject *)number)) {
        return false;
    }
    *value = _PyLong_CompactValue((PyLongObject *)number);
    return true;
}

static inline Py_ssize_t number_digits(PyObject *number)
{
    return _PyLong_DigitCount((PyLongObject *)number);
}

static inline bool number_is_negative(PyObject *number)
{
    return _PyLong_IsNegative((PyLongObject *)number);
}

static inline const digit *number_digit(PyObject *number)
{
    return ((PyLongObject *)number)->long_value.ob_digit;
}

#endif
