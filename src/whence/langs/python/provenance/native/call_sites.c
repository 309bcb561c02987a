/* Calls, on the caller's side, and models of the builtins that are called most. */

#include "tagging.h"

static bool is_rewritten(PyObject *function)
{
    return PyFunction_Check(function) && Py_IS_TYPE(function, &PyFunction_Type) &&
           by_address(the_REWRITTEN_CODES, PyFunction_GET_CODE(function)) != NULL;
}

/* Puts the values of keyword arguments into a dict; returns a dict of their tags. */
static PyObject *split_keywords(PyObject *given, PyObject *values)
{
    Py_ssize_t place = 0;
    PyObject *name, *pair, *tags;
    if (PyDict_GET_SIZE(given) == 0) {
        return Py_NewRef(the_NO_KEYWORDS);
    }
    tags = values != NULL ? PyDict_New() : NULL;
    while (tags != NULL && PyDict_Next(given, &place, &name, &pair)) {
        if (PyDict_SetItem(values, name, VALUE(pair)) < 0 ||
            PyDict_SetItem(tags, name, TAG(pair)) < 0) {
            Py_CLEAR(tags);
        }
    }
    return tags;
}

/* A call of a rewritten function that is about to begin; `receiver`: of a method, or NULL. */
static PyObject *pending_call(PyObject *const *given, PyObject *function, PyObject *receiver)
{
    PyObject *called = given[2], *arguments = given[3], *thread = here();
    PyTypeObject *type = (PyTypeObject *)the_PendingCall;
    Py_ssize_t extra = receiver != NULL, count = PyTuple_GET_SIZE(arguments) + extra;
    PyObject *values = PyList_New(count), *tags = PyList_New(count), *keywords = PyDict_New();
    PyObject *named = split_keywords(given[4], keywords);
    PyObject *made = values && tags && keywords && named && thread ? type->tp_alloc(type, 0) : NULL;
    if (made == NULL) {
        Py_XDECREF(values);
        Py_XDECREF(tags);
        Py_XDECREF(keywords);
        Py_XDECREF(named);
        return NULL;
    }
    if (receiver != NULL) {
        PyList_SET_ITEM(values, 0, Py_NewRef(receiver));
        PyList_SET_ITEM(tags, 0, Py_NewRef(receiver_tag(TAG(called))));
    }
    for (Py_ssize_t i = extra; i < count; i++) {
        PyObject *pair = PyTuple_GET_ITEM(arguments, i - extra);
        PyList_SET_ITEM(values, i, Py_NewRef(VALUE(pair)));
        PyList_SET_ITEM(tags, i, Py_NewRef(TAG(pair)));
    }
    SLOT(made, PendingCall_values) = values;
    SLOT(made, PendingCall_tags) = tags;
    SLOT(made, PendingCall_keywords) = keywords;
    SLOT(made, PendingCall_keyword_tags) = named;
    SLOT(made, PendingCall_function) = Py_NewRef(VALUE(called));
    SLOT(made, PendingCall_defined) = Py_NewRef(function);
    SLOT(made, PendingCall_code) = Py_NewRef(PyFunction_GET_CODE(function));
    SLOT(made, PendingCall_site) = Py_NewRef(given[0]);
    SLOT(made, PendingCall_control) = Py_NewRef(given[1]);
    SLOT(made, PendingCall_tag) = Py_NewRef(TAG(called));
    SLOT(made, PendingCall_starred) = Py_NewRef(empty_tuple);
    SLOT(made, PendingCall_activation) = Py_NewRef(Py_None);
    SLOT(made, PendingCall_run) = Py_NewRef(Py_None);
    SLOT(made, PendingCall_before) = Py_NewRef(of_thread(thread, name_operation));
    SLOT(made, PendingCall_arguments) =
        receiver != NULL ? PyList_GetSlice(values, 1, count) : Py_NewRef(values);
    if (SLOT(made, PendingCall_arguments) == NULL ||
        PyDict_SetItem(thread, name_pending, made) < 0) {
        Py_CLEAR(made);
    }
    return made;
}

