/* Operators, tests and choices.
 *
 * Operations on scalars call no code of the program and change nothing. One that fails is left to
 * the Python function, which repeats it and notes what the exception came from. */

#include "tagging.h"

static PyObject *power(PyObject *a, PyObject *b) { return PyNumber_Power(a, b, Py_None); }
static PyObject *equal(PyObject *a, PyObject *b) { return PyObject_RichCompare(a, b, Py_EQ); }
static PyObject *unequal(PyObject *a, PyObject *b) { return PyObject_RichCompare(a, b, Py_NE); }
static PyObject *less(PyObject *a, PyObject *b) { return PyObject_RichCompare(a, b, Py_LT); }
static PyObject *at_most(PyObject *a, PyObject *b) { return PyObject_RichCompare(a, b, Py_LE); }
static PyObject *greater(PyObject *a, PyObject *b) { return PyObject_RichCompare(a, b, Py_GT); }
static PyObject *at_least(PyObject *a, PyObject *b) { return PyObject_RichCompare(a, b, Py_GE); }
static PyObject *is_same(PyObject *a, PyObject *b) { return PyBool_FromLong(a == b); }
static PyObject *is_other(PyObject *a, PyObject *b) { return PyBool_FromLong(a != b); }

static PyObject *is_in(PyObject *a, PyObject *b)
{
    int found = PySequence_Contains(b, a);
    return found < 0 ? NULL : PyBool_FromLong(found);
}

static PyObject *is_not_in(PyObject *a, PyObject *b)
{
    int found = PySequence_Contains(b, a);
    return found < 0 ? NULL : PyBool_FromLong(!found);
}

static const struct {
    const char *name;
    binaryfunc apply;
} OPERATORS[] = {
    {"Add", PyNumber_Add}, {"Sub", PyNumber_Subtract}, {"Mult", PyNumber_Multiply},
    {"Div", PyNumber_TrueDivide}, {"FloorDiv", PyNumber_FloorDivide}, {"Mod", PyNumber_Remainder},
    {"Pow", power}, {"LShift", PyNumber_Lshift}, {"RShift", PyNumber_Rshift},
    {"BitOr", PyNumber_Or}, {"BitXor", PyNumber_Xor}, {"BitAnd", PyNumber_And},
    {"MatMult", PyNumber_MatrixMultiply},
    {"Eq", equal}, {"NotEq", unequal}, {"Lt", less}, {"LtE", at_most}, {"Gt", greater},
    {"GtE", at_least}, {"Is", is_same}, {"IsNot", is_other}, {"In", is_in}, {"NotIn", is_not_in},
};

/* What rewritten code calls for an operator: its C function and the Python function. */
typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    binaryfunc apply;
    PyObject *python;
} Operator;

PyObject *operators; /* by their names */

/* The operation, if it is on values without parts; NULL without an exception: Python does it. */
static PyObject *operate_on_scalars(binaryfunc apply, PyObject *site, PyObject *control,
                                    PyObject *left,
                        PyObject *right)
{
    if (!is_pair(left) || !is_pair(right)) {
        return NULL;
    }
    PyObject *a = VALUE(left), *b = VALUE(right);
    if (apply != is_same && apply != is_other) {
        if (!is_scalar(a) || !is_scalar(b) ||
            (apply == PyNumber_Add && PyUnicode_CheckExact(a) && PyUnicode_CheckExact(b))) {
            return NULL; /* Python notes the pieces of a concatenated string */
        }
    }
    PyObject *value = apply(a, b);
    if (value == NULL) {
        PyErr_Clear();
        return NULL;
    }
    return pair_of(value, TAG_WITH(OP, site, control, TAG(left), TAG(right)));
}

/* Whether a dict or set has a plain key; it may have to ask the program's own keys. NULL without an
 * exception: Python does it. */
static PyObject *looked_for(binaryfunc apply, PyObject *const *given)
{
    PyObject *left = given[2], *right = given[3], *value, *shaped;
    if ((apply != is_in && apply != is_not_in) || !is_pair(left) || !is_pair(right) ||
        !is_scalar(VALUE(left)) || !is_control(given[1]) ||
        (!PyDict_CheckExact(VALUE(right)) && !PyAnySet_CheckExact(VALUE(right)))) {
        return NULL;
    }
    PyObject *operands = PyTuple_Pack(2, left, right);
    RunningOperation running;
    if (operands == NULL || !begin_operation(&running, given[0], given[1], operands)) {
        Py_XDECREF(operands);
        return NULL;
    }
    Py_DECREF(operands);
    value = apply(VALUE(left), VALUE(right));
    if (!end_operation(&running, value == NULL)) {
        Py_XDECREF(value);
        return NULL;
    }
    shaped = shape_of(VALUE(right));
    PyObject *rest[] = {TAG(left), TAG(right), shaped}, *tag = NULL;
    int first = TAG(left) == Py_None; /* an unknown operand adds nothing */
    if (shaped != NULL) {
        tag = outcome_tag_of(running.operation, value, rest + first, 3 - first);
    }
    Py_XDECREF(shaped);
    Py_DECREF(running.operation);
    return pair_of(value, tag);
}

