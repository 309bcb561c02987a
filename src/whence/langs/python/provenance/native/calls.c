/* Calls, from the caller and from the callee: calls.py.
 *
 * C functions have no frame, so that the frame that runs is the program's own, as it is for who
 * looks one frame up from a Python function. */

#include "tagging.h"

/* --- from the caller ---------------------------------------------------------------------------- */

static bool is_rewritten(PyObject *function)
{
    return PyFunction_Check(function) && Py_IS_TYPE(function, &PyFunction_Type) &&
           by_address(the_CODES, PyFunction_GET_CODE(function)) != NULL;
}

/* The tag of the object that a method is bound to; borrowed. */
static PyObject *receiver_tag(PyObject *tag)
{
    while (tag != Py_None) {
        int kind = kind_of(tag);
        if (kind == BOUND) {
            return field(tag, 4);
        }
        if (kind == AMBIG || kind < ARG) {
            return Py_None;
        }
        tag = field(tag, 3);
    }
    return Py_None;
}

/* The values of arguments by name go into a dict; gives a dict of their tags. */
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
    PyTypeObject *type = (PyTypeObject *)the_Pending;
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
    SLOT(made, Pending_values) = values;
    SLOT(made, Pending_tags) = tags;
    SLOT(made, Pending_keywords) = keywords;
    SLOT(made, Pending_keyword_tags) = named;
    SLOT(made, Pending_function) = Py_NewRef(VALUE(called));
    SLOT(made, Pending_defined) = Py_NewRef(function);
    SLOT(made, Pending_code) = Py_NewRef(PyFunction_GET_CODE(function));
    SLOT(made, Pending_site) = Py_NewRef(given[0]);
    SLOT(made, Pending_control) = Py_NewRef(given[1]);
    SLOT(made, Pending_tag) = Py_NewRef(TAG(called));
    SLOT(made, Pending_starred) = Py_NewRef(empty_tuple);
    SLOT(made, Pending_activation) = Py_NewRef(Py_None);
    SLOT(made, Pending_run) = Py_NewRef(Py_None);
    SLOT(made, Pending_before) = Py_NewRef(of_thread(thread, name_operation));
    SLOT(made, Pending_arguments) =
        receiver != NULL ? PyList_GetSlice(values, 1, count) : Py_NewRef(values);
    if (SLOT(made, Pending_arguments) == NULL ||
        PyDict_SetItem(thread, name_pending, made) < 0) {
        Py_CLEAR(made);
    }
    return made;
}

/* A call that was made here: what came of it is a pair, which is taken. */
static PyObject *modelled(PyObject *pair)
{
    PyTypeObject *type = (PyTypeObject *)the_Modelled;
    PyObject *thread = pair != NULL ? here() : NULL;
    PyObject *arguments = thread != NULL ? PyTuple_New(1) : NULL;
    PyObject *made = arguments != NULL ? type->tp_alloc(type, 0) : NULL;
    if (made == NULL) {
        Py_XDECREF(arguments);
        Py_XDECREF(pair);
        return NULL;
    }
    PyTuple_SET_ITEM(arguments, 0, pair);
    SLOT(made, Modelled_arguments) = arguments;
    SLOT(made, Modelled_before) = Py_NewRef(of_thread(thread, name_operation));
    return made;
}

/* models._len, of what counts itself. */
static PyObject *length_of(PyObject *const *given, PyObject *pair)
{
    PyObject *thing = VALUE(pair);
    if (!PyList_CheckExact(thing) && !PyTuple_CheckExact(thing) && !PyDict_CheckExact(thing) &&
        !Py_IS_TYPE(thing, &PySet_Type) && !PyUnicode_CheckExact(thing) &&
        !PyBytes_CheckExact(thing)) {
        return NULL;
    }
    PyObject *shaped = shape(thing);
    if (shaped == NULL) {
        return NULL;
    }
    PyObject *tag = TAG_WITH(OP, given[0], given[1], TAG(pair), shaped);
    Py_DECREF(shaped);
    return pair_of(PyLong_FromSsize_t(PyObject_Size(thing)), tag);
}

