/* Calls of code out of sight: their results, and what they may have changed. */

#include "tagging.h"

/* --- before a call ---------------------------------------------------------------------------- */

/* Whether something may be known of a call: model_lookup.model_for, call_sites._is_simple. */
static bool may_have_model(PyObject *function)
{
    if (by_address(the_MODELS, function) != NULL || PyErr_Occurred()) {
        return true;
    }
    PyObject *owner = PyCFunction_Check(function) ? PyCFunction_GET_SELF(function) : NULL;
    if (owner == NULL || is_scalar(owner) || PyModule_Check(owner) || PyType_Check(owner)) {
        return owner != NULL && owner != Py_None && is_scalar(owner);
    }
    PyObject *name = PyUnicode_FromString(builtin_name(function));
    PyObject *order = Py_TYPE(owner)->tp_mro;
    int found = name != NULL ? 0 : -1;
    for (Py_ssize_t i = 0; found == 0 && i < PyTuple_GET_SIZE(order); i++) {
        PyObject *address = PyLong_FromVoidPtr(PyTuple_GET_ITEM(order, i));
        PyObject *key = address != NULL ? PyTuple_Pack(2, address, name) : NULL;
        found = key != NULL ? PyDict_Contains(the_METHOD_MODELS, key) : -1;
        Py_XDECREF(address);
        Py_XDECREF(key);
    }
    Py_XDECREF(name);
    return found != 0;
}

/* The operands of a call, its receiver first. */
static PyObject *operands_of(PyObject *called, PyObject *arguments)
{
    PyObject *owner = PyCFunction_Check(VALUE(called)) ? PyCFunction_GET_SELF(VALUE(called)) : NULL;
    if (owner == NULL || owner == Py_None) {
        return Py_NewRef(arguments);
    }
    PyObject *receiver = PyTuple_Pack(2, owner, receiver_tag(TAG(called)));
    PyObject *first = receiver != NULL ? PyTuple_Pack(1, receiver) : NULL;
    PyObject *all = first != NULL ? PySequence_Concat(first, arguments) : NULL;
    Py_XDECREF(receiver);
    Py_XDECREF(first);
    return all;
}

static bool note_passed(PyObject *const *given, PyObject *operands)
{
    PyObject *few[16];
    Py_ssize_t count = PyTuple_GET_SIZE(operands);
    PyObject **tags = count < 16 ? few : PyMem_New(PyObject *, count);
    if (tags == NULL) {
        PyErr_NoMemory();
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        tags[i] = TAG(PyTuple_GET_ITEM(operands, i));
    }
    Parts parts[] = {{tags, count}, {&SLOT(the_RUN, ShadowRun_passed_out_of_sight), 1}};
    PyObject *passed = tag_of_parts(OP, given[0], given[1], parts, 2);
    if (tags != few) {
        PyMem_Free(tags);
    }
    if (passed != NULL) {
        put_new(&SLOT(the_RUN, ShadowRun_passed_out_of_sight), passed);
    }
    return passed != NULL;
}

/* Prepares a call out of sight; steals the reference to the operation. */
static PyObject *prepared_outside(PyObject *const *given, PyObject *operation)
{
    PyTypeObject *type = (PyTypeObject *)the_PreparedCall;
    PyObject *thread = here(), *arguments = given[3];
    Py_ssize_t count = PyTuple_GET_SIZE(arguments);
    PyObject *values = PyList_New(count), *keywords = PyDict_New();
    PyObject *made = values && keywords && thread ? type->tp_alloc(type, 0) : NULL;
    if (made == NULL) {
        Py_XDECREF(values);
        Py_XDECREF(keywords);
        Py_DECREF(operation);
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyList_SET_ITEM(values, i, Py_NewRef(VALUE(PyTuple_GET_ITEM(arguments, i))));
    }
    SLOT(made, PreparedCall_function) = Py_NewRef(VALUE(given[2]));
    SLOT(made, PreparedCall_arguments) = values;
    SLOT(made, PreparedCall_keywords) = keywords;
    SLOT(made, PreparedCall_finish) = Py_NewRef(python_helpers[H_finish_out_of_sight]);
    SLOT(made, PreparedCall_before) = Py_NewRef(of_thread(thread, name_operation));
    SLOT(made, PreparedCall_operation) = operation;
    SLOT(made, PreparedCall_called) = Py_NewRef(given[2]);
    SLOT(made, PreparedCall_tag) = Py_NewRef(Py_None);
    SLOT(made, PreparedCall_in_sight) = Py_NewRef(Py_False);
    if (PyDict_SetItem(thread, name_operation, operation) < 0 || !forget_pending(thread)) {
        Py_CLEAR(made);
    }
    return made;
}

