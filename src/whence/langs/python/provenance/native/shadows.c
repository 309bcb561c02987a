/* What objects hold: shadows.py. */

#include "tagging.h"

static bool keep_alive(PyObject *thing)
{
    PyObject *address = PyLong_FromVoidPtr(thing);
    bool good = address && PyDict_SetItem(SLOT(the_RUN, Run_kept), address, thing) == 0;
    Py_XDECREF(address);
    return good;
}

/* Having read which places an object has, now; a new reference. */
static PyObject *read_shape(PyObject *address, PyObject *shaped)
{
    return TAG_WITH(WHOLE, zero, Py_None, zero, now(), address, shaped);
}

/* operations._shape_of, of what is no generator and goes over nothing; a new reference. */
static PyObject *shape_by_shadow(PyObject *thing)
{
    PyObject *shadow = shadow_of(thing);
    if (shadow != NULL) {
        return read_shape(SLOT(shadow, Shadow_address), SLOT(shadow, Shadow_shape));
    }
    if (PyErr_Occurred()) {
        return NULL;
    }
    if (!PyList_CheckExact(thing) && !PyDict_CheckExact(thing) &&
        !Py_IS_TYPE(thing, &PySet_Type) && !Py_IS_TYPE(thing, (PyTypeObject *)the_deque)) {
        return Py_NewRef(Py_None);
    }
    PyObject *address = keep_alive(thing) ? PyLong_FromVoidPtr(thing) : NULL;
    PyObject *made = address != NULL ? read_shape(address, Py_None) : NULL;
    Py_XDECREF(address);
    return made;
}

/* The tag of which places an object has; a new reference. */
static PyObject *shape(PyObject *thing)
{
    PyObject *found, *end, *made;
    if (is_scalar(thing)) {
        found = Py_NewRef(Py_None);
    }
    else if (PyGen_CheckExact(thing) || PyCoro_CheckExact(thing) ||
             PyAsyncGen_CheckExact(thing) || by_address(SLOT(the_RUN, Run_sources), thing)) {
        return twin_does(T_shape_of, &thing, 1);
    }
    else {
        found = PyErr_Occurred() ? NULL : shape_by_shadow(thing);
    }
    if (found == NULL || (end = by_address(SLOT(the_RUN, Run_ends), thing)) == NULL) {
        if (PyErr_Occurred()) {
            Py_CLEAR(found);
        }
        return found;
    }
    made = TAG_WITH(OP, zero, SLOT(SLOT(the_RUN, Run_root), Activation_control), found,
                    PyTuple_GET_ITEM(end, 1));
    Py_DECREF(found);
    return made;
}

static PyObject *shape_of(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    return enabled && count == 1 ? shape(given[0]) : twin_does(T_shape_of, given, count);
}

static bool append_address(PyObject *array, PyObject *thing)
{
    PyObject *address = PyLong_FromVoidPtr(thing);
    PyObject *done = address ? PyObject_CallMethodOneArg(array, name_append, address) : NULL;
    Py_XDECREF(address);
    Py_XDECREF(done);
    return done != NULL;
}

/* Note that an object came to hold another. */
static bool hold(PyObject *holder, PyObject *value)
{
    return is_scalar(value) || (append_address(SLOT(the_RUN, Run_holders), holder) &&
                                append_address(SLOT(the_RUN, Run_held), value));
}

static PyObject *held(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count != 2) {
        return twin_does(T_held, given, count);
    }
    return hold(given[0], given[1]) ? Py_NewRef(Py_None) : NULL;
}

/* The tag of a part of an object of which only its own tag is known; `step` has a plain key. */
static PyObject *part(PyObject *site, PyObject *control, PyObject *owner, PyObject *step,
                      PyObject *value, PyObject *const *needs, Py_ssize_t count)
{
    PyObject *rest[8];
    if (!hold(VALUE(owner), value) || !keep_alive(VALUE(owner))) {
        return NULL;
    }
    PyObject *source = TAG_WITH(PART, site, control, TAG(owner), step);
    PyObject *address = source != NULL ? PyLong_FromVoidPtr(VALUE(owner)) : NULL;
    PyObject *made = NULL;
    if (address != NULL) {
        rest[0] = source;
        rest[1] = now();
        rest[2] = address;
        rest[3] = PyTuple_GET_ITEM(step, 1);
        rest[4] = TAG(owner);
        for (Py_ssize_t i = 0; i < count; i++) {
            rest[5 + i] = needs[i];
        }
        made = tag_with(LOAD, site, control, rest, 5 + count);
    }
    Py_XDECREF(source);
    Py_XDECREF(address);
    return made;
}