/* A call that was made here; steals the pair of its result. */
static PyObject *modelled_call(PyObject *pair)
{
    PyTypeObject *type = (PyTypeObject *)the_ModelledCall;
    PyObject *thread = pair != NULL ? here() : NULL;
    PyObject *arguments = thread != NULL ? PyTuple_New(1) : NULL;
    PyObject *made = arguments != NULL ? type->tp_alloc(type, 0) : NULL;
    if (made == NULL) {
        Py_XDECREF(arguments);
        Py_XDECREF(pair);
        return NULL;
    }
    PyTuple_SET_ITEM(arguments, 0, pair);
    SLOT(made, ModelledCall_arguments) = arguments;
    SLOT(made, ModelledCall_before) = Py_NewRef(of_thread(thread, name_operation));
    return made;
}

/* `len` of a builtin container. */
static PyObject *length_of(PyObject *const *given, PyObject *pair)
{
    PyObject *thing = VALUE(pair);
    if (!PyList_CheckExact(thing) && !PyTuple_CheckExact(thing) && !PyDict_CheckExact(thing) &&
        !Py_IS_TYPE(thing, &PySet_Type) && !PyUnicode_CheckExact(thing) &&
        !PyBytes_CheckExact(thing)) {
        return NULL;
    }
    PyObject *shaped = shape_of(thing);
    if (shaped == NULL) {
        return NULL;
    }
    PyObject *tag = TAG_WITH(OP, given[0], given[1], TAG(pair), shaped);
    Py_DECREF(shaped);
    return pair_of(PyLong_FromSsize_t(PyObject_Size(thing)), tag);
}

/* `append` to a list whose shadow has the same length. */
static PyObject *append_to(PyObject *const *given, PyObject *pair)
{
    PyObject *thing = PyCFunction_GET_SELF(VALUE(given[2]));
    PyObject *owner = receiver_tag(TAG(given[2]));
    PyObject *shadow = PyList_CheckExact(thing) ? shadow_of(thing) : NULL;
    if (shadow == NULL) {
        return NULL;
    }
    PyObject *items = SLOT(shadow, Shadow_items), *values = SLOT(shadow, Shadow_values);
    if (!PyList_CheckExact(items) || !PyList_CheckExact(values) ||
        PyList_GET_SIZE(items) != PyList_GET_SIZE(thing) ||
        PyList_Append(thing, VALUE(pair)) < 0 || !tick(ShadowRun_time)) {
        return NULL;
    }
    PyObject *tag = TAG_WITH(STORE, given[0], given[1], TAG(pair), now(), owner);
    bool good = tag != NULL && PyList_Append(values, VALUE(pair)) == 0 &&
                PyList_Append(items, tag) == 0 && note_holds(thing, VALUE(pair));
    Py_XDECREF(tag);
    PyObject *shaped =
        good ? TAG_WITH(OP, given[0], given[1], SLOT(shadow, Shadow_shape), owner) : NULL;
    if (shaped == NULL) {
        return NULL;
    }
    put_new(&SLOT(shadow, Shadow_shape), shaped);
    if (!note_change_target(given[1], owner)) {
        return NULL;
    }
    return pair_of(Py_NewRef(Py_None), tag_with(CONST, given[0], given[1], NULL, 0));
}

/* `isinstance(value, kind)`, which may call the program's code. */
static PyObject *is_instance(PyObject *const *given, PyObject *value, PyObject *kind)
{
    RunningOperation running;
    if (!begin_operation(&running, given[0], given[1], given[3])) {
        return NULL;
    }
    int answer = PyObject_IsInstance(VALUE(value), VALUE(kind));
    if (!end_operation(&running, answer < 0)) {
        return NULL;
    }
    PyObject *truth = PyBool_FromLong(answer), *needs[] = {TAG(value), TAG(kind)};
    PyObject *tag = outcome_tag_of(running.operation, truth, needs, 2);
    Py_DECREF(running.operation);
    return pair_of(truth, tag);
}

/* Methods of plain values that do not simply give a plain value: they read or give containers, or
 * ask for a codec, or of what they give it is known where it stood before. */
static const char *const NOT_SIMPLE[] = {
    "join", "format", "format_map", "split", "rsplit", "splitlines", "partition", "rpartition",
    "as_integer_ratio", "encode", "decode", "ljust", "rjust", "center", "strip", "lstrip", "rstrip",
    "upper", "lower", "title", "capitalize",
};

