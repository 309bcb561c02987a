/* The tags of operands and their parts, by the identity of the values. */

#include "tagging.h"

#include "address_set.h"

enum { LEVELS = 2 };

typedef struct {
    PyObject *found;
    AddressSet *seen;
    int depth;
} Identities;

static bool add_identity(PyObject *value, PyObject *tag, void *with)
{
    Identities *all = with;
    PyObject *found = all->found, *address = PyLong_FromVoidPtr(value);
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
    if (shadow == NULL || all->depth == 0) {
        return good && !PyErr_Occurred();
    }
    int fresh = address_set_add(all->seen, value);
    if (fresh <= 0) {
        return fresh == 0;
    }
    Py_INCREF(shadow);
    good = each_part(shadow, add_identity, &(Identities){found, all->seen, all->depth - 1});
    Py_DECREF(shadow);
    return good;
}

PyObject *native_tags_by_identity(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count != 1 || !PyTuple_CheckExact(given[0])) {
        return call_python(F_tags_by_identity, given, count);
    }
    PyObject *found = PyDict_New();
    bool good = found != NULL;
    for (Py_ssize_t i = 0; good && i < PyTuple_GET_SIZE(given[0]); i++) {
        PyObject *pair = PyTuple_GET_ITEM(given[0], i);
        AddressSet seen = {.mask = FEW - 1};
        seen.slots = seen.few;
        good = add_identity(VALUE(pair), TAG(pair), &(Identities){found, &seen, LEVELS});
        if (seen.slots != seen.few) {
            PyMem_Free(seen.slots);
        }
    }
    if (!good) {
        Py_CLEAR(found);
    }
    return found;
}

/* --- one value -------------------------------------------------------------------------------- */

typedef struct {
    PyObject *value, *hits; /* the tags that it has among the operands, each once */
    AddressSet *seen;
    int depth;
} Search;

static bool is_among(PyObject *list, PyObject *tag)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
        if (PyList_GET_ITEM(list, i) == tag) {
            return true;
        }
    }
    return false;
}

static bool look_at(PyObject *value, PyObject *tag, void *with)
{
    Search *search = with;
    if (value == search->value && !is_among(search->hits, tag) &&
        PyList_Append(search->hits, tag) < 0) {
        return false;
    }
    PyObject *shadow = search->depth > 0 && !is_scalar(value) ? shadow_of(value) : NULL;
    if (shadow == NULL) {
        return !PyErr_Occurred();
    }
    int fresh = address_set_add(search->seen, value);
    if (fresh <= 0) {
        return fresh == 0;
    }
    search->depth--;
    bool good = each_part(shadow, look_at, search);
    search->depth++;
    return good;
}

/* The tags that a value has among operands; a new list. */
static PyObject *hits_among(PyObject *operands, PyObject *value)
{
    PyObject *hits = PyList_New(0);
    bool good = hits != NULL;
    for (Py_ssize_t i = 0; good && i < PyTuple_GET_SIZE(operands); i++) {
        PyObject *pair = PyTuple_GET_ITEM(operands, i);
        AddressSet seen = {.mask = FEW - 1};
        seen.slots = seen.few;
        good = look_at(VALUE(pair), TAG(pair), &(Search){value, hits, &seen, LEVELS});
        if (seen.slots != seen.few) {
            PyMem_Free(seen.slots);
        }
    }
    if (!good) {
        Py_CLEAR(hits);
    }
    return hits;
}

PyObject *native_identical_tags(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count != 2 || !PyTuple_CheckExact(given[0])) {
        return call_python(F_identical_tags, given, count);
    }
    return hits_among(given[0], given[1]);
}

/* Candidates.tag: where a value may come from; `made` is the tag of what all operands influenced.
 * */
static PyObject *candidate_tag(PyObject *site, PyObject *control, PyObject *operands,
                               PyObject *made, PyObject *value)
{
    PyObject *hits = hits_among(operands, value), *choices, *tag = NULL;
    if (hits == NULL || PyList_GET_SIZE(hits) == 0) {
        Py_XDECREF(hits);
        return hits != NULL ? Py_NewRef(made) : NULL;
    }
    bool telling = !is_scalar(value) && !is_shared(value) &&
                   !(PyTuple_CheckExact(value) && PyTuple_GET_SIZE(value) == 0);
    if (telling && PyList_GET_SIZE(hits) == 1) {
        tag = TAG_WITH(SEL, site, control, PyList_GET_ITEM(hits, 0), made);
    }
    else if (telling || PyList_Append(hits, made) == 0) {
        choices = PyList_AsTuple(hits);
        tag = choices != NULL ? TAG_WITH(AMBIG, site, control, choices, made) : NULL;
        Py_XDECREF(choices);
    }
    Py_DECREF(hits);
    return tag;
}

/* The operands and callbacks of an operation; a new tuple. */
PyObject *all_operands(PyObject *operation)
{
    PyObject *operands = SLOT(operation, Operation_operands);
    PyObject *callbacks = SLOT(operation, Operation_callbacks);
    if (PyList_GET_SIZE(callbacks) == 0) {
        return Py_NewRef(operands);
    }
    PyObject *more = PyList_AsTuple(callbacks);
    PyObject *all = more != NULL ? PySequence_Concat(operands, more) : NULL;
    Py_XDECREF(more);
    return all;
}

/* The tag of what all operands and their parts influenced. */
static PyObject *made_of_all(PyObject *site, PyObject *control, PyObject *operands)
{
    PyObject *needs = native_deep_tags(NULL, &operands, 1);
    PyObject *made = needs ? tag_with(OP, site, control, tuple_items(needs),
                                      PyTuple_GET_SIZE(needs))
                           : NULL;
    Py_XDECREF(needs);
    return made;
}

PyObject *native_identify_arguments(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count != 3 || !PyTuple_CheckExact(given[2])) {
        return call_python(F_identify_arguments, given, count);
    }
    PyObject *site = SLOT(given[0], Operation_site), *control = given[1], *values = given[2];
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(values); i++) { /* `*rest` and `**more` */
        PyObject *value = PyTuple_GET_ITEM(values, i);
        if ((PyTuple_CheckExact(value) || PyDict_CheckExact(value)) && shadow_of(value) == NULL) {
            return PyErr_Occurred() ? NULL : call_python(F_identify_arguments, given, count);
        }
    }
    PyObject *operands = all_operands(given[0]);
    PyObject *made = operands != NULL ? made_of_all(site, control, operands) : NULL;
    PyObject *tags = made != NULL ? PyList_New(0) : NULL;
    for (Py_ssize_t i = 0; tags != NULL && i < PyTuple_GET_SIZE(values); i++) {
        PyObject *source =
            candidate_tag(site, control, operands, made, PyTuple_GET_ITEM(values, i));
        PyObject *tag = source != NULL ? TAG_WITH(ARG, site, control, source) : NULL;
        if (tag == NULL || PyList_Append(tags, tag) < 0) {
            Py_CLEAR(tags);
        }
        Py_XDECREF(source);
        Py_XDECREF(tag);
    }
    Py_XDECREF(operands);
    Py_XDECREF(made);
    return tags;
}