/* methods._append, of a list whose shadow is as long as it is. */
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
        PyList_Append(thing, VALUE(pair)) < 0 || !tick(Run_time)) {
        return NULL;
    }
    PyObject *tag = TAG_WITH(STORE, given[0], given[1], TAG(pair), now(), owner);
    bool good = tag != NULL && PyList_Append(values, VALUE(pair)) == 0 &&
                PyList_Append(items, tag) == 0 && hold(thing, VALUE(pair));
    Py_XDECREF(tag);
    PyObject *shaped =
        good ? TAG_WITH(OP, given[0], given[1], SLOT(shadow, Shadow_shape), owner) : NULL;
    if (shaped == NULL) {
        return NULL;
    }
    put_new(&SLOT(shadow, Shadow_shape), shaped);
    if (!aim(given[1], owner)) {
        return NULL;
    }
    return pair_of(Py_NewRef(Py_None), tag_with(CONST, given[0], given[1], NULL, 0));
}

/* `isinstance(value, kind)`, which may ask the program's own code. */
static PyObject *is_instance(PyObject *const *given, PyObject *value, PyObject *kind)
{
    Running running;
    if (!begin(&running, given[0], given[1], given[3])) {
        return NULL;
    }
    int answer = PyObject_IsInstance(VALUE(value), VALUE(kind));
    if (!end(&running, answer < 0)) {
        return NULL;
    }
    PyObject *truth = PyBool_FromLong(answer), *tag;
    if (was_told(&running)) {
        PyObject *tags = PyTuple_Pack(2, TAG(value), TAG(kind));
        PyObject *arguments[] = {running.operation, truth, tags};
        tag = tags != NULL ? PyObject_Vectorcall(rests[R_told], arguments, 3, NULL) : NULL;
        Py_XDECREF(tags);
    }
    else {
        tag = TAG_WITH(OP, given[0], given[1], TAG(value), TAG(kind));
    }
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
    const char *name = ((PyCFunctionObject *)function)->m_ml->ml_name;
    for (size_t i = 0; i < Py_ARRAY_LENGTH(NOT_SIMPLE); i++) {
        if (strcmp(name, NOT_SIMPLE[i]) == 0) {
            return false;
        }
    }
    return true;
}

enum { MOST_SIMPLE = 4 };

/* A method of a plain value with plain arguments. It changes nothing and calls no code of the
 * program's: should it fail, the twin does it again. */
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
 * of sight was given is noted as for any other. NULL without an exception: the twin does it. */
