/* Reading and setting attributes and items. */

#include "tagging.h"

/* --- attributes ------------------------------------------------------------------------------- */

static bool is_method(PyObject *value)
{
    return PyMethod_Check(value) || PyCFunction_Check(value) ||
           Py_IS_TYPE(value, method_wrapper);
}

/* The tag of an attribute that the shadow of its owner knows; NULL: it does not. */
static PyObject *known_attribute(PyObject *site, PyObject *control, PyObject *owner, PyObject *name,
                                 PyObject *value)
{
    PyObject *shadow = shadow_of(VALUE(owner));
    if (shadow == NULL || (SLOT(the_RUN, ShadowRun_has_dict_access) == Py_True &&
                           (space_of(VALUE(owner)) != NULL || PyErr_Occurred()))) {
        return NULL; /* perhaps it was last set through the dictionary */
    }
    PyObject *tag = PyDict_GetItemWithError(SLOT(shadow, Shadow_attributes), name);
    if (tag == NULL ||
        PyDict_GetItemWithError(SLOT(shadow, Shadow_attribute_values), name) != value) {
        return NULL;
    }
    PyObject *shaped = SLOT(shadow, Shadow_shape);
    PyObject *rest[] = {tag, now(), SLOT(shadow, Shadow_address), name, TAG(owner), shaped};
    return tag_with(LOAD, site, control, rest, shaped == Py_None ? 5 : 6);
}

/* Whether an object shows what another has: iterator_sources._LIVE_VIEWS. */
static bool is_window(PyObject *value)
{
    PyTypeObject *type = Py_TYPE(value);
    return type == &PyDictProxy_Type || type == &PyMemoryView_Type || type == &PyDictKeys_Type ||
           type == &PyDictValues_Type || type == &PyDictItems_Type || type == &PyODictKeys_Type ||
           type == &PyODictValues_Type || type == &PyODictItems_Type;
}

/* The tag of what a module has, or an object in its dictionary, of which nothing is known yet; NULL
 * without an exception: it may stand elsewhere. */
static PyObject *fresh_attribute(PyObject *site, PyObject *control, PyObject *owner, PyObject *name,
                                 PyObject *value)
{
    PyObject *thing = VALUE(owner), *shadow = shadow_of(thing), *dict, *made = NULL;
    if (PyTuple_Check(thing) || PyType_Check(thing) || PyErr_Occurred() ||
        (shadow != NULL && PyDict_Contains(SLOT(shadow, Shadow_attributes), name) != 0) ||
        (dict = instance_dict(thing)) == NULL) {
        return NULL;
    }
    if (shadow_of(dict) != NULL || PyErr_Occurred()) {
        Py_DECREF(dict); /* the program has used the dictionary itself */
        return NULL;
    }
    if (PyModule_Check(thing)) {
        PyObject *number = by_address(SLOT(the_RUN, ShadowRun_namespaces), dict);
        PyObject *given[] = {site, control, number != NULL ? number : minus_one, name, value};
        PyObject *pair = PyErr_Occurred() ? NULL : native_load_global(NULL, given, 5);
        made = pair != NULL ? Py_NewRef(TAG(pair)) : NULL;
        Py_XDECREF(pair);
    }
    else if (PyDict_CheckExact(dict) && PyDict_GetItemWithError(dict, name) == value) {
        PyObject *shaped = shape_of(thing), *step = PyTuple_Pack(2, word_attribute, name);
        if (shaped != NULL && step != NULL) {
            made = part_tag_of(site, control, owner, step, value, &shaped, 1);
        }
        Py_XDECREF(shaped);
        Py_XDECREF(step);
    }
    Py_DECREF(dict);
    return made;
}

/* Whether the methods of an object are those of its type, whoever does what. */
static bool has_fixed_methods(PyObject *thing) /* attribute_access._PLAIN */
{
    PyTypeObject *type = Py_TYPE(thing);
    return type == &PyList_Type || type == &PyTuple_Type || type == &PyDict_Type ||
           type == &PySet_Type || type == &PyFrozenSet_Type || type == (PyTypeObject *)the_deque;
}

static bool note_maker(PyObject *generator, PyObject *control)
{
    PyObject *given[] = {the_RUN, generator, tag_field(control, FIELD_ACTIVATION)};
    PyObject *done = PyObject_VectorcallMethod(name_note_maker, given, 3, NULL);
    Py_XDECREF(done);
    return done != NULL;
}