static PyObject *part_of(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    PyObject *needs = count == 6 ? given[5] : empty_tuple;
    if (!enabled || count < 5 || count > 6 || !is_pair(given[2]) || !is_pair(given[3]) ||
        !is_scalar(TAG(given[3])) || !PyTuple_CheckExact(needs) || PyTuple_GET_SIZE(needs) > 3) {
        return twin_does(T_part_of, given, count);
    }
    return part(given[0], given[1], given[2], given[3], given[4],
                ((PyTupleObject *)needs)->ob_item, PyTuple_GET_SIZE(needs));
}

/* --- all that operands hold -------------------------------------------------------------------- */

enum { DEEP = 4, FEW = 128 };

typedef struct {
    const void **slots, *few[FEW];
    size_t mask, used;
} Seen;

static size_t place_in(const Seen *seen, const void *address)
{
    size_t place = (((uintptr_t)address >> 4) * 0x9E3779B97F4A7C15u >> 32) & seen->mask;
    while (seen->slots[place] != NULL && seen->slots[place] != address) {
        place = (place + 1) & seen->mask;
    }
    return place;
}

static bool grow(Seen *seen)
{
    Seen larger = {.mask = seen->mask * 2 + 1, .used = seen->used};
    larger.slots = PyMem_Calloc(larger.mask + 1, sizeof(*larger.slots));
    if (larger.slots == NULL) {
        PyErr_NoMemory();
        return false;
    }
    for (size_t i = 0; i <= seen->mask; i++) {
        if (seen->slots[i] != NULL) {
            larger.slots[place_in(&larger, seen->slots[i])] = seen->slots[i];
        }
    }
    if (seen->slots != seen->few) {
        PyMem_Free(seen->slots);
    }
    seen->slots = larger.slots;
    seen->mask = larger.mask;
    return true;
}

/* 1: it was not there, 0: it was, -1: an exception. */
static int add(Seen *seen, const void *address)
{
    size_t place = place_in(seen, address);
    if (seen->slots[place] != NULL) {
        return 0;
    }
    if (2 * ++seen->used > seen->mask) {
        if (!grow(seen)) {
            return -1;
        }
        place = place_in(seen, address);
    }
    seen->slots[place] = address;
    return 1;
}

/* The tags of a shadow that say something: compared with those that a tag has, or written into a
 * new one, or only counted. */
typedef struct {
    PyObject *known;  /* compared with; NULL: not */
    PyObject **made;  /* written into, behind the head; NULL: not */
    Py_ssize_t count;
    bool same;
} Walk;

enum { WHOLE_HEAD = 6 };

static inline void walk_tag(Walk *walk, PyObject *tag)
{
    if (tag == Py_None) {
        return;
    }
    Py_ssize_t place = WHOLE_HEAD + walk->count++;
    if (walk->known != NULL) {
        walk->same = walk->same && place < fields_of(walk->known) &&
                     field(walk->known, place) == tag;
    }
    if (walk->made != NULL) {
        walk->made[place - 3] = tag;
    }
}

static void walk_dict(Walk *walk, PyObject *dict)
{
    Py_ssize_t place = 0;
    PyObject *key, *tag;
    while (PyDict_Next(dict, &place, &key, &tag)) {
        walk_tag(walk, tag);
    }
}

static void walk_tags(Walk *walk, PyObject *shadow)
{
    PyObject *items = SLOT(shadow, Shadow_items);
    walk_tag(walk, SLOT(shadow, Shadow_shape));
    if (items != Py_None) {
        if (PyList_CheckExact(items)) {
            for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items); i++) {
                walk_tag(walk, PyList_GET_ITEM(items, i));
            }
        }
        else {
            walk_dict(walk, items);
        }
        walk_dict(walk, SLOT(shadow, Shadow_keys));
    }
    walk_dict(walk, SLOT(shadow, Shadow_attributes));
}