/* A call of a function out of sight without a model. NULL without an exception: Python does
 * it. */
PyObject *call_outside(PyObject *const *given)
{
    PyObject *function = VALUE(given[2]);
    if ((!PyCFunction_Check(function) && !PyFunction_Check(function)) ||
        function == builtin_print || function == the_getenv || may_have_model(function)) {
        return NULL;
    }
    PyObject *operands = operands_of(given[2], given[3]);
    PyObject *operation = operands ? new_operation(given[0], given[1], operands) : NULL;
    bool good = operation != NULL && note_passed(given, operands);
    Py_XDECREF(operands);
    if (!good) {
        Py_XDECREF(operation);
        return NULL;
    }
    return prepared_outside(given, operation);
}

/* --- its result ------------------------------------------------------------------------------- */

PyObject *native_out_of_sight_tag(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count < 2 || count > 4) {
        return call_python(F_out_of_sight_tag, given, count);
    }
    PyObject *operation = given[0], *value = given[1], *selects = count > 3 ? given[3] : Py_False;
    PyObject *site = SLOT(operation, Operation_site), *control = SLOT(operation, Operation_control);
    PyObject *operands = all_operands(operation);
    PyObject *needs = operands != NULL ? native_deep_tags(NULL, &operands, 1) : NULL;
    Py_XDECREF(operands);
    if (needs == NULL) {
        return NULL;
    }
    PyObject *callee = count > 2 ? given[2] : Py_None, *loose =
        SLOT(the_RUN, ShadowRun_stray_results);
    Parts parts[] = {{tuple_items(needs), PyTuple_GET_SIZE(needs)},
                     {&callee, callee != Py_None},
                     {&loose, loose != Py_None}};
    PyObject *made = tag_of_parts(OP, site, control, parts, 3), *passed;
    Py_DECREF(needs);
    passed = made
        ? TAG_WITH(OP, site, control, made, SLOT(the_RUN, ShadowRun_passed_out_of_sight)) : NULL;
    if (passed == NULL) {
        Py_XDECREF(made);
        return NULL;
    }
    put_new(&SLOT(the_RUN, ShadowRun_passed_out_of_sight), passed);
    if (is_scalar(value) && selects != Py_True) {
        return made;
    }
    PyObject *arguments[] = {operation, value, made, selects};
    PyObject *tag = PyObject_Vectorcall(python_helpers[H_out_of_sight_result], arguments, 4, NULL);
    Py_DECREF(made);
    return tag;
}

/* --- objects with unknown contents ------------------------------------------------------------ */

typedef struct {
    PyObject *holder;
    bool failed, is_inner;
} Holding;

static int hold_part(PyObject *part, void *given);

static bool hold_parts(PyObject *thing, bool is_inner)
{
    Holding holding = {thing, false, is_inner};
    traverseproc traverse = Py_TYPE(thing)->tp_traverse;
    if (PyObject_IS_GC(thing) && traverse != NULL) {
        traverse(thing, hold_part, &holding);
    }
    return !holding.failed;
}

static int hold_part(PyObject *part, void *given)
{
    Holding *holding = given;
    bool good = note_holds(holding->holder, part);
    if (good && !holding->is_inner &&
        (PyList_CheckExact(part) || PyTuple_CheckExact(part) || PyDict_CheckExact(part)) &&
        shadow_of(part) == NULL) {
        good = !PyErr_Occurred() && hold_parts(part, true);
    }
    holding->failed = !good;
    return !good;
}

