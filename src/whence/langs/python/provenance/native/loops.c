/* Loops and unpacking. */

#include "tagging.h"

/* An item of a sequence with its tag; steals the reference to `index`. */
static PyObject *item_pair(PyObject *site, PyObject *control, PyObject *owner, PyObject *index,
                           PyObject *value)
{
    if (index == NULL) {
        return NULL;
    }
    Py_INCREF(value);
    PyObject *given[] = {site, control, owner, index, value};
    PyObject *tag = native_sequence_item_tag(NULL, given, 5);
    Py_DECREF(index);
    return pair_of(value, tag);
}

static inline PyObject *item_at(PyObject *thing, Py_ssize_t place)
{
    return PyList_CheckExact(thing) ? PyList_GET_ITEM(thing, place)
                                    : PyTuple_GET_ITEM(thing, place);
}

static inline bool is_sequence(PyObject *thing)
{
    return PyList_CheckExact(thing) || PyTuple_CheckExact(thing);
}

/* --- the rounds of a loop --------------------------------------------------------------------- */

typedef struct {
    PyObject_HEAD
    PyObject *site, *control, *owner;
    PyObject *iterator; /* with its tag; NULL: the owner is a sequence, and is read by index */
    PyObject *dropped;  /* of a comprehension; else NULL */
    Py_ssize_t next;
    bool is_bare; /* gives no control with each value */
} Rounds;

static int rounds_visit(PyObject *self, visitproc visit, void *arg)
{
    Rounds *rounds = (Rounds *)self;
    Py_VISIT(rounds->control);
    Py_VISIT(rounds->owner);
    Py_VISIT(rounds->iterator);
    Py_VISIT(rounds->dropped);
    return 0;
}

static int rounds_clear(PyObject *self)
{
    Rounds *rounds = (Rounds *)self;
    Py_CLEAR(rounds->site);
    Py_CLEAR(rounds->control);
    Py_CLEAR(rounds->owner);
    Py_CLEAR(rounds->iterator);
    Py_CLEAR(rounds->dropped);
    return 0;
}

static void rounds_free(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    rounds_clear(self);
    PyObject_GC_Del(self);
}

/* The next value with its tag; NULL without an exception: there is no more. */
static PyObject *next_given(Rounds *rounds)
{
    PyObject *owner = rounds->owner, *made;
    if (rounds->iterator == NULL) {
        if (rounds->next >= Py_SIZE(VALUE(owner))) {
            return NULL;
        }
        Py_ssize_t place = rounds->next++;
        return item_pair(rounds->site, rounds->control, owner, PyLong_FromSsize_t(place),
                         item_at(VALUE(owner), place));
    }
    made = next_of(rounds->site, rounds->control, rounds->iterator, owner);
    if (made == NULL && PyErr_ExceptionMatches(PyExc_StopIteration)) {
        PyErr_Clear();
    }
    return made;
}

/* The end of a comprehension counts as a test that dropped something. */
static void note_last(Rounds *rounds)
{
    PyObject *ended = by_address(SLOT(the_RUN, ShadowRun_iteration_ends), VALUE(rounds->owner));
    if (ended != NULL) {
        PyObject *given[] = {the_RUN, rounds->dropped, PyTuple_GET_ITEM(ended, 1)};
        Py_XDECREF(PyObject_VectorcallMethod(name_note_dropped, given, 3, NULL));
    }
}

