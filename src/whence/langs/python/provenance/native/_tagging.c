/* The module: its functions, and the Python objects that are bound to it. */

#include "tagging.h"

#define AS_OFFSET_DEFINITION(class, slot) Py_ssize_t class##_##slot;
SLOTS(AS_OFFSET_DEFINITION)
#define AS_GLOBAL_DEFINITION(name) PyObject *the_##name;
BOUND_NAMES(AS_GLOBAL_DEFINITION)

PyObject *python_functions[FUNCTION_COUNT];
PyObject *python_helpers[HELPER_COUNT];
PyObject *kinds[TAG_KIND_COUNT];
PyObject *empty_tuple, *zero, *minus_one;
PyObject *name_operation, *name_pending, *name_behind, *name_append, *name_frombytes;
PyObject *word_item, *word_attribute, *no_text, *name_dict, *name_note_maker, *name_note_dropped;
PyObject *builtin_len, *builtin_isinstance, *builtin_print;
PyCFunction list_append;
PyTypeObject *method_wrapper;
bool enabled;

static const char *const FUNCTION_NAMES[] = {
#define AS_NAME(name) #name,
    NATIVE_FUNCTIONS(AS_NAME)
};
static const char *const HELPER_NAMES[] = {PYTHON_HELPERS(AS_NAME)};

/* Where a class keeps one of its slots. */
static bool find_slot(PyObject *class, const char *name, Py_ssize_t *offset)
{
    PyObject *found = PyObject_GetAttrString(class, name);
    bool good = found != NULL && Py_IS_TYPE(found, &PyMemberDescr_Type);
    if (good) {
        *offset = slot_offset(found);
    }
    else if (found != NULL) {
        PyErr_Format(PyExc_TypeError, "%R has no slot %s", class, name);
    }
    Py_XDECREF(found);
    return good;
}

static int find_name(const char *const *names, int count, const char *name)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

/* The native version of a Python function, which it calls for the uncommon cases. */
static PyObject *native_of(PyObject *self, PyObject *function)
{
    PyObject *text = PyObject_GetAttrString(function, "__name__");
    const char *name = text != NULL ? PyUnicode_AsUTF8(text) : NULL;
    PyObject *made = NULL;
    int which = name != NULL ? find_name(FUNCTION_NAMES, FUNCTION_COUNT, name) : -1;
    if (which >= 0) {
        put(&python_functions[which], function);
        made = PyObject_GetAttr(self, text);
    }
    else if (name != NULL) {
        PyErr_Format(PyExc_LookupError, "%s has no native version", name);
    }
    Py_XDECREF(text);
    return made;
}

static bool take(PyObject *names, const char *name, PyObject **into)
{
    PyObject *found = PyDict_GetItemString(names, name);
    if (found == NULL) {
        PyErr_Format(PyExc_LookupError, "%s is not given", name);
        return false;
    }
    put(into, found);
    return true;
}