static PyObject *converted(PyObject *const *given)
{
    PyObject *kind = VALUE(given[2]), *callee = TAG(given[2]), *arguments = given[3], *pair;
    if (PyTuple_GET_SIZE(arguments) != 1 || SLOT(the_RUN, Run_on_outside) != Py_None ||
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
    PyObject *passed = TAG_WITH(OP, given[0], given[1], TAG(pair), SLOT(the_RUN, Run_passed));
    if (passed == NULL) {
        Py_DECREF(value);
        return NULL;
    }
    put_new(&SLOT(the_RUN, Run_passed), passed);
    PyObject *all[] = {TAG(pair), callee, SLOT(the_RUN, Run_loose)}, *rest[3];
    Py_ssize_t count = 0;
    for (int i = 0; i < 3; i++) {
        if (all[i] != Py_None) {
            rest[count++] = all[i];
        }
    }
    PyObject *made = tag_with(OP, given[0], given[1], rest, count);
    passed = made ? TAG_WITH(OP, given[0], given[1], made, SLOT(the_RUN, Run_passed)) : NULL;
    if (passed == NULL) {
        Py_XDECREF(made);
        Py_DECREF(value);
        return NULL;
    }
    put_new(&SLOT(the_RUN, Run_passed), passed);
    return pair_of(value, made);
}

/* What a builtin gives that is done here; NULL without an exception: it is not. */
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

/* Arguments by name, none of which came out of something starred. */
static bool are_plain_keywords(PyObject *keywords)
{
    return keywords == the_NO_KEYWORDS || PyDict_CheckExact(keywords);
}

static PyObject *prepare(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count != 5 || !are_plain_keywords(given[4]) || !is_pair(given[2]) ||
        !PyTuple_CheckExact(given[3]) || !is_control(given[1]) || !are_pairs(given[3])) {
        return twin_does(T_prepare, given, count);
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
    bool is_builtin = PyCFunction_CheckExact(function);
    if ((is_builtin || PyType_Check(function)) && given[4] == the_NO_KEYWORDS) {
        PyObject *made = is_builtin ? of_builtin(given) : converted(given);
        if (made != NULL || PyErr_Occurred()) {
            return made != NULL ? modelled(made) : NULL;
        }
    }
    return twin_does(T_prepare, given, count);
}

static PyObject *result(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count != 2) {
        return twin_does(T_result, given, count);
    }
    PyObject *prepared = given[0], *value = given[1], *thread = here(), *before;
    bool is_pending = Py_IS_TYPE(prepared, (PyTypeObject *)the_Pending);
    bool is_modelled = Py_IS_TYPE(prepared, (PyTypeObject *)the_Modelled);
    if (!is_pending && !is_modelled && !Py_IS_TYPE(prepared, (PyTypeObject *)the_Prepared)) {
        return twin_does(T_result, given, count);
    }
    before = is_pending    ? SLOT(prepared, Pending_before)
             : is_modelled ? SLOT(prepared, Modelled_before)
                           : SLOT(prepared, Prepared_before);
    if (thread == NULL || PyDict_SetItem(thread, name_operation, before) < 0 ||
        !forget_pending(thread)) {
        return NULL;
    }
    if (is_modelled) {
        return Py_NewRef(value);
    }
    if (!is_pending) {
        return PyObject_Vectorcall(SLOT(prepared, Prepared_finish), given, 2, NULL);
    }
    PyObject *activation = SLOT(prepared, Pending_activation);
    if (activation == Py_None) {
        return PyObject_Vectorcall(rests[R_finish_function], given, 2, NULL);
    }
    PyObject *tag = SLOT(prepared, Pending_tag);
    PyObject *rest[] = {SLOT(activation, Activation_result), activation, tag};
    return pair_of(Py_NewRef(value),
                   tag_with(RET, SLOT(prepared, Pending_site), SLOT(prepared, Pending_control),
                            rest, tag == Py_None ? 2 : 3));
}

/* --- from the callee ---------------------------------------------------------------------------- */

/* calls._is_this: whether a pending call is the one that begins. */
static bool is_this(PyObject *pending, PyCodeObject *code, PyObject *values)
{
    if (SLOT(pending, Pending_code) != (PyObject *)code) {
        return false;
    }
    PyObject *expected = SLOT(pending, Pending_values);
    if (!PyList_CheckExact(expected) || PyList_GET_SIZE(expected) == 0 ||
        PyTuple_GET_SIZE(values) == 0) {
        return true;
    }
    PyObject *first = PyTuple_GET_ITEM(values, 0);
    return first == PyList_GET_ITEM(expected, 0) || PyTuple_CheckExact(first);
}