/* A new tag of all that a shadow says; borrowed, from the shadow. */
static PyObject *read_anew(PyObject *shadow, Py_ssize_t count)
{
    PyObject *few[FEW], **rest = few, *made = NULL;
    if (count + WHOLE_HEAD > FEW && (rest = PyMem_New(PyObject *, count + WHOLE_HEAD)) == NULL) {
        return PyErr_NoMemory();
    }
    Walk walk = {.made = rest};
    walk_tags(&walk, shadow);
    rest[0] = zero;
    rest[1] = now();
    rest[2] = SLOT(shadow, Shadow_address);
    made = tag_with(WHOLE, zero, Py_None, rest, 3 + count);
    if (rest != few) {
        PyMem_Free(rest);
    }
    if (made != NULL) {
        put(&SLOT(shadow, Shadow_read), made);
        put_new(&SLOT(shadow, Shadow_again), made);
    }
    return made;
}

/* The tag of having read all that an object holds, now: shadows.whole. Borrowed, from the shadow. */
static PyObject *whole_of(PyObject *shadow)
{
    PyObject *read = SLOT(shadow, Shadow_read);
    Walk walk = {.known = read != Py_None ? read : NULL, .same = true};
    walk_tags(&walk, shadow);
    if (walk.known == NULL || !walk.same || WHOLE_HEAD + walk.count != fields_of(read)) {
        return read_anew(shadow, walk.count);
    }
    PyObject *again = SLOT(shadow, Shadow_again), *then = field(again, 4);
    if (then == now() || PyLong_AsLongLong(then) == PyLong_AsLongLong(now())) {
        return again;
    }
    PyObject *made = TAG_WITH(WHOLE, zero, Py_None, field(read, 3), now(),
                              SLOT(shadow, Shadow_address), read);
    if (made != NULL) {
        put_new(&SLOT(shadow, Shadow_again), made);
    }
    return made;
}

static bool is_shared(PyObject *value)
{
    return PyType_Check(value) || PyFunction_Check(value) || PyModule_Check(value) ||
           PyCFunction_Check(value);
}

static bool collect(PyObject *value, PyObject *found, Seen *seen, int depth);

static bool collect_parts(PyObject *shadow, PyObject *found, Seen *seen, int depth)
{
    PyObject *items = SLOT(shadow, Shadow_items), *values = SLOT(shadow, Shadow_values);
    PyObject *named = SLOT(shadow, Shadow_attribute_values), *key, *part;
    Py_ssize_t place = 0;
    bool good = true;
    if (PyList_CheckExact(items) && PyList_CheckExact(values)) {
        for (; good && place < PyList_GET_SIZE(values) && place < PyList_GET_SIZE(items); place++) {
            part = PyList_GET_ITEM(values, place);
            good = is_scalar(part) || collect(part, found, seen, depth);
        }
    }
    else if (PyDict_CheckExact(items) && PyDict_CheckExact(values)) {
        while (good && PyDict_Next(values, &place, &key, &part)) {
            good = is_scalar(part) || collect(part, found, seen, depth);
        }
    }
    place = 0;
    while (good && PyDict_Next(named, &place, &key, &part)) {
        good = is_scalar(part) || collect(part, found, seen, depth);
    }
    return good;
}

static bool collect_behind(PyObject *source, PyObject *found, Seen *seen, int depth)
{
    PyObject *behind = PyObject_GetAttr(PyTuple_GET_ITEM(source, 1), name_behind);
    if (behind == NULL) {
        return false;
    }
    bool good = true;
    for (Py_ssize_t i = 0; good && i < PyTuple_GET_SIZE(behind); i++) {
        PyObject *pair = PyTuple_GET_ITEM(behind, i);
        good = PyList_Append(found, TAG(pair)) == 0 && collect(VALUE(pair), found, seen, depth);
    }
    Py_DECREF(behind);
    return good;
}

