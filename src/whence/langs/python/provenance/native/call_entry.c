/* Calls, on the callee's side: call_entry.py.
 *
 * C functions have no frame, so that the frame that runs is the program's own, as it is for who
 * looks one frame up from a Python function. */

#include "tagging.h"

/* Whether a pending call is the one that begins. */
static bool is_this(PyObject *pending, PyCodeObject *code, PyObject *values)
{
    if (SLOT(pending, PendingCall_code) != (PyObject *)code) {
        return false;
    }
    PyObject *expected = SLOT(pending, PendingCall_values);
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
    SLOT(made, Activation_number) = Py_NewRef(SLOT(the_RUN, ShadowRun_number));
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
    SLOT(made, Activation_yielded) = Py_NewRef(empty_tuple);
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

/* The call that this one came from, the nearest on the interpreter's stack; a new reference. */
static PyObject *parent_of(PyFrameObject *frame)
{
    PyFrameObject *back = PyFrame_GetBack(frame);
    while (back != NULL) {
        PyObject *found = by_address(SLOT(the_RUN, ShadowRun_frames), back);
        bool may_be = found == NULL &&
            by_address(SLOT(the_RUN, ShadowRun_expressions), back) != NULL;
        PyFrameObject *next = found == NULL && !may_be ? PyFrame_GetBack(back) : NULL;
        Py_DECREF(back);
        if (found != NULL || PyErr_Occurred()) {
            Py_XDECREF(next);
            return Py_XNewRef(found);
        }
        back = next; /* none after a generator expression, which Python handles */
    }
    return PyObject_CallOneArg(python_helpers[H_nearest_activation], (PyObject *)frame);
}

/* What module variables of these names are, by the globals of a frame; a new tuple. */
static PyObject *variables_of(PyFrameObject *frame, PyObject *names)
{
    PyObject *globals = PyFrame_GetGlobals(frame), *all = PySequence_Tuple(names);
    PyObject *made = all != NULL ? PyTuple_New(PyTuple_GET_SIZE(all)) : NULL;
    for (Py_ssize_t i = 0; made != NULL && i < PyTuple_GET_SIZE(all); i++) {
        PyObject *value = PyDict_GetItemWithError(globals, PyTuple_GET_ITEM(all, i));
        PyTuple_SET_ITEM(made, i, Py_NewRef(value != NULL ? value : Py_None));
    }
    Py_XDECREF(globals);
    Py_XDECREF(all);
    return made;
}

/* What the function reaches besides its arguments; a new reference. */
static PyObject *roots_of(PyObject *info, PyFrameObject *frame)
{
    if (PySet_GET_SIZE(SLOT(info, FunctionInfo_global_names)) == 0 &&
        PySet_GET_SIZE(SLOT(info, FunctionInfo_free_names)) == 0) {
        return Py_NewRef(empty_tuple);
    }
    if (PySet_GET_SIZE(SLOT(info, FunctionInfo_free_names)) == 0) {
        return variables_of(frame, SLOT(info, FunctionInfo_global_names));
    }
    PyObject *given[] = {info, (PyObject *)frame};
    return PyObject_Vectorcall(python_helpers[H_reachable_roots], given, 2, NULL);
}

static bool truth_of(PyObject *flag) { return flag == Py_True; }

static bool is_guarded(PyObject *parent, PyObject *pending)
{
    Py_ssize_t site = PyLong_AsSsize_t(SLOT(pending, PendingCall_site));
    return truth_of(SLOT(parent, Activation_guarded)) ||
           (site >= 0 && site < PyList_GET_SIZE(the_SITES) &&
            truth_of(SLOT(PyList_GET_ITEM(the_SITES, site), Site_is_guarded)));
}

/* The tags of a function's defaults, as they were when it was defined; borrowed. */
static PyObject *defaults_of(PyObject *pending)
{
    PyObject *found = by_address(the_DEFAULTS, SLOT(pending, PendingCall_defined));
    return found != NULL ? PyTuple_GET_ITEM(found, 1) : empty_tuple;
}

/* Whether a function still has the defaults that it was defined with; none are by name only. */
static bool has_its_defaults(PyObject *pending)
{
    PyObject *function = SLOT(pending, PendingCall_defined);
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
    PyObject *tags = SLOT(pending, PendingCall_tags), *positional =
        SLOT(info, FunctionInfo_positional);
    PyObject *named = SLOT(pending, PendingCall_keyword_tags);
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

/* Binds the arguments of a function without `*rest`, of a call without stars. */
PyObject *native_bind_arguments(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count != 4) {
        return call_python(F_bind_arguments, given, count);
    }
    PyObject *info = given[0], *pending = given[1], *control = given[3];
    Py_ssize_t wanted = PyTuple_GET_SIZE(SLOT(info, FunctionInfo_positional));
    if (SLOT(info, FunctionInfo_has_rest) == Py_True ||
        SLOT(info, FunctionInfo_has_named_rest) == Py_True ||
        PyTuple_GET_SIZE(SLOT(info, FunctionInfo_keyword_only)) != 0 ||
        PyTuple_GET_SIZE(SLOT(pending, PendingCall_starred)) != 0 ||
        PyList_GET_SIZE(SLOT(pending, PendingCall_tags)) > wanted ||
        (PyList_GET_SIZE(SLOT(pending, PendingCall_tags)) < wanted && !has_its_defaults(pending))) {
        return call_python(F_bind_arguments, given, count);
    }
    PyObject *defaults = defaults_of(pending), *made = PyList_New(wanted);
    for (Py_ssize_t i = 0; made != NULL && i < wanted; i++) {
        PyObject *tag = TAG_WITH(ARG, SLOT(pending, PendingCall_site), control,
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
    PyObject *list = native_bind_arguments(NULL, given, 4);
    PyObject *made = list != NULL ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return made;
}

static bool note_frame(PyFrameObject *frame, PyObject *activation)
{
    PyObject *address = PyLong_FromVoidPtr(frame);
    bool good = address != NULL &&
                PyDict_SetItem(SLOT(the_RUN, ShadowRun_frames), address, activation) == 0;
    Py_XDECREF(address);
    return good;
}

/* What a rewritten function receives: its activation, control, and the tags of its arguments. */
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
        put(&SLOT(pending, PendingCall_activation), activation);
        control =
            TAG_WITH(FRAME, SLOT(pending, PendingCall_site), SLOT(pending, PendingCall_control),
                           SLOT(pending, PendingCall_tag), activation);
        guarded = is_guarded(parent, pending);
        tags = control != NULL ? bound(info, pending, values, control) : NULL;
    }
    else {
        put(&SLOT(activation, Activation_operation), operation);
        control = TAG_WITH(FRAME, SLOT(operation, Operation_site),
                           SLOT(operation, Operation_control), Py_None, activation);
        PyObject *given[] = {operation, control, values};
        PyObject *list = control != NULL ? native_identify_arguments(NULL, given, 3) : NULL;
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
    if (!tick(ShadowRun_number) || !tick(ShadowRun_time) ||
        (activation = new_activation(info, parent)) == NULL ||
        PyList_Append(SLOT(the_RUN, ShadowRun_activations), activation) < 0 ||
        !note_frame(frame, activation)) {
        Py_XDECREF(activation);
        return NULL;
    }
    put(&SLOT(activation, Activation_values), values);
    roots = roots_of(info, frame);
    if (roots != NULL) {
        put_new(&SLOT(activation, Activation_roots), roots);
        if (bind_call(how, info, activation, parent, values)) {
            PyObject *watch = SLOT(the_RUN, ShadowRun_on_enter);
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
    if (Py_IS_TYPE(pending, (PyTypeObject *)the_PendingCall)) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        bool is_direct = SLOT(pending, PendingCall_run) == Py_None &&
            is_this(pending, code, values);
        Py_DECREF(code);
        how->pending = pending;
        return is_direct;
    }
    how->operation = operation;
    return pending == Py_None && Py_IS_TYPE(operation, (PyTypeObject *)the_Operation) &&
           SLOT(operation, Operation_expected) == Py_None &&
           SLOT(operation, Operation_activation) == parent;
}

PyObject *native_enter_function(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count != 2 || !PyTuple_CheckExact(given[1])) {
        return call_python(F_enter_function, given, count);
    }
    PyObject *info = PyList_GetItem(the_FUNCTIONS, PyLong_AsSsize_t(given[0]));
    PyObject *thread = here(), *made = NULL;
    PyFrameObject *frame = PyEval_GetFrame();
    if (info == NULL || thread == NULL || frame == NULL) {
        return NULL;
    }
    if (truth_of(SLOT(info, FunctionInfo_is_stepped))) {
        return call_python(F_enter_function, given, count);
    }
    PyObject *parent = parent_of(frame);
    if (parent == NULL) {
        return NULL;
    }
    Beginning how = {NULL, NULL};
    if (!is_known(&how, thread, frame, parent, given[1])) {
        Py_DECREF(parent);
        return call_python(F_enter_function, given, count);
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

PyObject *native_return_value(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count != 4 || !is_pair(given[3]) ||
        !Py_IS_TYPE(given[0], (PyTypeObject *)the_Activation)) {
        return call_python(F_return_value, given, count);
    }
    PyObject *tag = TAG_WITH(RET, given[2], given[1], TAG(given[3]), given[0]);
    if (tag == NULL) {
        return NULL;
    }
    put_new(&SLOT(given[0], Activation_result), tag);
    put(&SLOT(given[0], Activation_value), VALUE(given[3]));
    return Py_NewRef(VALUE(given[3]));
}

/* Adds the result of a callback to the operation that called it. */
static bool tell(PyObject *operation, PyObject *value, PyObject *tag)
{
    PyObject *pair = pair_of(Py_NewRef(value), Py_NewRef(tag));
    bool good = pair && PyList_Append(SLOT(operation, Operation_callbacks), pair) == 0 &&
                (value == the_FAILED ||
                 PyList_Append(SLOT(the_RUN, ShadowRun_kept_operations), pair) == 0);
    Py_XDECREF(pair);
    return good;
}

/* Code out of sight may have received the result. */
static bool note_kept(PyObject *activation, PyObject *result)
{
    PyObject *pair = PyTuple_Pack(2, SLOT(activation, Activation_value), result);
    bool good = pair && PyList_Append(SLOT(the_RUN, ShadowRun_kept_operations), pair) == 0;
    Py_XDECREF(pair);
    return good;
}

/* Ends an activation and returns to what ran before. */
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
            TAG_WITH(OP, zero, Py_None, result, failure, SLOT(the_RUN, ShadowRun_stray_results));
        if (loose == NULL) {
            return false;
        }
        put_new(&SLOT(the_RUN, ShadowRun_stray_results), loose);
        if (!note_kept(activation, result)) {
            return false;
        }
    }
    else if (SLOT(activation, Activation_made) != zero && !note_kept(activation, result)) {
        return false; /* of a coroutine: what waits for it may be out of sight */
    }
    if (SLOT(the_RUN, ShadowRun_on_leave) != Py_None) {
        PyObject *done = PyObject_CallOneArg(SLOT(the_RUN, ShadowRun_on_leave), activation);
        Py_XDECREF(done);
        return done != NULL;
    }
    return true;
}

PyObject *native_leave_function(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count != 1 || !Py_IS_TYPE(given[0], (PyTypeObject *)the_Activation)) {
        return call_python(F_leave_function, given, count);
    }
    PyObject *thread = here();
    PyFrameObject *frame = PyEval_GetFrame();
    if (thread == NULL || frame == NULL || !tick(ShadowRun_time)) {
        return NULL;
    }
    put(&SLOT(given[0], Activation_end), now());
    PyObject *frames = SLOT(the_RUN, ShadowRun_frames), *address = PyLong_FromVoidPtr(frame);
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