static PyObject *new_activation(PyObject *info, PyObject *parent)
{
    PyTypeObject *type = (PyTypeObject *)the_Activation;
    PyObject *made = type->tp_alloc(type, 0);
    if (made == NULL) {
        return NULL;
    }
    SLOT(made, Activation_number) = Py_NewRef(SLOT(the_RUN, Run_number));
    SLOT(made, Activation_function) = Py_NewRef(info);
    SLOT(made, Activation_parent) = Py_NewRef(parent);
    SLOT(made, Activation_guarded) = Py_NewRef(Py_False);
    SLOT(made, Activation_made) = Py_NewRef(zero);
    SLOT(made, Activation_start) = Py_NewRef(now());
    SLOT(made, Activation_end) = Py_NewRef(minus_one);
    SLOT(made, Activation_control) = Py_NewRef(empty_tuple);
    SLOT(made, Activation_arguments) = Py_NewRef(empty_tuple);
    SLOT(made, Activation_values) = Py_NewRef(empty_tuple);
    SLOT(made, Activation_roots) = Py_NewRef(empty_tuple);
    SLOT(made, Activation_result) = Py_NewRef(Py_None);
    SLOT(made, Activation_value) = Py_NewRef(Py_None);
    SLOT(made, Activation_failure) = Py_NewRef(Py_None);
    SLOT(made, Activation_tests) = Py_NewRef(empty_tuple);
    SLOT(made, Activation_calls) = Py_NewRef(empty_tuple);
    SLOT(made, Activation_outs) = Py_NewRef(empty_tuple);
    SLOT(made, Activation_sent) = Py_NewRef(Py_None);
    SLOT(made, Activation_operation) = Py_NewRef(Py_None);
    PyObject **calls = &SLOT(parent, Activation_calls);
    if (PyList_CheckExact(*calls)) {
        if (PyList_Append(*calls, made) < 0) {
            Py_CLEAR(made);
        }
    }
    else {
        PyObject *list = PyList_New(1);
        if (list == NULL) {
            Py_CLEAR(made);
        }
        else {
            PyList_SET_ITEM(list, 0, Py_NewRef(made));
            put_new(calls, list);
        }
    }
    return made;
}

/* The call that this one came from; a new reference. */
static PyObject *parent_of(PyFrameObject *frame)
{
    PyFrameObject *back = PyFrame_GetBack(frame);
    PyObject *found = back ? by_address(SLOT(the_RUN, Run_frames), back) : NULL;
    Py_XDECREF(back);
    if (found != NULL || PyErr_Occurred()) {
        return Py_XNewRef(found);
    }
    return PyObject_CallOneArg(rests[R_nearest], (PyObject *)frame);
}

/* What the function reaches without being given it; a new reference. */
static PyObject *roots_of(PyObject *info, PyFrameObject *frame)
{
    if (PySet_GET_SIZE(SLOT(info, FunctionInfo_global_names)) == 0 &&
        PySet_GET_SIZE(SLOT(info, FunctionInfo_free_names)) == 0) {
        return Py_NewRef(empty_tuple);
    }
    PyObject *given[] = {info, (PyObject *)frame};
    return PyObject_Vectorcall(rests[R_roots], given, 2, NULL);
}

static bool truth_of(PyObject *flag) { return flag == Py_True; }

static bool is_guarded(PyObject *parent, PyObject *pending)
{
    Py_ssize_t site = PyLong_AsSsize_t(SLOT(pending, Pending_site));
    return truth_of(SLOT(parent, Activation_guarded)) ||
           (site >= 0 && site < PyList_GET_SIZE(the_SITES) &&
            truth_of(SLOT(PyList_GET_ITEM(the_SITES, site), Site_is_guarded)));
}

/* The tags of a function's defaults, as they were when it was defined; borrowed. */
static PyObject *defaults_of(PyObject *pending)
{
    PyObject *found = by_address(the_DEFAULTS, SLOT(pending, Pending_defined));
    return found != NULL ? PyTuple_GET_ITEM(found, 1) : empty_tuple;
}

/* Whether a function still has the defaults that it was defined with; none are by name only. */
static bool has_its_defaults(PyObject *pending)
{
    PyObject *function = SLOT(pending, Pending_defined);
    PyObject *found = by_address(the_DEFAULTS, function);
    if (found == NULL) {
        return true;
    }
    PyObject *then = PyTuple_GET_ITEM(found, 3), *now = PyFunction_GET_DEFAULTS(function);
    PyObject *named = PyFunction_GET_KW_DEFAULTS(function);
    Py_ssize_t count = now != NULL && now != Py_None ? PyTuple_GET_SIZE(now) : 0;
    bool same = count == PyTuple_GET_SIZE(then) &&
                (named == NULL || named == Py_None || PyDict_GET_SIZE(named) == 0);
    for (Py_ssize_t i = 0; same && i < count; i++) {
        same = PyTuple_GET_ITEM(now, i) == PyTuple_GET_ITEM(then, i);
    }
    return same;
}