/* shadows.space_of: borrowed; NULL without an exception: there is none. */
static PyObject *space_of(PyObject *thing)
{
    PyObject *dict = PyObject_GenericGetAttr(thing, name_dict);
    if (dict == NULL) {
        if (PyErr_ExceptionMatches(PyExc_AttributeError) || PyErr_ExceptionMatches(PyExc_TypeError)) {
            PyErr_Clear();
        }
        return NULL;
    }
    PyObject *found = shadow_of(dict);
    Py_DECREF(dict);
    return found;
}

static int is_own(PyObject *thing)
{
    PyObject *told = PyObject_CallOneArg(rests[R_is_own], (PyObject *)Py_TYPE(thing));
    int own = told != NULL ? told == Py_True : -1;
    Py_XDECREF(told);
    return own;
}

/* Whether an object hides what it holds, asked for if need be; -1: an exception. */
static int hides_surely(PyObject *thing)
{
    int known = hides_things(thing);
    if (known >= 0 || PyErr_Occurred()) {
        return known;
    }
    PyObject *told = twin_does(T_hides, &thing, 1);
    known = told != NULL ? told == Py_True : -1;
    Py_XDECREF(told);
    return known;
}

/* shadows._collect_space */
static bool collect_space(PyObject *value, PyObject *found, Seen *seen, int depth)
{
    PyObject *run = by_address(SLOT(the_RUN, Run_runs), value);
    if (run != NULL) {
        PyObject *position = PyObject_GetAttr(PyTuple_GET_ITEM(run, 1), name_position);
        bool good = position != NULL && PyList_Append(found, position) == 0;
        Py_XDECREF(position);
        return good;
    }
    if (PyErr_Occurred() || is_shared(value)) {
        return !PyErr_Occurred();
    }
    PyObject *space = space_of(value);
    if (space != NULL) {
        PyObject *dict = Py_NewRef(SLOT(space, Shadow_object));
        bool good = collect(dict, found, seen, depth);
        Py_DECREF(dict);
        return good;
    }
    if (PyErr_Occurred() || shadow_of(value) != NULL || PyErr_Occurred()) {
        return !PyErr_Occurred();
    }
    int hiding = hides_surely(value), own = hiding == 0 ? is_own(value) : 0;
    if (hiding != 0 || own != 1) {
        return hiding >= 0 && own >= 0;
    }
    PyObject *address = keep_alive(value) ? PyLong_FromVoidPtr(value) : NULL;
    PyObject *tag = address ? TAG_WITH(WHOLE, zero, Py_None, zero, now(), address) : NULL;
    bool good = tag != NULL && PyList_Append(found, tag) == 0;
    Py_XDECREF(address);
    Py_XDECREF(tag);
    return good;
}

static bool collect_new(PyObject *value, PyObject *found, Seen *seen, int depth)
{
    PyObject *source = by_address(SLOT(the_RUN, Run_sources), value);
    if (source != NULL && PyTuple_GET_ITEM(source, 0) == value) {
        if (!collect_behind(source, found, seen, depth)) {
            return false;
        }
    }
    PyObject *shadow = PyErr_Occurred() ? NULL : shadow_of(value);
    if (PyErr_Occurred()) {
        return false;
    }
    if ((shadow == NULL || SLOT(shadow, Shadow_items) == Py_None) &&
        !collect_space(value, found, seen, depth)) {
        return false;
    }
    shadow = shadow_of(value);
    if (shadow == NULL) {
        return !PyErr_Occurred();
    }
    Py_INCREF(shadow);
    PyObject *tag = whole_of(shadow);
    bool good = tag != NULL && PyList_Append(found, tag) == 0 &&
                (depth == 0 || collect_parts(shadow, found, seen, depth - 1));
    Py_DECREF(shadow);
    return good;
}

static bool collect(PyObject *value, PyObject *found, Seen *seen, int depth)
{
    int fresh = add(seen, value);
    if (fresh <= 0) {
        return fresh == 0;
    }
    Py_INCREF(value);
    bool good = collect_new(value, found, seen, depth);
    Py_DECREF(value);
    return good;
}