static PyObject *operator_call(PyObject *self, PyObject *const *given, size_t flags,
                               PyObject *names)
{
    Operator *operator = (Operator *)self;
    if (enabled && names == NULL && PyVectorcall_NARGS(flags) == 4) {
        PyObject *made =
            operate_on_scalars(operator->apply, given[0], given[1], given[2], given[3]);
        if (made == NULL && !PyErr_Occurred()) {
            made = looked_for(operator->apply, given);
        }
        if (made != NULL || PyErr_Occurred()) {
            return made;
        }
    }
    return PyObject_Vectorcall(operator->python, given, flags, names);
}

static void operator_free(PyObject *self)
{
    Py_XDECREF(((Operator *)self)->python);
    Py_TYPE(self)->tp_free(self);
}

PyTypeObject OperatorType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "whence.langs.python.provenance._tagging.Operator",
    .tp_basicsize = sizeof(Operator),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(Operator, call),
    .tp_call = PyVectorcall_Call,
    .tp_dealloc = operator_free,
};

/* The native version of an operator. */
PyObject *operator(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    const char *name = count == 2 ? PyUnicode_AsUTF8(given[0]) : NULL;
    for (size_t i = 0; name != NULL && i < Py_ARRAY_LENGTH(OPERATORS); i++) {
        if (strcmp(OPERATORS[i].name, name) == 0) {
            Operator *made = PyObject_New(Operator, &OperatorType);
            if (made == NULL) {
                return NULL;
            }
            made->call = operator_call;
            made->apply = OPERATORS[i].apply;
            made->python = Py_NewRef(given[1]);
            if (PyDict_SetItem(operators, given[0], (PyObject *)made) < 0) {
                Py_CLEAR(made);
            }
            return (PyObject *)made;
        }
    }
    if (!PyErr_Occurred()) {
        PyErr_SetString(PyExc_ValueError, "operator: expected the name of one, and a function");
    }
    return NULL;
}

PyObject *native_augment(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (enabled && count == 5) {
        PyObject *found = PyDict_GetItemWithError(operators, given[0]);
        if (found != NULL) {
            PyObject *made =
                operate_on_scalars(((Operator *)found)->apply, given[1], given[2], given[3],
                                   given[4]);
            if (made != NULL || PyErr_Occurred()) {
                return made;
            }
        }
        PyErr_Clear();
    }
    return call_python(F_augment, given, count);
}

/* --- variables of modules --------------------------------------------------------------------- */

/* Whether a variable of some module that has tags is this one, imported from there. */
static bool is_imported(PyObject *name, PyObject *value)
{
    Py_ssize_t place = 0;
    PyObject *number, *shadow;
    while (PyDict_Next(SLOT(the_RUN, ShadowRun_modules), &place, &number, &shadow)) {
        if (PyDict_GetItemWithError(SLOT(shadow, Shadow_attribute_values), name) == value) {
            return true;
        }
    }
    return false;
}

PyObject *native_load_global(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count != 5) {
        return call_python(F_load_global, given, count);
    }
    PyObject *name = given[3], *value = given[4];
    PyObject *shadow = PyDict_GetItemWithError(SLOT(the_RUN, ShadowRun_modules), given[2]);
    PyObject *tag = NULL;
    if (shadow != NULL) {
        tag = PyDict_GetItemWithError(SLOT(shadow, Shadow_attributes), name);
    }
    if (tag == NULL && !PyErr_Occurred() && (is_shared(value) || !is_imported(name, value))) {
        return PyErr_Occurred() ? NULL : pair_of(Py_NewRef(value), Py_NewRef(Py_None));
    }
    if (tag == NULL ||
        PyDict_GetItemWithError(SLOT(shadow, Shadow_attribute_values), name) != value) {
        return PyErr_Occurred() ? NULL : call_python(F_load_global, given, count);
    }
    return pair_of(Py_NewRef(value), TAG_WITH(LOAD, given[0], given[1], tag, now(),
                                              SLOT(shadow, Shadow_object), name));
}

/* --- tests ------------------------------------------------------------------------------------ */

/* Whether asking if a value is true calls no code of the program. */
static bool is_plainly_tested(PyObject *value)
{
    PyTypeObject *type = Py_TYPE(value);
    if (type == &PyList_Type || type == &PyTuple_Type || type == &PyDict_Type ||
        type == &PySet_Type || type == &PyFrozenSet_Type) {
        return true;
    }
    return (type->tp_as_number == NULL || type->tp_as_number->nb_bool == NULL) &&
           (type->tp_as_mapping == NULL || type->tp_as_mapping->mp_length == NULL) &&
           (type->tp_as_sequence == NULL || type->tp_as_sequence->sq_length == NULL);
}