static bool hold_out_of_sight(PyObject *thing)
{
    if (is_scalar(thing) || is_shared(thing) || has_places(thing)) {
        return true;
    }
    PyObject *shadow = shadow_of(thing);
    if (shadow == NULL ? PyErr_Occurred() != NULL
                       : PyDict_GET_SIZE(SLOT(shadow, Shadow_attributes)) > 0) {
        return shadow != NULL;
    }
    return hold_parts(thing, false);
}

PyObject *native_note_referents(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count != 1) {
        return call_python(F_note_referents, given, count);
    }
    return hold_out_of_sight(given[0]) ? Py_NewRef(Py_None) : NULL;
}

/* --- what an operation may have changed ------------------------------------------------------- */

typedef struct {
    PyObject *operation, *operands;
    int depth;
} Rereading;

/* Synchronises an object with its shadow. */
static bool reread_thing(PyObject *thing, const Rereading *how, PyObject *selects)
{
    PyObject *shadow = shadow_of(thing);
    if (shadow == NULL || shadow_matches(shadow) == 1) {
        return !PyErr_Occurred();
    }
    PyObject *given[] = {thing, SLOT(how->operation, Operation_site),
                         SLOT(how->operation, Operation_control), how->operands, selects};
    PyObject *done =
        PyErr_Occurred() ? NULL
            : PyObject_Vectorcall(python_helpers[H_synchronise], given, 5, NULL);
    Py_XDECREF(done);
    return done != NULL;
}

/* The same for a part of an object, and for what that holds. */
static bool reread_part(PyObject *part, PyObject *tag, void *with)
{
    Rereading *how = with;
    (void)tag;
    if (is_scalar(part)) {
        return true;
    }
    Py_INCREF(part);
    bool good = reread_thing(part, how, Py_False);
    PyObject *inner = good && how->depth > 0 ? shadow_of(part) : NULL;
    if (inner != NULL) {
        Py_INCREF(inner);
        how->depth--;
        good = each_part(inner, reread_part, how);
        how->depth++;
        Py_DECREF(inner);
    }
    Py_DECREF(part);
    return good && !PyErr_Occurred();
}

/* The variables of a frame may have been set. */
static bool reread_frame(PyObject *thing, PyObject *site, PyObject *control)
{
    if ((PyObject *)Py_TYPE(thing) != the_PROXY) {
        return true;
    }
    PyObject *given[] = {site, control, thing};
    PyObject *done = PyObject_Vectorcall(python_helpers[H_changed_in_frame], given, 3, NULL);
    Py_XDECREF(done);
    return done != NULL;
}

static bool reread_operand(PyObject *pair, PyObject *operation, PyObject *operands,
                           PyObject *selects)
{
    PyObject *value = VALUE(pair), *control = SLOT(operation, Operation_control), *shadow;
    Rereading how = {operation, operands, 0};
    int hiding = note_change_target(control, TAG(pair)) ? is_opaque_surely(value) : -1;
    if (hiding == 1) {
        PyObject *given[] = {value, SLOT(operation, Operation_site), control, operands};
        PyObject *done = native_absorb(NULL, given, 4);
        Py_XDECREF(done);
        hiding = done != NULL ? 1 : -1;
        how.depth = 2;
    }
    if (hiding < 0 || !reread_thing(value, &how, selects) ||
        !reread_frame(value, SLOT(operation, Operation_site), control) ||
        !hold_out_of_sight(value)) {
        return false;
    }
    shadow = shadow_of(value);
    if (shadow == NULL) {
        return !PyErr_Occurred();
    }
    Py_INCREF(shadow);
    bool good = each_part(shadow, reread_part, &how);
    Py_DECREF(shadow);
    return good;
}

PyObject *native_resynchronise(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count < 1 || count > 2) {
        return call_python(F_resynchronise, given, count);
    }
    PyObject *own = SLOT(given[0], Operation_operands), *operands = all_operands(given[0]);
    bool good = operands != NULL;
    for (Py_ssize_t i = 0; good && i < PyTuple_GET_SIZE(own); i++) {
        PyObject *pair = PyTuple_GET_ITEM(own, i);
        good = is_scalar(VALUE(pair)) ||
               reread_operand(pair, given[0], operands, count > 1 ? given[1] : Py_False);
    }
    Py_XDECREF(operands);
    return good ? Py_NewRef(Py_None) : NULL;
}