static bool is_simple(PyObject *function, PyObject *arguments)
{
    PyObject *owner = PyCFunction_GET_SELF(function);
    if (owner == NULL || owner == Py_None || !is_scalar(owner)) {
        return false;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments); i++) {
        if (!is_scalar(VALUE(PyTuple_GET_ITEM(arguments, i)))) {
            return false;
        }
    }
    const char *name = builtin_name(function);
    for (size_t i = 0; i < Py_ARRAY_LENGTH(NOT_SIMPLE); i++) {
        if (strcmp(name, NOT_SIMPLE[i]) == 0) {
            return false;
        }
    }
    return true;
}

enum { MOST_SIMPLE = 4 };

/* A method of a plain value with plain arguments. It changes nothing and calls no code of the
 * program's: should it fail, Python does it again. */
static PyObject *simple_method(PyObject *const *given)
{
    PyObject *arguments = given[3], *values[MOST_SIMPLE], *rest[MOST_SIMPLE + 1];
    Py_ssize_t count = PyTuple_GET_SIZE(arguments);
    if (count > MOST_SIMPLE || !is_simple(VALUE(given[2]), arguments)) {
        return NULL;
    }
    rest[0] = receiver_tag(TAG(given[2]));
    for (Py_ssize_t i = 0; i < count; i++) {
        values[i] = VALUE(PyTuple_GET_ITEM(arguments, i));
        rest[1 + i] = TAG(PyTuple_GET_ITEM(arguments, i));
    }
    PyObject *value = PyObject_Vectorcall(VALUE(given[2]), values, (size_t)count, NULL);
    if (value == NULL) {
        PyErr_Clear();
        return NULL;
    }
    return pair_of(value, tag_with(OP, given[0], given[1], rest, 1 + count));
}

/* `str(5)`, `int("7")`: a plain value made of another, by a class that has no model. What code out
 * of sight was given is noted as for any other. NULL without an exception: Python does it. */
static PyObject *converted(PyObject *const *given)
{
    PyObject *kind = VALUE(given[2]), *callee = TAG(given[2]), *arguments = given[3], *pair;
    if (PyTuple_GET_SIZE(arguments) != 1 || SLOT(the_RUN, ShadowRun_on_outside) != Py_None ||
        (kind != (PyObject *)&PyUnicode_Type && kind != (PyObject *)&PyLong_Type &&
         kind != (PyObject *)&PyFloat_Type && kind != (PyObject *)&PyBool_Type)) {
        return NULL;
    }
    pair = PyTuple_GET_ITEM(arguments, 0);
    if (!is_scalar(VALUE(pair))) {
        return NULL;
    }
    PyObject *value = PyObject_CallOneArg(kind, VALUE(pair));
    if (value == NULL) {
        PyErr_Clear();
        return NULL;
    }
    PyObject *passed =
        TAG_WITH(OP, given[0], given[1], TAG(pair), SLOT(the_RUN, ShadowRun_passed_out_of_sight));
    if (passed == NULL) {
        Py_DECREF(value);
        return NULL;
    }
    put_new(&SLOT(the_RUN, ShadowRun_passed_out_of_sight), passed);
    PyObject *all[] = {TAG(pair), callee, SLOT(the_RUN, ShadowRun_stray_results)}, *rest[3];
    Py_ssize_t count = 0;
    for (int i = 0; i < 3; i++) {
        if (all[i] != Py_None) {
            rest[count++] = all[i];
        }
    }
    PyObject *made = tag_with(OP, given[0], given[1], rest, count);
    passed = made
        ? TAG_WITH(OP, given[0], given[1], made, SLOT(the_RUN, ShadowRun_passed_out_of_sight))
            : NULL;
    if (passed == NULL) {
        Py_XDECREF(made);
        Py_DECREF(value);
        return NULL;
    }
    put_new(&SLOT(the_RUN, ShadowRun_passed_out_of_sight), passed);
    return pair_of(value, made);
}

