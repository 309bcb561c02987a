/* Whether the running interpreter has the layout that this was compiled for.
 *
 * An extension that was built with the headers of another release, or of a patched interpreter, would
 * read the wrong memory. So at import the sizes that the interpreter tells of its types are compared
 * with those of the headers, and a few objects are read both by the public functions and by ours.
 * Nothing is written before that has agreed. */
#include "cpython.h"

PyTypeObject *yielded_box_type;

#if HAS_MONITORING
ReplacedConstant replaced_constant;
#endif

static bool is_same_release(void)
{
    return Py_Version >> 16 == PY_VERSION_HEX >> 16;
}

static bool sizes_agree(void)
{
    const size_t frame = offsetof(Frame, localsplus);
    const struct {
        const PyTypeObject *type;
        size_t size;
    } expected[] = {
        {&PyCode_Type, offsetof(PyCodeObject, co_code_adaptive)},
        {&PyFunction_Type, sizeof(PyFunctionObject)},
        {&PyFrame_Type, offsetof(PyFrameObject, _f_frame_data) + frame},
        {&PyGen_Type, offsetof(PyGenObject, gi_iframe) + frame},
        {&PyTraceBack_Type, sizeof(PyTracebackObject)},
        {&PyDict_Type, sizeof(PyDictObject)},
        {&PySet_Type, sizeof(PySetObject)},
        {&PyType_Type, sizeof(PyHeapTypeObject)},
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        if (expected[i].type->tp_basicsize != (Py_ssize_t)expected[i].size) {
            return false;
        }
    }
    return true;
}

/* The frame that runs now, and the threads' counter. */
static bool frames_agree(void)
{
    PyThreadState *tstate = PyThreadState_Get();
    PyFrameObject *object = PyEval_GetFrame();
    if (object == NULL) {
        return true; /* no Python code runs: there is nothing to compare */
    }
    Frame *frame = current_frame(tstate);
    if (frame == NULL || this_thread_state() != tstate) {
        return false;
    }
    while (frame != NULL && object->f_frame != frame) {
        frame = frame_caller(frame); /* one that the interpreter does not show */
    }
    PyCodeObject *code = PyFrame_GetCode(object);
    bool agree = frame != NULL && frame_code(frame) == code &&
                 frame_globals(frame) == PyEval_GetGlobals() &&
                 PyFrame_GetLasti(object) == ((int)frame_place(frame) - 1) * 2 &&
                 next_thread_id() > PyThreadState_GetID(tstate);
    Py_DECREF(code);
    return agree;
}

static const char probe[] = "class Probe: pass\n"
                            "probe = Probe()\n"
                            "probe.first, probe.second = 7, -(2 ** 70)\n"
                            "def generate(): yield\n"
                            "generator = generate()\n"
                            "first, second = probe.first, probe.second\n";

static bool instances_agree(PyObject *object, PyObject *first, PyObject *second)
{
    PyTypeObject *type = Py_TYPE(object);
    InstanceState state = instance_state(object, type);
    if (state.values == NULL || values_count(state.values) != 2) {
        return false;
    }
    PyObject *expected[] = {first, second};
    const char *names[] = {"first", "second"};
    for (Py_ssize_t i = 0; i < 2; i++) {
        Py_ssize_t index = values_index(state.values, i);
        if (index >= shared_key_count(type) || value_at(state.values, index) != expected[i] ||
            PyUnicode_CompareWithASCIIString(shared_key(type, index), names[i]) != 0) {
            return false;
        }
    }
    return true;
}

static bool numbers_agree(PyObject *small, PyObject *large)
{
    long long value;
    return small_number(small, &value) && value == 7 && !number_is_negative(small) &&
           !small_number(large, &value) && number_is_negative(large) &&
           number_digits(large) == 70 / PyLong_SHIFT + 1;
}

/* Objects of a namespace in which the probe was run. */
static bool objects_agree(PyObject *namespace)
{
    PyObject *object = PyDict_GetItemString(namespace, "probe");
    PyObject *first = PyDict_GetItemString(namespace, "first");
    PyObject *second = PyDict_GetItemString(namespace, "second");
    PyObject *generator = PyDict_GetItemString(namespace, "generator");
    PyObject *function = PyDict_GetItemString(namespace, "generate");
    if (object == NULL || first == NULL || second == NULL || generator == NULL || function == NULL) {
        return false;
    }
    Frame *frame = generator_frame(generator);
    return instances_agree(object, first, second) && numbers_agree(first, second) &&
           owned_by_generator(frame) && frame_globals(frame) == namespace &&
           (PyObject *)frame_code(frame) == PyFunction_GetCode(function) &&
           frame_function(frame) == function;
}

static bool probe_agrees(void)
{
    PyObject *namespace = PyDict_New();
    PyObject *done = NULL;
    if (namespace != NULL &&
        PyDict_SetItemString(namespace, "__builtins__", PyEval_GetBuiltins()) == 0) {
        done = PyRun_String(probe, Py_file_input, namespace, namespace);
    }
    bool agree = done != NULL && objects_agree(namespace);
    Py_XDECREF(done);
    if (namespace != NULL) {
        PyDict_Clear(namespace); /* or the generator ends at a collection, before the program's eyes */
    }
    Py_XDECREF(namespace);
    PyErr_Clear();
    return agree;
}

/* A static type that no header of some versions declares: it is a direct subclass of object. */
static bool find_yielded_box_type(void)
{
    PyObject *types = PyObject_CallMethod((PyObject *)&PyType_Type, "__subclasses__", "O",
                                          (PyObject *)&PyBaseObject_Type);
    for (Py_ssize_t i = 0; types != NULL && i < PyList_GET_SIZE(types); i++) {
        PyTypeObject *type = (PyTypeObject *)PyList_GET_ITEM(types, i);
        if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) &&
            type->tp_basicsize == (Py_ssize_t)(sizeof(PyObject) + sizeof(PyObject *)) &&
            strcmp(type->tp_name, "async_generator_wrapped_value") == 0) {
            yielded_box_type = type;
        }
    }
    Py_XDECREF(types);
    PyErr_Clear();
    return yielded_box_type != NULL;
}

const char *layout_problem(void)
{
    return !is_same_release()         ? "it was built for another release of Python"
           : !sizes_agree()           ? "this Python has types of other sizes than its headers say"
           : !frames_agree()          ? "this Python keeps frames otherwise than its headers say"
           : !probe_agrees()          ? "this Python keeps objects otherwise than its headers say"
           : !find_yielded_box_type() ? "this Python has another type for what `async def` yields"
                                      : NULL;
}