PyObject *native_attribute(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count != 4 || !is_control(given[1]) || !is_pair(given[2])) {
        return call_python(F_attribute, given, count);
    }
    PyObject *site = given[0], *control = given[1], *owner = given[2], *name = given[3];
    PyObject *thing = VALUE(owner), *tag = NULL;
    if (is_scalar(thing)) {
        PyObject *value = PyObject_GetAttr(thing, name);
        if (value == NULL) { /* the Python function repeats it and notes the failure */
            PyErr_Clear();
            return call_python(F_attribute, given, count);
        }
        return pair_of(value, TAG_WITH(BOUND, site, control, no_text, TAG(owner)));
    }
    PyObject *operands = PyTuple_Pack(1, owner);
    RunningOperation running;
    if (operands == NULL || !begin_operation(&running, site, control, operands)) {
        Py_XDECREF(operands);
        return NULL;
    }
    Py_DECREF(operands);
    PyObject *value = PyObject_GetAttr(thing, name);
    if (!end_operation(&running, value == NULL)) {
        Py_XDECREF(value);
        return NULL;
    }
    if (PyGen_CheckExact(value) && !note_maker(value, control)) {
        Py_DECREF(value);
        Py_DECREF(running.operation);
        return NULL;
    }
    if (!had_callbacks(&running)) {
        if (is_method(value) && !PyModule_Check(thing)) {
            tag = TAG_WITH(BOUND, site, control, has_fixed_methods(thing) ? no_text : name,
                           TAG(owner));
        }
        else if (!is_window(value)) {
            tag = known_attribute(site, control, owner, name, value);
            if (tag == NULL && !PyErr_Occurred()) {
                tag = fresh_attribute(site, control, owner, name, value);
            }
        }
    }
    if (tag == NULL && !PyErr_Occurred()) {
        PyObject *arguments[] = {running.operation, owner, name, value};
        tag = PyObject_Vectorcall(python_helpers[H_read_attribute], arguments, 4, NULL);
    }
    Py_DECREF(running.operation);
    return pair_of(value, tag);
}

/* The shadow of an object of which an attribute can be stored here; NULL: it cannot. */
static PyObject *storing_shadow(PyObject *thing)
{
    PyObject *shadow = PyModule_Check(thing) ? NULL : shadow_of(thing);
    return shadow != NULL && PyDict_GET_SIZE(SLOT(shadow, Shadow_attributes)) > 0 ? shadow : NULL;
}

/* attribute_access.store_attribute, for an object with a shadow. */
static int store_attribute(PyObject *const *given)
{
    PyObject *value = given[2], *owner = given[3], *name = given[4];
    PyObject *shadow = storing_shadow(VALUE(owner));
    if (shadow == NULL) {
        return PyErr_Occurred() ? -1 : 0;
    }
    if (!tick(ShadowRun_time)) {
        return -1;
    }
    PyObject *tag = TAG_WITH(STORE, given[0], given[1], TAG(value), now(), TAG(owner));
    if (tag == NULL) {
        return -1;
    }
    int bad = PyDict_SetItem(SLOT(shadow, Shadow_attributes), name, tag) < 0 ||
              PyDict_SetItem(SLOT(shadow, Shadow_attribute_values), name, VALUE(value)) < 0 ||
              !note_holds(VALUE(owner), VALUE(value));
    Py_DECREF(tag);
    return bad ? -1 : 1;
}

/* An opaque object may also keep the value elsewhere. */
static bool hide_value(PyObject *const *given)
{
    PyObject *operands = PyTuple_Pack(1, given[2]);
    PyObject *arguments[] = {VALUE(given[3]), given[0], given[1], operands};
    PyObject *done = operands != NULL ? native_absorb(NULL, arguments, 4) : NULL;
    Py_XDECREF(operands);
    Py_XDECREF(done);
    return done != NULL;
}

static int store_in_python(PyObject *const *given)
{
    PyObject *done = PyObject_Vectorcall(python_helpers[H_store_attribute], given, 5, NULL);
    Py_XDECREF(done);
    return done != NULL ? 1 : -1;
}

/* Whether a name may be that of the class or code of an object: attribute_access.REMAKING. */
static bool is_special_name(PyObject *name)
{
    return PyUnicode_CheckExact(name) && PyUnicode_GET_LENGTH(name) > 2 &&
           PyUnicode_READ_CHAR(name, 0) == '_' && PyUnicode_READ_CHAR(name, 1) == '_';
}