static PyObject *everything(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count != 1 ||
        (!PyTuple_CheckExact(given[0]) && !PyList_CheckExact(given[0]))) {
        return twin_does(T_everything, given, count);
    }
    PyObject *found = PyList_New(0), *made = NULL;
    if (found == NULL) {
        return NULL;
    }
    Seen seen = {.mask = FEW - 1};
    seen.slots = seen.few;
    bool good = true;
    for (Py_ssize_t i = 0; good && i < PySequence_Fast_GET_SIZE(given[0]); i++) {
        PyObject *pair = PySequence_Fast_GET_ITEM(given[0], i);
        good = PyList_Append(found, TAG(pair)) == 0 &&
               (is_scalar(VALUE(pair)) || collect(VALUE(pair), found, &seen, DEEP));
    }
    if (good) {
        Py_ssize_t known = 0, place = 0;
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(found); i++) {
            known += PyList_GET_ITEM(found, i) != Py_None;
        }
        made = PyTuple_New(known);
        for (Py_ssize_t i = 0; made != NULL && i < PyList_GET_SIZE(found); i++) {
            if (PyList_GET_ITEM(found, i) != Py_None) {
                PyTuple_SET_ITEM(made, place++, Py_NewRef(PyList_GET_ITEM(found, i)));
            }
        }
    }
    Py_DECREF(found);
    if (seen.slots != seen.few) {
        PyMem_Free(seen.slots);
    }
    return made;
}

/* --- by identity --------------------------------------------------------------------------------- */

static bool add_identity(PyObject *found, PyObject *value, PyObject *tag, int depth, Seen *seen);

static bool add_parts(PyObject *found, PyObject *shadow, int depth, Seen *seen)
{
    PyObject *items = SLOT(shadow, Shadow_items), *values = SLOT(shadow, Shadow_values);
    PyObject *key, *value, *tag;
    Py_ssize_t place = 0;
    bool good = true;
    if (PyList_CheckExact(items) && PyList_CheckExact(values)) {
        for (; good && place < PyList_GET_SIZE(values) && place < PyList_GET_SIZE(items); place++) {
            good = add_identity(found, PyList_GET_ITEM(values, place),
                                PyList_GET_ITEM(items, place), depth, seen);
        }
    }
    else if (PyDict_CheckExact(items) && PyDict_CheckExact(values)) {
        while (good && PyDict_Next(values, &place, &key, &value)) {
            tag = PyDict_GetItemWithError(items, key);
            good = tag != NULL && add_identity(found, value, tag, depth, seen);
        }
    }
    place = 0;
    while (good && PyDict_Next(SLOT(shadow, Shadow_attribute_values), &place, &key, &value)) {
        tag = PyDict_GetItemWithError(SLOT(shadow, Shadow_attributes), key);
        good = tag != NULL && add_identity(found, value, tag, depth, seen);
    }
    return good;
}

static bool add_identity(PyObject *found, PyObject *value, PyObject *tag, int depth, Seen *seen)
{
    PyObject *address = PyLong_FromVoidPtr(value);
    if (address == NULL) {
        return false;
    }
    PyObject *known = PyDict_GetItemWithError(found, address);
    bool good;
    if (known != NULL) {
        good = PyList_Append(known, tag) == 0;
    }
    else {
        known = PyList_New(1);
        good = known != NULL;
        if (good) {
            PyList_SET_ITEM(known, 0, Py_NewRef(tag));
            good = PyDict_SetItem(found, address, known) == 0;
            Py_DECREF(known);
        }
    }
    Py_DECREF(address);
    PyObject *shadow = good && !is_scalar(value) ? shadow_of(value) : NULL;
    if (shadow == NULL || depth == 0) {
        return good && !PyErr_Occurred();
    }
    int fresh = add(seen, value);
    if (fresh <= 0) {
        return fresh == 0;
    }
    Py_INCREF(shadow);
    good = add_parts(found, shadow, depth - 1, seen);
    Py_DECREF(shadow);
    return good;
}

static PyObject *by_identity(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count != 1 || !PyTuple_CheckExact(given[0])) {
        return twin_does(T_by_identity, given, count);
    }
    PyObject *found = PyDict_New();
    bool good = found != NULL;
    for (Py_ssize_t i = 0; good && i < PyTuple_GET_SIZE(given[0]); i++) {
        PyObject *pair = PyTuple_GET_ITEM(given[0], i);
        Seen seen = {.mask = FEW - 1};
        seen.slots = seen.few;
        good = add_identity(found, VALUE(pair), TAG(pair), 2, &seen);
        if (seen.slots != seen.few) {
            PyMem_Free(seen.slots);
        }
    }
    if (!good) {
        Py_CLEAR(found);
    }
    return found;
}

