/* What code out of sight gave, and may have changed: outside.py, shadows.held_out_of_sight. */

#include "tagging.h"

static PyObject *outside_tag(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count < 2 || count > 4) {
        return twin_does(T_outside_tag, given, count);
    }
    PyObject *operation = given[0], *value = given[1], *selects = count > 3 ? given[3] : Py_False;
    PyObject *site = SLOT(operation, Operation_site), *control = SLOT(operation, Operation_control);
    PyObject *operands = all_operands(operation);
    PyObject *needs = operands != NULL ? everything(NULL, &operands, 1) : NULL;
    Py_XDECREF(operands);
    if (needs == NULL) {
        return NULL;
    }
    PyObject *callee = count > 2 ? given[2] : Py_None, *loose = SLOT(the_RUN, Run_loose);
    Parts parts[] = {{((PyTupleObject *)needs)->ob_item, PyTuple_GET_SIZE(needs)},
                     {&callee, callee != Py_None},
                     {&loose, loose != Py_None}};
    PyObject *made = tag_of_parts(OP, site, control, parts, 3), *passed;
    Py_DECREF(needs);
    passed = made ? TAG_WITH(OP, site, control, made, SLOT(the_RUN, Run_passed)) : NULL;
    if (passed == NULL) {
        Py_XDECREF(made);
        return NULL;
    }
    put_new(&SLOT(the_RUN, Run_passed), passed);
    if (is_scalar(value) && selects != Py_True) {
        return made;
    }
    PyObject *arguments[] = {operation, value, made, selects};
    PyObject *tag = PyObject_Vectorcall(rests[R_given_outside], arguments, 4, NULL);
    Py_DECREF(made);
    return tag;
}

/* --- what an object holds that does not tell it --------------------------------------------------- */

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
    bool good = hold(holding->holder, part);
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

static PyObject *held_out_of_sight(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count != 1) {
        return twin_does(T_held_out_of_sight, given, count);
    }
    return hold_out_of_sight(given[0]) ? Py_NewRef(Py_None) : NULL;
}

/* --- what an operation may have changed ------------------------------------------------------------ */

typedef struct {
    PyObject *operation, *operands;
    int depth;
} Rereading;

/* Reads an object anew if it no longer holds what its shadow says. */
static bool reread_thing(PyObject *thing, const Rereading *how, PyObject *selects)
{
    PyObject *shadow = shadow_of(thing);
    if (shadow == NULL || is_in_step(shadow) == 1) {
        return !PyErr_Occurred();
    }
    PyObject *given[] = {thing, SLOT(how->operation, Operation_site),
                         SLOT(how->operation, Operation_control), how->operands, selects};
    PyObject *done =
        PyErr_Occurred() ? NULL : PyObject_Vectorcall(rests[R_synchronise], given, 5, NULL);
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

static bool reread_operand(PyObject *pair, PyObject *operation, PyObject *operands,
                           PyObject *selects)
{
    PyObject *value = VALUE(pair), *control = SLOT(operation, Operation_control), *shadow;
    Rereading how = {operation, operands, 0};
    int hiding = aim(control, TAG(pair)) ? hides_surely(value) : -1;
    if (hiding == 1) {
        PyObject *given[] = {value, SLOT(operation, Operation_site), control, operands};
        PyObject *done = hide(NULL, given, 4);
        Py_XDECREF(done);
        hiding = done != NULL ? 1 : -1;
        how.depth = 2;
    }
    if (hiding < 0 || !reread_thing(value, &how, selects) || !hold_out_of_sight(value)) {
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

static PyObject *reread(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count < 1 || count > 2) {
        return twin_does(T_reread, given, count);
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