PyObject *native_set_attribute(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count != 5 || !is_control(given[1]) || !is_pair(given[2]) ||
        !is_pair(given[3])) {
        return call_python(F_set_attribute, given, count);
    }
    PyObject *value = given[2], *owner = given[3], *name = given[4];
    PyObject *operands = PyTuple_Pack(2, owner, value);
    RunningOperation running;
    if (operands == NULL || !begin_operation(&running, given[0], given[1], operands)) {
        Py_XDECREF(operands);
        return NULL;
    }
    Py_DECREF(operands);
    int bad = PyObject_SetAttr(VALUE(owner), name, VALUE(value));
    if (!end_operation(&running, bad < 0)) {
        return NULL;
    }
    int done = 0;
    if (!had_callbacks(&running) && !is_special_name(name)) {
        int hiding = known_opaque(VALUE(owner));
        if (hiding == 1 || (hiding == 0 && storing_shadow(VALUE(owner)) != NULL)) {
            bool good = note_change_target(given[1], TAG(owner)) &&
                (hiding == 0 || hide_value(given));
            done = good ? store_attribute(given) : -1;
            if (done == 0) {
                done = store_in_python(given);
            }
        }
    }
    PyObject *made = done > 0 ? Py_NewRef(Py_None) : NULL;
    if (done == 0 && !PyErr_Occurred()) {
        PyObject *arguments[] = {running.operation, value, owner, name};
        made = PyObject_Vectorcall(python_helpers[H_attribute_written], arguments, 4, NULL);
    }
    Py_DECREF(running.operation);
    return made;
}

/* --- items ------------------------------------------------------------------------------------ */

/* The tag of an item of a sequence that its shadow knows; NULL: it does not. `key`: the tag of
 * what it was found by, or NULL. */
static PyObject *known_place(PyObject *site, PyObject *control, PyObject *owner, PyObject *index,
                             PyObject *key, PyObject *value)
{
    Py_ssize_t place = PyLong_AsSsize_t(index);
    PyObject *shadow = place >= 0 ? shadow_of(VALUE(owner)) : NULL;
    if (shadow == NULL) {
        return NULL;
    }
    PyObject *items = SLOT(shadow, Shadow_items), *values = SLOT(shadow, Shadow_values);
    if (!PyList_CheckExact(items) || !PyList_CheckExact(values) ||
        place >= PyList_GET_SIZE(items) || place >= PyList_GET_SIZE(values) ||
        PyList_GET_ITEM(values, place) != value) {
        return NULL;
    }
    PyObject *tag = PyList_GET_ITEM(items, place), *shaped = SLOT(shadow, Shadow_shape);
    PyObject *address = SLOT(shadow, Shadow_address);
    if (key == NULL) {
        return TAG_WITH(LOAD, site, control, tag, now(), address, index, TAG(owner), shaped);
    }
    return TAG_WITH(LOAD, site, control, tag, now(), address, index, TAG(owner), key, shaped);
}

static bool has_items(PyObject *thing)
{
    PyObject *shadow = shadow_of(thing);
    return shadow != NULL && PyList_CheckExact(SLOT(shadow, Shadow_items));
}

/* The tag of an item of a sequence of which only its own tag is known. */
static PyObject *item_part(PyObject *site, PyObject *control, PyObject *owner, PyObject *index,
                           PyObject *const *needs, Py_ssize_t count, PyObject *value)
{
    PyObject *step = PyTuple_Pack(2, word_item, index);
    PyObject *made = step ? part_tag_of(site, control, owner, step, value, needs, count) : NULL;
    Py_XDECREF(step);
    return made;
}

PyObject *native_sequence_item_tag(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (enabled && count == 5 && is_pair(given[2]) && PyLong_CheckExact(given[3])) {
        PyObject *made = known_place(given[0], given[1], given[2], given[3], NULL, given[4]);
        if (made != NULL || PyErr_Occurred()) {
            return made;
        }
        if (!has_items(VALUE(given[2]))) {
            return item_part(given[0], given[1], given[2], given[3], NULL, 0, given[4]);
        }
    }
    return call_python(F_sequence_item_tag, given, count);
}

/* `xs[3]`: no code of the program runs. NULL without an exception: Python does it. */
static PyObject *item_of_sequence(PyObject *const *given)
{
    PyObject *thing = VALUE(given[2]), *index = VALUE(given[3]), *value, *tag;
    Py_ssize_t place = PyLong_AsSsize_t(index), length = Py_SIZE(thing);
    if (place == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        return NULL;
    }
    if (place >= length || place < -length) {
        return NULL;
    }
    bool negative = place < 0;
    place = negative ? place + length : place;
    value = PyList_CheckExact(thing) ? PyList_GET_ITEM(thing, place)
                                     : PyTuple_GET_ITEM(thing, place);
    index = negative ? PyLong_FromSsize_t(place) : Py_NewRef(index);
    if (index == NULL) {
        return NULL;
    }
    Py_INCREF(value);
    tag = known_place(given[0], given[1], given[2], index, TAG(given[3]), value);
    if (tag == NULL && !PyErr_Occurred() && !has_items(thing)) {
        tag = item_part(given[0], given[1], given[2], index, &TAG(given[3]), 1, value);
    }
    else if (tag == NULL && !PyErr_Occurred()) {
        PyObject *needs = PyTuple_Pack(1, TAG(given[3]));
        PyObject *arguments[] = {given[0], given[1], given[2], index, needs, value};
        tag = needs ? PyObject_Vectorcall(python_helpers[H_item_tag], arguments, 6, NULL) : NULL;
        Py_XDECREF(needs);
    }
    Py_DECREF(index);
    return pair_of(value, tag);
}

