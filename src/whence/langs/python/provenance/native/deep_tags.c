/* The tags of operands and of all that they hold: shadow_memory.deep_tags.
 *
 * What is read is compared with what was read the last time, so that the same tag is made once. */

#include "tagging.h"

#include "address_set.h"

enum { DEEP = 4 };

/* The tags of a shadow that say something: compared with those that a tag has, or written into a
 * new one, or only counted. */
typedef struct {
    PyObject *known;  /* compared with; NULL: not */
    PyObject **made;  /* written into, behind the head; NULL: not */
    Py_ssize_t count;
    bool same;
} Walk;

static inline void walk_tag(Walk *walk, PyObject *tag)
{
    if (tag == Py_None) {
        return;
    }
    Py_ssize_t place = WHOLE_NEEDS + walk->count++;
    if (walk->known != NULL) {
        walk->same = walk->same && place < fields_of(walk->known) &&
                     tag_field(walk->known, place) == tag;
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
    if (count + WHOLE_NEEDS > FEW && (rest = PyMem_New(PyObject *, count + WHOLE_NEEDS)) == NULL) {
        return PyErr_NoMemory();
    }
    Walk walk = {.made = rest};
    walk_tags(&walk, shadow);
    rest[0] = now();
    rest[1] = SLOT(shadow, Shadow_address);
    made = tag_with(WHOLE, zero, Py_None, rest, 2 + count);
    if (rest != few) {
        PyMem_Free(rest);
    }
    if (made != NULL) {
        put(&SLOT(shadow, Shadow_read), made);
        put_new(&SLOT(shadow, Shadow_again), made);
    }
    return made;
}

/* The tag of having read all of an object now; borrowed from the shadow. */
static PyObject *whole_of(PyObject *shadow)
{
    PyObject *read = SLOT(shadow, Shadow_read);
    Walk walk = {.known = read != Py_None ? read : NULL, .same = true};
    walk_tags(&walk, shadow);
    if (walk.known == NULL || !walk.same || WHOLE_NEEDS + walk.count != fields_of(read)) {
        return read_anew(shadow, walk.count);
    }
    PyObject *again = SLOT(shadow, Shadow_again), *then = tag_field(again, FIELD_WHOLE_TIME);
    if (then == now() || PyLong_AsLongLong(then) == PyLong_AsLongLong(now())) {
        return again;
    }
    PyObject *made = TAG_WITH(WHOLE, zero, Py_None, now(), SLOT(shadow, Shadow_address), read);
    if (made != NULL) {
        put_new(&SLOT(shadow, Shadow_again), made);
    }
    return made;
}

static bool collect(PyObject *value, PyObject *found, AddressSet *seen, int depth);

typedef struct {
    PyObject *found;
    AddressSet *seen;
    int depth;
} Reading;

static bool collect_part(PyObject *part, PyObject *tag, void *with)
{
    Reading *reading = with;
    (void)tag;
    return is_scalar(part) || collect(part, reading->found, reading->seen, reading->depth);
}

static bool collect_behind(PyObject *source, PyObject *found, AddressSet *seen, int depth)
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

/* The shadow of an object's dictionary; borrowed. NULL without an exception: it has none. */
PyObject *space_of(PyObject *thing)
{
    PyObject *dict = instance_dict(thing), *found = dict != NULL ? shadow_of(dict) : NULL;
    Py_XDECREF(dict);
    return found;
}

/* Whether the class of an object that is not opaque belongs to the program. */
static bool is_own(PyObject *thing)
{
    PyObject *known = by_address(SLOT(the_RUN, ShadowRun_opaque_types), Py_TYPE(thing));
    return known != NULL && PyTuple_GET_ITEM(known, 2) == Py_True;
}

/* Whether an object is opaque, found out if need be; -1: an exception. */
int is_opaque_surely(PyObject *thing)
{
    int known = known_opaque(thing);
    if (known >= 0 || PyErr_Occurred()) {
        return known;
    }
    PyObject *answer = call_python(F_is_opaque, &thing, 1);
    known = answer != NULL ? answer == Py_True : -1;
    Py_XDECREF(answer);
    return known;
}

static bool collect_space(PyObject *value, PyObject *found, AddressSet *seen, int depth)
{
    PyObject *run = by_address(SLOT(the_RUN, ShadowRun_runs), value);
    if (run != NULL) {
        return PyList_Append(found, SLOT(PyTuple_GET_ITEM(run, 1), GeneratorRun_position)) == 0;
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
    int hiding = is_opaque_surely(value);
    if (hiding != 0 || !is_own(value)) {
        return hiding >= 0 && !PyErr_Occurred();
    }
    PyObject *address = keep_alive(value) ? PyLong_FromVoidPtr(value) : NULL;
    PyObject *tag = address ? TAG_WITH(WHOLE, zero, Py_None, now(), address) : NULL;
    bool good = tag != NULL && PyList_Append(found, tag) == 0;
    Py_XDECREF(address);
    Py_XDECREF(tag);
    return good;
}

/* If the world was changed: the tag of reading what methods of an opaque object may read of it. */
static bool collect_world(PyObject *value, PyObject *found)
{
    if (PyList_GET_SIZE(SLOT(the_RUN, ShadowRun_world)) == 0 || PyList_CheckExact(value) ||
        PyTuple_CheckExact(value) || PyDict_CheckExact(value) || is_shared(value)) {
        return true;
    }
    int opaque = is_opaque_surely(value);
    PyObject *known =
        opaque == 1 ? by_address(SLOT(the_RUN, ShadowRun_opaque_types), Py_TYPE(value)) : NULL;
    if (known == NULL || PyTuple_GET_ITEM(known, 3) == Py_None) {
        return opaque >= 0 && !PyErr_Occurred();
    }
    PyObject *tag = PyObject_CallOneArg(python_helpers[H_world_tag], PyTuple_GET_ITEM(known, 3));
    bool good = tag != NULL && PyList_Append(found, tag) == 0;
    Py_XDECREF(tag);
    return good;
}

static bool collect_new(PyObject *value, PyObject *found, AddressSet *seen, int depth)
{
    if (!collect_world(value, found)) {
        return false;
    }
    PyObject *source = by_address(SLOT(the_RUN, ShadowRun_sources), value);
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
                (depth == 0 || each_part(shadow, collect_part,
                                         &(Reading){found, seen, depth - 1}));
    Py_DECREF(shadow);
    return good;
}

static bool collect(PyObject *value, PyObject *found, AddressSet *seen, int depth)
{
    int fresh = address_set_add(seen, value);
    if (fresh <= 0) {
        return fresh == 0;
    }
    Py_INCREF(value);
    bool good = collect_new(value, found, seen, depth);
    Py_DECREF(value);
    return good;
}

PyObject *native_deep_tags(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count != 1 ||
        (!PyTuple_CheckExact(given[0]) && !PyList_CheckExact(given[0]))) {
        return call_python(F_deep_tags, given, count);
    }
    PyObject *found = PyList_New(0), *made = NULL;
    if (found == NULL) {
        return NULL;
    }
    AddressSet seen = {.mask = FEW - 1};
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