/* The next value with its tag, and the control of its round. */
static PyObject *rounds_next(PyObject *self)
{
    Rounds *rounds = (Rounds *)self;
    if (rounds->owner == NULL) {
        return NULL;
    }
    PyObject *given = next_given(rounds);
    if (given == NULL) {
        if (!PyErr_Occurred() && rounds->dropped != NULL) {
            note_last(rounds);
        }
        rounds_clear(self); /* like any ended iterator, ignores what is appended later */
        return NULL;
    }
    if (rounds->is_bare) {
        return given;
    }
    PyObject *owner = rounds->owner, *site = rounds->site, *control = rounds->control;
    PyObject *shaped = has_places(VALUE(owner)) ? shape_of(VALUE(owner)) : Py_NewRef(TAG(given));
    PyObject *why = shaped ? TAG_WITH(OP, site, control, TAG(owner), shaped) : NULL;
    PyObject *activation = tag_field(control, FIELD_ACTIVATION), *round = NULL;
    if (why != NULL) {
        round = test_tag(site, control, why, activation, true, rounds->dropped);
    }
    Py_XDECREF(shaped);
    Py_XDECREF(why);
    return pair_of(given, round);
}

PyTypeObject RoundsType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "whence.langs.python.provenance._tagging.Rounds",
    .tp_basicsize = sizeof(Rounds),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_traverse = rounds_visit,
    .tp_clear = rounds_clear,
    .tp_dealloc = rounds_free,
    .tp_iter = PyObject_SelfIter,
    .tp_iternext = rounds_next,
};

/* The rounds over an iterator, or over a sequence if that is NULL. */
static Rounds *rounds_of(PyObject *const *where, PyObject *iterator, PyObject *owner)
{
    Rounds *made = PyObject_GC_New(Rounds, &RoundsType);
    if (made != NULL) {
        made->site = Py_NewRef(where[0]);
        made->control = Py_NewRef(where[1]);
        made->owner = Py_NewRef(owner);
        made->iterator = Py_XNewRef(iterator);
        made->dropped = NULL;
        made->next = 0;
        made->is_bare = true;
        PyObject_GC_Track(made);
    }
    return made;
}

/* The same over an iterable: a site, a control, and the iterable with its tag. */
static Rounds *rounds_over(PyObject *const *given)
{
    if (is_sequence(VALUE(given[2]))) {
        return rounds_of(given, NULL, given[2]);
    }
    PyObject *iterator = PyObject_Vectorcall(python_helpers[H_iterator_of], given, 3, NULL);
    Rounds *made = iterator != NULL ? rounds_of(given, iterator, given[2]) : NULL;
    Py_XDECREF(iterator);
    return made;
}

PyObject *native_iterate_pairs(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count != 3 || !is_control(given[1]) || !is_pair(given[2])) {
        return call_python(F_iterate_pairs, given, count);
    }
    return (PyObject *)rounds_over(given);
}

PyObject *native_step_iterator(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count != 4 || !is_control(given[1]) || !is_pair(given[2]) ||
        !is_pair(given[3])) {
        return call_python(F_step_iterator, given, count);
    }
    return (PyObject *)rounds_of(given, given[2], given[3]);
}

PyObject *native_iterate(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count != 4 || !is_control(given[1]) || !is_pair(given[2])) {
        return call_python(F_iterate, given, count);
    }
    Rounds *made = rounds_over(given);
    if (made != NULL) {
        made->is_bare = false;
        made->dropped = given[3] != Py_None ? Py_NewRef(given[3]) : NULL;
    }
    return (PyObject *)made;
}

/* `a, b = owner`, if the number of values is right. */
PyObject *native_unpack(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    (void)self;
    if (!enabled || count != 5 || !is_pair(given[2]) || !is_sequence(VALUE(given[2])) ||
        PyLong_AsLong(given[4]) >= 0 ||
        PyLong_AsSsize_t(given[3]) != Py_SIZE(VALUE(given[2]))) {
        return PyErr_Occurred() ? NULL : call_python(F_unpack, given, count);
    }
    PyObject *made = PyList_New(0), *thing = VALUE(given[2]);
    for (Py_ssize_t i = 0; made != NULL && i < Py_SIZE(thing); i++) {
        PyObject *pair = item_pair(given[0], given[1], given[2], PyLong_FromSsize_t(i),
                                   item_at(thing, i));
        if (pair == NULL || PyList_Append(made, pair) < 0) {
            Py_CLEAR(made);
        }
        Py_XDECREF(pair);
    }
    return made;
}