/* What a parameter is given: by its place, by its name, or its default; borrowed. */
static PyObject *tag_for(PyObject *info, PyObject *pending, PyObject *defaults, Py_ssize_t place)
{
    PyObject *tags = SLOT(pending, Pending_tags), *positional = SLOT(info, FunctionInfo_positional);
    PyObject *named = SLOT(pending, Pending_keyword_tags);
    if (place < PyList_GET_SIZE(tags)) {
        return PyList_GET_ITEM(tags, place);
    }
    if (PyDict_GET_SIZE(named) > 0) {
        PyObject *found = PyDict_GetItemWithError(named, PyTuple_GET_ITEM(positional, place));
        if (found != NULL) {
            return found;
        }
    }
    place -= PyTuple_GET_SIZE(positional) - PyTuple_GET_SIZE(defaults);
    return place >= 0 ? PyTuple_GET_ITEM(defaults, place) : Py_None;
}

/* calls.bind_arguments, of a function that takes no rest and is given nothing starred. */
static PyObject *bind_arguments(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count != 4) {
        return twin_does(T_bind_arguments, given, count);
    }
    PyObject *info = given[0], *pending = given[1], *control = given[3];
    Py_ssize_t wanted = PyTuple_GET_SIZE(SLOT(info, FunctionInfo_positional));
    if (SLOT(info, FunctionInfo_has_rest) == Py_True ||
        SLOT(info, FunctionInfo_has_named_rest) == Py_True ||
        PyTuple_GET_SIZE(SLOT(info, FunctionInfo_keyword_only)) != 0 ||
        PyTuple_GET_SIZE(SLOT(pending, Pending_starred)) != 0 ||
        PyList_GET_SIZE(SLOT(pending, Pending_tags)) > wanted ||
        (PyList_GET_SIZE(SLOT(pending, Pending_tags)) < wanted && !has_its_defaults(pending))) {
        return twin_does(T_bind_arguments, given, count);
    }
    PyObject *defaults = defaults_of(pending), *made = PyList_New(wanted);
    for (Py_ssize_t i = 0; made != NULL && i < wanted; i++) {
        PyObject *tag = TAG_WITH(ARG, SLOT(pending, Pending_site), control,
                                 tag_for(info, pending, defaults, i));
        if (tag == NULL) {
            Py_CLEAR(made);
            break;
        }
        PyList_SET_ITEM(made, i, tag);
    }
    return made;
}

/* The tags of the arguments; a new tuple. */
static PyObject *bound(PyObject *info, PyObject *pending, PyObject *values, PyObject *control)
{
    PyObject *given[] = {info, pending, values, control};
    PyObject *list = bind_arguments(NULL, given, 4);
    PyObject *made = list != NULL ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return made;
}

static bool note_frame(PyFrameObject *frame, PyObject *activation)
{
    PyObject *address = PyLong_FromVoidPtr(frame);
    bool good = address != NULL &&
                PyDict_SetItem(SLOT(the_RUN, Run_frames), address, activation) == 0;
    Py_XDECREF(address);
    return good;
}

/* What the rewritten function takes: its activation, control, and the tags of its arguments. */
static PyObject *entered(PyObject *activation, PyObject *control, PyObject *tags)
{
    Py_ssize_t count = PyTuple_GET_SIZE(tags);
    PyObject *made = PyTuple_New(2 + count);
    if (made != NULL) {
        PyTuple_SET_ITEM(made, 0, Py_NewRef(activation));
        PyTuple_SET_ITEM(made, 1, Py_NewRef(control));
        for (Py_ssize_t i = 0; i < count; i++) {
            PyTuple_SET_ITEM(made, 2 + i, Py_NewRef(PyTuple_GET_ITEM(tags, i)));
        }
    }
    return made;
}

/* How a call begins: prepared, or made by something out of sight (the other is NULL). */
typedef struct {
    PyObject *pending, *operation;
} Beginning;