/* The result of a builtin that is modelled here; NULL without an exception: it is not. */
static PyObject *of_builtin(PyObject *const *given)
{
    PyObject *function = VALUE(given[2]), *arguments = given[3];
    if (function == builtin_isinstance && PyTuple_GET_SIZE(arguments) == 2) {
        return is_instance(given, PyTuple_GET_ITEM(arguments, 0), PyTuple_GET_ITEM(arguments, 1));
    }
    PyObject *simple = simple_method(given);
    if (simple != NULL || PyErr_Occurred() || PyTuple_GET_SIZE(arguments) != 1) {
        return simple;
    }
    if (function == builtin_len) {
        return length_of(given, PyTuple_GET_ITEM(arguments, 0));
    }
    if (PyCFunction_GET_FUNCTION(function) == list_append) {
        return append_to(given, PyTuple_GET_ITEM(arguments, 0));
    }
    return NULL;
}

static bool are_pairs(PyObject *arguments)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments); i++) {
        if (!is_pair(PyTuple_GET_ITEM(arguments, i))) {
            return false;
        }
    }
    return true;
}

/* Whether no keyword argument came from `**`. */
static bool are_plain_keywords(PyObject *keywords)
{
    return keywords == the_NO_KEYWORDS || PyDict_CheckExact(keywords);
}

PyObject *native_prepare_call(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count != 5 || !are_plain_keywords(given[4]) || !is_pair(given[2]) ||
        !PyTuple_CheckExact(given[3]) || !is_control(given[1]) || !are_pairs(given[3])) {
        return call_python(F_prepare_call, given, count);
    }
    PyObject *function = VALUE(given[2]);
    if (is_rewritten(function)) {
        return pending_call(given, function, NULL);
    }
    if (PyMethod_Check(function) && is_rewritten(PyMethod_GET_FUNCTION(function))) {
        return pending_call(given, PyMethod_GET_FUNCTION(function), PyMethod_GET_SELF(function));
    }
    if (PyErr_Occurred()) {
        return NULL;
    }
    bool is_builtin = PyCFunction_Check(function);
    if ((is_builtin || PyType_Check(function)) && given[4] == the_NO_KEYWORDS) {
        PyObject *made = is_builtin ? of_builtin(given) : converted(given);
        if (made != NULL || PyErr_Occurred()) {
            return made != NULL ? modelled_call(made) : NULL;
        }
    }
    PyObject *made = given[4] == the_NO_KEYWORDS ? call_outside(given) : NULL;
    return made != NULL || PyErr_Occurred() ? made : call_python(F_prepare_call, given, count);
}

PyObject *native_finish_call(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count != 2) {
        return call_python(F_finish_call, given, count);
    }
    PyObject *prepared = given[0], *value = given[1], *thread = here(), *before;
    bool is_pending = Py_IS_TYPE(prepared, (PyTypeObject *)the_PendingCall);
    bool is_modelled = Py_IS_TYPE(prepared, (PyTypeObject *)the_ModelledCall);
    if (!is_pending && !is_modelled && !Py_IS_TYPE(prepared, (PyTypeObject *)the_PreparedCall)) {
        return call_python(F_finish_call, given, count);
    }
    before = is_pending    ? SLOT(prepared, PendingCall_before)
             : is_modelled ? SLOT(prepared, ModelledCall_before)
                           : SLOT(prepared, PreparedCall_before);
    if (thread == NULL || PyDict_SetItem(thread, name_operation, before) < 0 ||
        !forget_pending(thread)) {
        return NULL;
    }
    if (is_modelled) {
        return Py_NewRef(value);
    }
    if (!is_pending) {
        return PyObject_Vectorcall(SLOT(prepared, PreparedCall_finish), given, 2, NULL);
    }
    PyObject *activation = SLOT(prepared, PendingCall_activation);
    if (activation == Py_None) {
        return PyObject_Vectorcall(python_helpers[H_finish_function], given, 2, NULL);
    }
    PyObject *tag = SLOT(prepared, PendingCall_tag);
    PyObject *rest[] = {SLOT(activation, Activation_result), activation, tag};
    return pair_of(Py_NewRef(value),
                   tag_with(RET, SLOT(prepared, PendingCall_site),
                            SLOT(prepared, PendingCall_control),
                            rest, tag == Py_None ? 2 : 3));
}