/* --- what cannot be seen ------------------------------------------------------------------------- */

/* Whether an object hides what it holds; -1: not known yet. */
static int hides_things(PyObject *thing)
{
    if (is_scalar(thing)) {
        return 0;
    }
    PyObject *known = by_address(SLOT(the_RUN, Run_hiding), Py_TYPE(thing));
    return known == NULL ? -1 : PyTuple_GET_ITEM(known, 1) == Py_True;
}

static PyObject *hides(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    int known = enabled && count == 1 ? hides_things(given[0]) : -1;
    return known >= 0 ? PyBool_FromLong(known) : twin_does(T_hides, given, count);
}

/* shadows.note_behind */
static bool note_behind(PyObject *thing, PyObject *other)
{
    PyObject *behind = SLOT(the_RUN, Run_behind), *known = by_address(behind, thing);
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

/* A new shape for an object that may have kept what `all` is of. */
static int reshape_hiding(PyObject *thing, PyObject *const *given, PyObject *all)
{
    PyObject *shadow = shadow_of(thing), *made;
    if (shadow == NULL) {
        PyObject *fresh = PyErr_Occurred() ? NULL : PyObject_CallOneArg(the_Shadow, thing);
        bool good = fresh != NULL && PyDict_SetItem(SLOT(the_RUN, Run_shadows),
                                                    SLOT(fresh, Shadow_address), fresh) == 0;
        Py_XDECREF(fresh);
        if (!good) {
            return -1;
        }
        shadow = fresh; /* the run has it */
    }
    made = TAG_WITH(OP, given[1], given[2], SLOT(shadow, Shadow_shape), all);
    if (made == NULL) {
        return -1;
    }
    put_new(&SLOT(shadow, Shadow_shape), made);
    return 0;
}

/* Goes on to what an object may have handed things to: the last that was found comes first. */
static int hand_on(PyObject *thing, PyObject *const *given, PyObject *all, Seen *reached)
{
    PyObject *pending = PyList_New(0);
    int bad = pending == NULL || PyList_Append(pending, thing) < 0 ? -1 : 0;
    bad = bad < 0 || add(reached, thing) < 0 ? -1 : 0;
    while (bad == 0 && PyList_GET_SIZE(pending) > 0) {
        Py_ssize_t last = PyList_GET_SIZE(pending) - 1, place = 0;
        PyObject *each = Py_NewRef(PyList_GET_ITEM(pending, last)), *key, *other;
        bad = PyList_SetSlice(pending, last, last + 1, NULL);
        bad = bad < 0 ? bad : reshape_hiding(each, given, all);
        PyObject *behind = by_address(SLOT(the_RUN, Run_behind), each);
        while (bad == 0 && behind != NULL &&
               PyDict_Next(PyTuple_GET_ITEM(behind, 1), &place, &key, &other)) {
            int fresh = add(reached, other);
            bad = fresh < 0 || (fresh == 1 && PyList_Append(pending, other) < 0) ? -1 : 0;
        }
        Py_DECREF(each);
    }
    Py_XDECREF(pending);
    return bad;
}

/* shadows.hide, where of all operands it is known whether they hide things. */
static PyObject *hide(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count != 4 || !PyTuple_CheckExact(given[3])) {
        return twin_does(T_hide, given, count);
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(given[3]); i++) {
        if (hides_things(VALUE(PyTuple_GET_ITEM(given[3], i))) < 0) {
            return PyErr_Occurred() ? NULL : twin_does(T_hide, given, count);
        }
    }
    put(&SLOT(the_RUN, Run_has_hidden), Py_True);
    PyObject *needs = everything(NULL, given + 3, 1), *all = NULL;
    if (needs != NULL) {
        all = tag_with(OP, given[1], given[2], ((PyTupleObject *)needs)->ob_item,
                       PyTuple_GET_SIZE(needs));
        Py_DECREF(needs);
    }
    bool good = all != NULL;
    for (Py_ssize_t i = 0; good && i < PyTuple_GET_SIZE(given[3]); i++) {
        PyObject *value = VALUE(PyTuple_GET_ITEM(given[3], i));
        good = value == given[0] ||
               (hold(given[0], value) &&
                (hides_things(value) != 1 || note_behind(given[0], value)));
    }
    Seen reached = {.mask = FEW - 1};
    reached.slots = reached.few;
    good = good && hand_on(given[0], given, all, &reached) == 0;
    if (reached.slots != reached.few) {
        PyMem_Free(reached.slots);
    }
    Py_XDECREF(all);
    return good ? Py_NewRef(Py_None) : NULL;
}