/* Its control and the tags of its arguments. */
static bool bind_call(const Beginning *how, PyObject *info, PyObject *activation, PyObject *parent,
                      PyObject *values)
{
    PyObject *pending = how->pending, *operation = how->operation, *control, *tags = NULL;
    bool guarded = true;
    if (pending != NULL) {
        put(&SLOT(pending, Pending_activation), activation);
        control = TAG_WITH(FRAME, SLOT(pending, Pending_site), SLOT(pending, Pending_control),
                           SLOT(pending, Pending_tag), activation);
        guarded = is_guarded(parent, pending);
        tags = control != NULL ? bound(info, pending, values, control) : NULL;
    }
    else {
        put(&SLOT(activation, Activation_operation), operation);
        control = TAG_WITH(FRAME, SLOT(operation, Operation_site),
                           SLOT(operation, Operation_control), Py_None, activation);
        PyObject *given[] = {operation, control, values};
        PyObject *list =
            control ? PyObject_Vectorcall(rests[R_identified], given, 3, NULL) : NULL;
        tags = list != NULL ? PyList_AsTuple(list) : NULL;
        Py_XDECREF(list);
    }
    if (tags != NULL) {
        put(&SLOT(activation, Activation_guarded), guarded ? Py_True : Py_False);
        put(&SLOT(activation, Activation_control), control);
        put(&SLOT(activation, Activation_arguments), tags);
    }
    Py_XDECREF(control);
    Py_XDECREF(tags);
    return tags != NULL;
}

static PyObject *begun(const Beginning *how, PyObject *info, PyFrameObject *frame,
                       PyObject *parent, PyObject *values)
{
    PyObject *activation = NULL, *roots, *made = NULL;
    if (!tick(Run_number) || !tick(Run_time) ||
        (activation = new_activation(info, parent)) == NULL ||
        PyList_Append(SLOT(the_RUN, Run_activations), activation) < 0 ||
        !note_frame(frame, activation)) {
        Py_XDECREF(activation);
        return NULL;
    }
    put(&SLOT(activation, Activation_values), values);
    roots = roots_of(info, frame);
    if (roots != NULL) {
        put_new(&SLOT(activation, Activation_roots), roots);
        if (bind_call(how, info, activation, parent, values)) {
            PyObject *watch = SLOT(the_RUN, Run_on_enter);
            PyObject *done =
                watch != Py_None ? PyObject_CallOneArg(watch, activation) : Py_NewRef(Py_None);
            if (done != NULL) {
                made = entered(activation, SLOT(activation, Activation_control),
                               SLOT(activation, Activation_arguments));
                Py_DECREF(done);
            }
        }
    }
    Py_DECREF(activation);
    return made;
}

/* Whether a call is one that was prepared, or made by an operation of its caller's. */
static bool is_known(Beginning *how, PyObject *thread, PyFrameObject *frame, PyObject *parent,
                     PyObject *values)
{
    PyObject *pending = of_thread(thread, name_pending);
    PyObject *operation = of_thread(thread, name_operation);
    if (Py_IS_TYPE(pending, (PyTypeObject *)the_Pending)) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        bool is_direct = SLOT(pending, Pending_run) == Py_None && is_this(pending, code, values);
        Py_DECREF(code);
        how->pending = pending;
        return is_direct;
    }
    how->operation = operation;
    return pending == Py_None && Py_IS_TYPE(operation, (PyTypeObject *)the_Operation) &&
           SLOT(operation, Operation_expected) == Py_None &&
           SLOT(operation, Operation_activation) == parent;
}