/* Binds the objects that the functions need, by their names. */
static PyObject *bind(PyObject *self, PyObject *names)
{
    (void)self;
    if (!PyDict_Check(names)) {
        PyErr_SetString(PyExc_TypeError, "bind: expected a dict");
        return NULL;
    }
#define TAKE(name)                                                                                 \
    if (!take(names, #name, &the_##name)) {                                                        \
        return NULL;                                                                               \
    }
    BOUND_NAMES(TAKE)
#define FIND(class, slot)                                                                          \
    if (!find_slot(the_##class, #slot, &class##_##slot)) {                                         \
        return NULL;                                                                               \
    }
    SLOTS(FIND)
    for (int i = 0; i < HELPER_COUNT; i++) {
        if (!take(names, HELPER_NAMES[i], &python_helpers[i])) {
            return NULL;
        }
    }
    for (int i = 0; i < FUNCTION_COUNT; i++) {
        if (python_functions[i] == NULL) {
            PyErr_Format(PyExc_LookupError, "%s has no Python function", FUNCTION_NAMES[i]);
            return NULL;
        }
    }
    Py_RETURN_NONE;
}

/* Switches the native functions on or off; returns what they were. */
static PyObject *enable(PyObject *self, PyObject *on)
{
    (void)self;
    bool before = enabled;
    int wanted = PyObject_IsTrue(on);
    if (wanted < 0) {
        return NULL;
    }
    if (wanted && the_RUN == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "enable: nothing is bound");
        return NULL;
    }
    enabled = wanted;
    return PyBool_FromLong(before);
}

#define FAST(name, function) {name, (PyCFunction)(void (*)(void))function, METH_FASTCALL, NULL}
static PyMethodDef FUNCTIONS[] = {
    {"bind", bind, METH_O, NULL},
    {"enable", enable, METH_O, NULL},
    {"native_of", native_of, METH_O, NULL},
    {"tag_count", tag_count, METH_NOARGS, NULL},
    FAST("operator", operator),
#define AS_METHOD(name) FAST(#name, native_##name),
    NATIVE_FUNCTIONS(AS_METHOD)
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, .m_name = "_tagging", .m_size = -1, .m_methods = FUNCTIONS,
};

static bool find_builtins(void)
{
    PyObject *list = PyList_New(0);
    PyObject *append = list != NULL ? PyObject_GetAttrString(list, "append") : NULL;
    if (append != NULL && PyCFunction_Check(append)) {
        list_append = PyCFunction_GET_FUNCTION(append);
    }
    PyObject *wrapper = list != NULL ? PyObject_GetAttrString(list, "__len__") : NULL;
    if (wrapper != NULL) {
        method_wrapper = (PyTypeObject *)Py_NewRef(Py_TYPE(wrapper));
    }
    Py_XDECREF(list);
    Py_XDECREF(append);
    Py_XDECREF(wrapper);
    PyObject *builtins = PyEval_GetBuiltins();
    builtin_len = builtins != NULL ? PyDict_GetItemString(builtins, "len") : NULL;
    builtin_isinstance = builtins != NULL ? PyDict_GetItemString(builtins, "isinstance") : NULL;
    builtin_print = builtins != NULL ? PyDict_GetItemString(builtins, "print") : NULL;
    Py_XINCREF(builtin_len);
    Py_XINCREF(builtin_isinstance);
    Py_XINCREF(builtin_print);
    return list_append != NULL && method_wrapper != NULL && builtin_len != NULL &&
           builtin_isinstance != NULL && builtin_print != NULL;
}

PyMODINIT_FUNC PyInit__tagging(void)
{
    if (!is_known_version()) { /* the functions in Python do it all */
        PyErr_SetString(PyExc_ImportError, "not for this version of Python");
        return NULL;
    }
    for (int kind = 0; kind < TAG_KIND_COUNT; kind++) {
        kinds[kind] = PyLong_FromLong(kind);
    }
    zero = PyLong_FromLong(0);
    minus_one = PyLong_FromLong(-1);
    empty_tuple = PyTuple_New(0);
    operators = PyDict_New();
    name_operation = PyUnicode_InternFromString("operation");
    name_pending = PyUnicode_InternFromString("pending");
    name_behind = PyUnicode_InternFromString("behind");
    name_frombytes = PyUnicode_InternFromString("frombytes");
    word_item = PyUnicode_InternFromString("item");
    word_attribute = PyUnicode_InternFromString("attribute");
    no_text = PyUnicode_InternFromString("");
    name_dict = PyUnicode_InternFromString("__dict__");
    name_note_maker = PyUnicode_InternFromString("note_maker");
    name_note_dropped = PyUnicode_InternFromString("note_dropped");
    name_append = PyUnicode_InternFromString("append");
    if (PyErr_Occurred() || PyType_Ready(&OperatorType) < 0 || PyType_Ready(&TagType) < 0 ||
        PyType_Ready(&RoundsType) < 0 || !find_builtins()) {
        return NULL;
    }
    PyObject *module = PyModule_Create(&MODULE);
    if (module != NULL && PyModule_AddObjectRef(module, "Tag", (PyObject *)&TagType) < 0) {
        Py_CLEAR(module);
    }
    return module;
}
