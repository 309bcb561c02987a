/* Opaque objects, which may have absorbed values, and what held what before the run. */

#include "tagging.h"

#include "address_set.h"

/* Whether an object is opaque; -1: not known yet. */
int known_opaque(PyObject *thing)
{
    if (is_scalar(thing)) {
        return 0;
    }
    PyObject *known = by_address(SLOT(the_RUN, ShadowRun_opaque_types), Py_TYPE(thing));
    return known == NULL ? -1 : PyTuple_GET_ITEM(known, 1) == Py_True;
}

PyObject *native_is_opaque(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    int known = enabled && count == 1 ? known_opaque(given[0]) : -1;
    return known >= 0 ? PyBool_FromLong(known) : call_python(F_is_opaque, given, count);
}

static bool note_behind(PyObject *thing, PyObject *other)
{
    PyObject *behind = SLOT(the_RUN, ShadowRun_behind), *known = by_address(behind, thing);
    PyObject *address = PyLong_FromVoidPtr(known == NULL ? thing : other);
    bool good = address != NULL && !PyErr_Occurred();
    if (good && known == NULL) {
        PyObject *others = PyDict_New();
        known = others != NULL ? PyTuple_Pack(2, thing, others) : NULL;
        good = known != NULL && PyDict_SetItem(behind, address, known) == 0;
        Py_XDECREF(others);
        Py_XDECREF(known);
        Py_DECREF(address);
        return good && note_behind(thing, other);
    }
    good = good && PyDict_SetItem(PyTuple_GET_ITEM(known, 1), address, other) == 0;
    Py_XDECREF(address);
    return good;
}

/* A new shape for an object that may have absorbed the values of `all`. */
static int reshape_hiding(PyObject *thing, PyObject *const *given, PyObject *all)
{
    PyObject *shadow = shadow_for(thing), *made = NULL;
    if (shadow != NULL) {
        made = TAG_WITH(OP, given[1], given[2], SLOT(shadow, Shadow_shape), all);
    }
    if (made == NULL) {
        return -1;
    }
    put_new(&SLOT(shadow, Shadow_shape), made);
    return 0;
}

/* Spreads an absorption to the objects that an opaque one may hold, last found first. */
static int spread_absorption(PyObject *thing, PyObject *const *given, PyObject *all,
                             AddressSet *reached)
{
    PyObject *pending = PyList_New(0);
    int bad = pending == NULL || PyList_Append(pending, thing) < 0 ? -1 : 0;
    bad = bad < 0 || address_set_add(reached, thing) < 0 ? -1 : 0;
    while (bad == 0 && PyList_GET_SIZE(pending) > 0) {
        Py_ssize_t last = PyList_GET_SIZE(pending) - 1, place = 0;
        PyObject *each = Py_NewRef(PyList_GET_ITEM(pending, last)), *key, *other;
        bad = PyList_SetSlice(pending, last, last + 1, NULL);
        bad = bad < 0 ? bad : reshape_hiding(each, given, all);
        PyObject *behind = by_address(SLOT(the_RUN, ShadowRun_behind), each);
        while (bad == 0 && behind != NULL &&
               PyDict_Next(PyTuple_GET_ITEM(behind, 1), &place, &key, &other)) {
            int fresh = address_set_add(reached, other);
            bad = fresh < 0 || (fresh == 1 && PyList_Append(pending, other) < 0) ? -1 : 0;
        }
        Py_DECREF(each);
    }
    Py_XDECREF(pending);
    return bad;
}

/* An operation on an opaque object may have changed the world. */
static bool note_world_change(PyObject *thing, PyObject *tag)
{
    PyObject *known = by_address(SLOT(the_RUN, ShadowRun_opaque_types), Py_TYPE(thing));
    if (known == NULL || PyTuple_GET_ITEM(known, 3) == Py_None) {
        return !PyErr_Occurred();
    }
    PyObject *given[] = {thing, tag};
    PyObject *done = PyObject_Vectorcall(python_helpers[H_note_world_change], given, 2, NULL);
    Py_XDECREF(done);
    return done != NULL;
}

/* shadow_memory.absorb, if it is known of all operands whether they are opaque. */
PyObject *native_absorb(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count != 4 || !PyTuple_CheckExact(given[3])) {
        return call_python(F_absorb, given, count);
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(given[3]); i++) {
        if (known_opaque(VALUE(PyTuple_GET_ITEM(given[3], i))) < 0) {
            return PyErr_Occurred() ? NULL : call_python(F_absorb, given, count);
        }
    }
    put(&SLOT(the_RUN, ShadowRun_has_absorbed), Py_True);
    PyObject *needs = native_deep_tags(NULL, given + 3, 1), *all = NULL;
    if (needs != NULL) {
        all = tag_with(OP, given[1], given[2], tuple_items(needs),
                       PyTuple_GET_SIZE(needs));
        Py_DECREF(needs);
    }
    bool good = all != NULL;
    for (Py_ssize_t i = 0; good && i < PyTuple_GET_SIZE(given[3]); i++) {
        PyObject *value = VALUE(PyTuple_GET_ITEM(given[3], i));
        good = value == given[0] ||
               (note_holds(given[0], value) &&
                (known_opaque(value) != 1 || note_behind(given[0], value)));
    }
    good = good && note_world_change(given[0], all);
    AddressSet reached = {.mask = FEW - 1};
    reached.slots = reached.few;
    good = good && spread_absorption(given[0], given, all, &reached) == 0;
    if (reached.slots != reached.few) {
        PyMem_Free(reached.slots);
    }
    Py_XDECREF(all);
    return good ? Py_NewRef(Py_None) : NULL;
}