static PyObject *enter(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count != 2 || !PyTuple_CheckExact(given[1])) {
        return twin_does(T_enter, given, count);
    }
    PyObject *info = PyList_GetItem(the_FUNCTIONS, PyLong_AsSsize_t(given[0]));
    PyObject *thread = here(), *made = NULL;
    PyFrameObject *frame = PyEval_GetFrame();
    if (info == NULL || thread == NULL || frame == NULL) {
        return NULL;
    }
    if (truth_of(SLOT(info, FunctionInfo_is_stepped))) {
        return twin_does(T_enter, given, count);
    }
    PyObject *parent = parent_of(frame);
    if (parent == NULL) {
        return NULL;
    }
    Beginning how = {NULL, NULL};
    if (!is_known(&how, thread, frame, parent, given[1])) {
        Py_DECREF(parent);
        return twin_does(T_enter, given, count);
    }
    Py_XINCREF(how.pending);
    Py_XINCREF(how.operation);
    if (PyDict_SetItem(thread, name_pending, Py_None) == 0 &&
        PyDict_SetItem(thread, name_operation, Py_None) == 0) {
        made = begun(&how, info, frame, parent, given[1]);
    }
    Py_XDECREF(how.pending);
    Py_XDECREF(how.operation);
    Py_DECREF(parent);
    return made;
}

static PyObject *returned(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count != 4 || !is_pair(given[3]) ||
        !Py_IS_TYPE(given[0], (PyTypeObject *)the_Activation)) {
        return twin_does(T_returned, given, count);
    }
    PyObject *tag = TAG_WITH(RET, given[2], given[1], TAG(given[3]), given[0]);
    if (tag == NULL) {
        return NULL;
    }
    put_new(&SLOT(given[0], Activation_result), tag);
    put(&SLOT(given[0], Activation_value), VALUE(given[3]));
    return Py_NewRef(VALUE(given[3]));
}

/* What is out of sight was told something by the program's own code. */
static bool tell(PyObject *operation, PyObject *value, PyObject *tag)
{
    PyObject *pair = pair_of(Py_NewRef(value), Py_NewRef(tag));
    bool good = pair && PyList_Append(SLOT(operation, Operation_callbacks), pair) == 0;
    Py_XDECREF(pair);
    return good;
}

/* calls.left: back to whatever called. */
static bool left(PyObject *activation, PyObject *thread)
{
    PyObject *operation = SLOT(activation, Activation_operation);
    PyObject *result = SLOT(activation, Activation_result);
    if (PyDict_SetItem(thread, name_operation, operation) < 0) {
        return false;
    }
    PyObject *failure = SLOT(activation, Activation_failure);
    if (operation != Py_None) {
        if (result != Py_None &&
            !tell(operation, SLOT(activation, Activation_value), result)) {
            return false;
        }
        if (result == Py_None && failure != Py_None && !tell(operation, the_FAILED, failure)) {
            return false;
        }
    }
    else if (is_control(SLOT(activation, Activation_control)) &&
             site_of(SLOT(activation, Activation_control)) == 0) {
        PyObject *loose =
            TAG_WITH(OP, zero, Py_None, result, failure, SLOT(the_RUN, Run_loose));
        if (loose == NULL) {
            return false;
        }
        put_new(&SLOT(the_RUN, Run_loose), loose);
    }
    if (SLOT(the_RUN, Run_on_leave) != Py_None) {
        PyObject *done = PyObject_CallOneArg(SLOT(the_RUN, Run_on_leave), activation);
        Py_XDECREF(done);
        return done != NULL;
    }
    return true;
}

static PyObject *leave(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count != 1 || !Py_IS_TYPE(given[0], (PyTypeObject *)the_Activation)) {
        return twin_does(T_leave, given, count);
    }
    PyObject *thread = here();
    PyFrameObject *frame = PyEval_GetFrame();
    if (thread == NULL || frame == NULL || !tick(Run_time)) {
        return NULL;
    }
    put(&SLOT(given[0], Activation_end), now());
    PyObject *frames = SLOT(the_RUN, Run_frames), *address = PyLong_FromVoidPtr(frame);
    if (address == NULL) {
        return NULL;
    }
    if (PyDict_DelItem(frames, address) < 0) {
        if (!PyErr_ExceptionMatches(PyExc_KeyError)) {
            Py_DECREF(address);
            return NULL;
        }
        PyErr_Clear();
    }
    Py_DECREF(address);
    return left(given[0], thread) ? Py_NewRef(Py_None) : NULL;
}