/* --- whether an object holds what its shadow says ------------------------------------------------ */

/* 1: it does, 0: it does not, -1: the twin finds out. */
static int has_same_items(PyObject *thing, PyObject *values)
{
    if (PyList_CheckExact(thing) || PyTuple_CheckExact(thing)) {
        if (!PyList_CheckExact(values)) {
            return -1;
        }
        bool same = Py_SIZE(thing) == PyList_GET_SIZE(values);
        for (Py_ssize_t i = 0; same && i < PyList_GET_SIZE(values); i++) {
            PyObject *item = PyList_CheckExact(thing) ? PyList_GET_ITEM(thing, i)
                                                      : PyTuple_GET_ITEM(thing, i);
            same = item == PyList_GET_ITEM(values, i);
        }
        return same;
    }
    if (!PyDict_CheckExact(values)) {
        return -1;
    }
    bool same = PyDict_GET_SIZE(thing) == PyDict_GET_SIZE(values);
    Py_ssize_t place = 0;
    PyObject *key, *value;
    while (same && PyDict_Next(thing, &place, &key, &value)) {
        if (!is_scalar(key)) {
            return -1;
        }
        same = PyDict_GetItemWithError(values, key) == value;
    }
    return same;
}

static PyObject *in_step(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    int same = -1;
    if (enabled && count == 1 && PyDict_GET_SIZE(SLOT(given[0], Shadow_attributes)) == 0) {
        PyObject *thing = SLOT(given[0], Shadow_object);
        if (PyList_CheckExact(thing) || PyTuple_CheckExact(thing) || PyDict_CheckExact(thing)) {
            same = has_same_items(thing, SLOT(given[0], Shadow_values));
        }
        else if (!PyList_Check(thing) && !PyTuple_Check(thing) && !PyDict_Check(thing) &&
                 !PyAnySet_Check(thing) && !PyObject_TypeCheck(thing, (PyTypeObject *)the_deque)) {
            same = 1;
        }
    }
    return same >= 0 ? PyBool_FromLong(same) : twin_does(T_in_step, given, count);
}

/* --- what was there before ----------------------------------------------------------------------- */

enum { MOST = 200000 };

typedef struct {
    PyObject *thing;   /* whose parts are visited */
    PyObject *pending; /* what is still to be looked at */
    uint64_t *holders, *held;
    size_t count, room;
    Seen seen;
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
    if (scan->seen.slots[place_in(&scan->seen, value)] != NULL) {
        return 0;
    }
    if (scan->seen.used > MOST) {
        scan->full = true;
        return 1;
    }
    scan->failed = add(&scan->seen, value) < 0 || PyList_Append(scan->pending, value) < 0;
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

/* All that was found is kept, from `first` on. */
static bool keep_all(PyObject *things, Py_ssize_t first)
{
    for (Py_ssize_t i = first; i < PyList_GET_SIZE(things); i++) {
        if (!keep_alive(PyList_GET_ITEM(things, i))) {
            return false;
        }
    }
    return true;
}

static PyObject *scan(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count != 1) {
        return twin_does(T_scan, given, count);
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
            state.failed = add(&state.seen, value) < 0 || PyList_Append(pending, value) < 0;
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
    bool good = !state.failed && extend(SLOT(the_RUN, Run_holders), state.holders, state.count) &&
                extend(SLOT(the_RUN, Run_held), state.held, state.count);
    if (good && state.full) {
        put(&SLOT(the_RUN, Run_is_scanned), Py_False);
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