/* --- objects from before the run -------------------------------------------------------------- */

enum { MOST = 200000 };

typedef struct {
    PyObject *thing;   /* whose referents are visited */
    PyObject *pending; /* what is still to be looked at */
    uint64_t *holders, *held;
    size_t count, room;
    AddressSet seen;
    bool failed, full;
} Scan;

static int visit(PyObject *value, void *given)
{
    Scan *scan = given;
    if (is_scalar(value) || is_shared(value)) {
        return 0;
    }
    if (scan->count == scan->room) {
        size_t room = scan->room * 2 + 1024;
        uint64_t *holders = PyMem_Realloc(scan->holders, room * sizeof(uint64_t));
        scan->holders = holders != NULL ? holders : scan->holders;
        uint64_t *held = PyMem_Realloc(scan->held, room * sizeof(uint64_t));
        scan->held = held != NULL ? held : scan->held;
        if (holders == NULL || held == NULL) {
            scan->failed = true;
            return 1;
        }
        scan->room = room;
    }
    scan->holders[scan->count] = (uintptr_t)scan->thing;
    scan->held[scan->count++] = (uintptr_t)value;
    if (scan->seen.slots[address_index(&scan->seen, value)] != NULL) {
        return 0;
    }
    if (scan->seen.used > MOST) {
        scan->full = true;
        return 1;
    }
    scan->failed = address_set_add(&scan->seen, value) < 0 ||
        PyList_Append(scan->pending, value) < 0;
    return scan->failed;
}

static bool extend(PyObject *array, const uint64_t *addresses, size_t count)
{
    PyObject *bytes =
        PyBytes_FromStringAndSize((const char *)addresses, (Py_ssize_t)(count * sizeof(uint64_t)));
    PyObject *done = bytes ? PyObject_CallMethodOneArg(array, name_frombytes, bytes) : NULL;
    Py_XDECREF(bytes);
    Py_XDECREF(done);
    return done != NULL;
}

/* Keeps the objects found from `first` on alive. */
static bool keep_all(PyObject *things, Py_ssize_t first)
{
    for (Py_ssize_t i = first; i < PyList_GET_SIZE(things); i++) {
        if (!keep_alive(PyList_GET_ITEM(things, i))) {
            return false;
        }
    }
    return true;
}

PyObject *native_scan_existing_objects(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count != 1) {
        return call_python(F_scan_existing_objects, given, count);
    }
    PyObject *roots = PySequence_Fast(given[0], "scan: expected values");
    PyObject *pending = roots != NULL ? PyList_New(0) : NULL;
    if (pending == NULL) {
        Py_XDECREF(roots);
        return NULL;
    }
    Scan state = {.pending = pending, .seen = {.mask = FEW - 1}};
    state.seen.slots = state.seen.few;
    for (Py_ssize_t i = 0; !state.failed && i < PySequence_Fast_GET_SIZE(roots); i++) {
        PyObject *value = PySequence_Fast_GET_ITEM(roots, i);
        if (!is_scalar(value)) {
            state.failed = address_set_add(&state.seen, value) < 0 ||
                PyList_Append(pending, value) < 0;
        }
    }
    while (!state.failed && !state.full && PyList_GET_SIZE(pending) > 0) {
        Py_ssize_t last = PyList_GET_SIZE(pending) - 1;
        state.thing = Py_NewRef(PyList_GET_ITEM(pending, last));
        state.failed = PyList_SetSlice(pending, last, last + 1, NULL) < 0;
        traverseproc traverse = Py_TYPE(state.thing)->tp_traverse;
        if (!state.failed && PyObject_IS_GC(state.thing) && traverse != NULL) {
            traverse(state.thing, visit, &state);
            state.failed = state.failed || !keep_all(pending, last);
        }
        Py_DECREF(state.thing);
    }
    bool good = !state.failed &&
        extend(SLOT(the_RUN, ShadowRun_holder_addresses), state.holders, state.count) &&
                extend(SLOT(the_RUN, ShadowRun_held_addresses), state.held, state.count);
    if (good && state.full) {
        put(&SLOT(the_RUN, ShadowRun_is_scanned), Py_False);
    }
    if (!good && !PyErr_Occurred()) {
        PyErr_NoMemory();
    }
    PyMem_Free(state.holders);
    PyMem_Free(state.held);
    if (state.seen.slots != state.seen.few) {
        PyMem_Free(state.seen.slots);
    }
    Py_DECREF(pending);
    Py_DECREF(roots);
    return good ? Py_NewRef(Py_None) : NULL;
}