static bool is_bound(PyObject *bound) { return bound == Py_None || PyLong_CheckExact(bound); }

static bool is_plain_key(PyObject *key)
{
    return !PySlice_Check(key) ||
           (is_bound(((PySliceObject *)key)->start) && is_bound(((PySliceObject *)key)->stop) &&
            is_bound(((PySliceObject *)key)->step));
}

/* `text[3]`, `text[3:5]`. NULL without an exception: Python does it. */
static PyObject *letters_of(PyObject *const *given)
{
    PyObject *value = PyObject_GetItem(VALUE(given[2]), VALUE(given[3]));
    if (value == NULL) {
        PyErr_Clear();
        return NULL;
    }
    return pair_of(value, TAG_WITH(OP, given[0], given[1], TAG(given[2]), TAG(given[3])));
}

/* The tag of what a dict has for a plain key, if its shadow knows it or there is none. */
static PyObject *known_entry(PyObject *const *given, PyObject *value)
{
    PyObject *owner = given[2], *key = given[3];
    PyObject *shadow = is_scalar(VALUE(key)) ? shadow_of(VALUE(owner)) : NULL;
    if (shadow == NULL && by_address(SLOT(the_RUN, ShadowRun_namespaces), VALUE(owner)) != NULL) {
        return NULL; /* the variables of a module */
    }
    if (shadow == NULL && is_scalar(VALUE(key)) && !PyErr_Occurred()) {
        return item_part(given[0], given[1], owner, VALUE(key), &TAG(key), 1, value);
    }
    if (shadow == NULL || !PyDict_CheckExact(SLOT(shadow, Shadow_values)) ||
        PyDict_GetItemWithError(SLOT(shadow, Shadow_values), VALUE(key)) != value) {
        return NULL;
    }
    PyObject *tag = PyDict_GetItemWithError(SLOT(shadow, Shadow_items), VALUE(key));
    if (tag == NULL) {
        return NULL;
    }
    PyObject *of_key = PyDict_GetItemWithError(SLOT(shadow, Shadow_keys), VALUE(key));
    return TAG_WITH(LOAD, given[0], given[1], tag, now(), SLOT(shadow, Shadow_address), VALUE(key),
                    TAG(owner), TAG(key), SLOT(shadow, Shadow_shape),
                    of_key != NULL ? of_key : Py_None);
}

PyObject *native_subscript(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count != 4 || !is_control(given[1]) || !is_pair(given[2]) ||
        !is_pair(given[3])) {
        return call_python(F_subscript, given, count);
    }
    PyObject *thing = VALUE(given[2]), *key = VALUE(given[3]);
    if (PyLong_CheckExact(key) && (PyList_CheckExact(thing) || PyTuple_CheckExact(thing))) {
        PyObject *made = item_of_sequence(given);
        return made != NULL || PyErr_Occurred() ? made : call_python(F_subscript, given, count);
    }
    if (is_scalar(thing) && (PyLong_CheckExact(key) || PySlice_Check(key))) {
        PyObject *made = is_plain_key(key) ? letters_of(given) : NULL;
        return made != NULL || PyErr_Occurred() ? made : call_python(F_subscript, given, count);
    }
    PyObject *operands = PyTuple_Pack(2, given[2], given[3]);
    RunningOperation running;
    if (operands == NULL || !begin_operation(&running, given[0], given[1], operands)) {
        Py_XDECREF(operands);
        return NULL;
    }
    Py_DECREF(operands);
    PyObject *value = PyObject_GetItem(thing, key), *made = NULL;
    if (!end_operation(&running, value == NULL)) {
        Py_XDECREF(value);
        return NULL;
    }
    PyObject *tag = NULL;
    if (PyDict_CheckExact(thing) && !had_callbacks(&running)) {
        tag = known_entry(given, value);
    }
    if (tag != NULL) {
        made = pair_of(Py_NewRef(value), tag);
    }
    else if (!PyErr_Occurred()) {
        PyObject *arguments[] = {running.operation, given[2], given[3], value};
        made = PyObject_Vectorcall(python_helpers[H_read_item], arguments, 4, NULL);
    }
    Py_DECREF(value);
    Py_DECREF(running.operation);
    return made;
}