static bool is_number(PyObject *value) /* tagged_operations._NUMBERS */
{
    return PyLong_CheckExact(value) || PyFloat_CheckExact(value) || PyBool_Check(value);
}

PyObject *native_unary(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count != 4 || !is_pair(given[3])) {
        return call_python(F_unary, given, count);
    }
    if (PyUnicode_CompareWithASCIIString(given[0], "USub") == 0 && is_number(VALUE(given[3]))) {
        return pair_of(PyNumber_Negative(VALUE(given[3])),
                       TAG_WITH(OP, given[1], given[2], TAG(given[3])));
    }
    if (PyUnicode_CompareWithASCIIString(given[0], "Not") != 0) {
        return call_python(F_unary, given, count);
    }
    PyObject *value = VALUE(given[3]), *thread = here(), *shaped, *tag;
    if (!is_scalar(value) && !is_plainly_tested(value)) {
        return call_python(F_unary, given, count);
    }
    int truth = PyObject_IsTrue(value);
    if (truth < 0 || thread == NULL || !forget_pending(thread)) {
        return NULL;
    }
    if (is_scalar(value)) {
        tag = TAG_WITH(OP, given[1], given[2], TAG(given[3]));
    }
    else {
        shaped = shape_of(value);
        tag = shaped ? TAG_WITH(OP, given[1], given[2], TAG(given[3]), shaped) : NULL;
        Py_XDECREF(shaped);
    }
    return pair_of(PyBool_FromLong(!truth), tag);
}

/* The control of what depends on a value; NULL without an exception: Python makes it. */
static PyObject *tested(PyObject *const *given, Py_ssize_t count)
{
    if (!enabled || count != 3 || !is_control(given[1]) || !is_pair(given[2])) {
        return NULL;
    }
    PyObject *site = given[0], *control = given[1], *value = VALUE(given[2]), *why;
    if (is_scalar(value)) {
        why = Py_NewRef(TAG(given[2]));
    }
    else if (is_plainly_tested(value)) {
        PyObject *thread = here(), *shaped;
        if (thread == NULL || !forget_pending(thread) || (shaped = shape_of(value)) == NULL) {
            return NULL;
        }
        why = TAG_WITH(OP, site, control, TAG(given[2]), shaped);
        Py_DECREF(shaped);
    }
    else {
        return NULL;
    }
    int truth = why != NULL ? PyObject_IsTrue(value) : -1;
    PyObject *made = NULL;
    if (truth >= 0) {
        made = test_tag(site, control, why, tag_field(control, FIELD_ACTIVATION), truth, NULL);
    }
    Py_XDECREF(why);
    return made;
}

PyObject *native_test(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    PyObject *made = tested(given, count);
    return made != NULL || PyErr_Occurred() ? made : call_python(F_test, given, count);
}

/* Notes a test that decides whether something is changed. */
static bool decided(PyObject *activation, PyObject *control)
{
    PyObject **tests = &SLOT(activation, Activation_tests);
    if (!PyList_CheckExact(*tests)) {
        PyObject *list = PyList_New(2);
        if (list == NULL) {
            return false;
        }
        PyList_SET_ITEM(list, 0, Py_NewRef(now()));
        PyList_SET_ITEM(list, 1, Py_NewRef(control));
        put_new(tests, list);
        return true;
    }
    return PyList_Append(*tests, now()) == 0 && PyList_Append(*tests, control) == 0;
}

/* Notes which object a call changes, if something chose it. */
bool note_change_target(PyObject *control, PyObject *tag)
{
    while (tag != Py_None && kind_of(tag) == LOAD && fields_of(tag) == LOAD_NEEDS + 1) {
        tag = tag_field(tag, LOAD_NEEDS);
    }
    if (tag == Py_None) {
        return true;
    }
    int kind = kind_of(tag);
    bool chosen = kind == LOAD || kind == PHI || kind == SEL || kind == RET || kind == AMBIG;
    return !chosen || decided(tag_field(control, FIELD_ACTIVATION), tag);
}

PyObject *native_test_and_note(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    PyObject *made = tested(given, count);
    if (made == NULL) {
        return PyErr_Occurred() ? NULL : call_python(F_test_and_note, given, count);
    }
    if (!decided(tag_field(made, FIELD_ACTIVATION), made)) {
        Py_CLEAR(made);
    }
    return made;
}

PyObject *native_select(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count != 4 || !is_pair(given[2])) {
        return call_python(F_select, given, count);
    }
    return pair_of(Py_NewRef(VALUE(given[2])),
                   TAG_WITH(SEL, given[0], given[1], TAG(given[2]), given[3]));
}
