/* Encodes results of functions: texts, numbers, containers of them, records such as a
 * `stat_result`, and exceptions. Decoding creates nothing else. */
#include "journal.h"

enum { DEEPEST = 20 };

bool bytes_put(Bytes *bytes, const void *data, size_t length)
{
    if (bytes->length + length > bytes->capacity) {
        size_t wanted = (bytes->length + length) * 2 + 64;
        uint8_t *grown = realloc(bytes->bytes, wanted);
        if (grown == NULL) {
            return false;
        }
        bytes->bytes = grown;
        bytes->capacity = wanted;
    }
    if (length > 0) {
        memcpy(bytes->bytes + bytes->length, data, length);
    }
    bytes->length += length;
    return true;
}

static bool put_tag(Bytes *bytes, char tag)
{
    return bytes_put(bytes, &tag, 1);
}

bool bytes_number(Bytes *bytes, uint64_t number)
{
    uint8_t digits[10];
    size_t count = 0;
    do {
        digits[count++] = (uint8_t)((number & 0x7F) | (number > 0x7F ? 0x80 : 0));
        number >>= 7;
    } while (number > 0);
    return bytes_put(bytes, digits, count);
}

bool read_number(Reader *reader, uint64_t *number)
{
    *number = 0;
    for (unsigned shift = 0; shift < 64 && reader->at < reader->end; shift += 7) {
        uint8_t digit = *reader->at++;
        *number |= (uint64_t)(digit & 0x7F) << shift;
        if (digit < 0x80) {
            return true;
        }
    }
    return false;
}

static bool put_data(Bytes *bytes, char tag, const void *data, size_t length)
{
    return put_tag(bytes, tag) && bytes_number(bytes, length) && bytes_put(bytes, data, length);
}

static bool put_text(Bytes *bytes, char tag, PyObject *text)
{
    PyObject *encoded = PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass");
    if (encoded == NULL) {
        return false;
    }
    bool done = put_data(bytes, tag, PyBytes_AS_STRING(encoded), (size_t)PyBytes_GET_SIZE(encoded));
    Py_DECREF(encoded);
    return done;
}

static bool put_integer(Bytes *bytes, PyObject *number)
{
    int overflow = 0;
    long long small = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow == 0) {
        uint64_t zigzag = ((uint64_t)small << 1) ^ (uint64_t)(small >> 63);
        return put_tag(bytes, 'i') && bytes_number(bytes, zigzag);
    }
    PyObject *digits = PyNumber_ToBase(number, 16);
    bool done = digits != NULL && put_text(bytes, 'I', digits);
    Py_XDECREF(digits);
    return done;
}

/* The records that functions of `os`, `time` and `resource` return: named tuples in C that have
 * more fields than items. */
static const char *const RECORDS[] = {
    "os.stat_result", "os.statvfs_result", "os.terminal_size", "os.uname_result", "os.times_result",
    "posix.times_result", "posix.uname_result", "os.waitid_result", "posix.waitid_result",
    "time.struct_time", "resource.struct_rusage", "pwd.struct_passwd", "grp.struct_group",
};
enum { RECORD_COUNT = sizeof RECORDS / sizeof *RECORDS };

static Py_ssize_t field_count(PyTypeObject *type)
{
    PyObject *count = PyObject_GetAttrString((PyObject *)type, "n_fields");
    Py_ssize_t number = count == NULL ? -1 : PyLong_AsSsize_t(count);
    Py_XDECREF(count);
    PyErr_Clear();
    return number;
}

static int record_of(PyTypeObject *type)
{
    if (type->tp_base != &PyTuple_Type) {
        return -1;
    }
    for (int i = 0; i < RECORD_COUNT; i++) {
        if (strcmp(type->tp_name, RECORDS[i]) == 0) {
            return i;
        }
    }
    return -1;
}

static bool put_record(Bytes *bytes, PyObject *value, int depth)
{
    int record = record_of(Py_TYPE(value));
    Py_ssize_t fields = record < 0 ? -1 : field_count(Py_TYPE(value));
    if (fields < 0 || !put_tag(bytes, 'r') || !bytes_number(bytes, (uint64_t)record) ||
        !bytes_number(bytes, (uint64_t)fields)) {
        return false;
    }
    for (Py_ssize_t i = 0; i < fields; i++) {
        PyObject *field = PyStructSequence_GET_ITEM(value, i);
        if (!value_encode(bytes, field == NULL ? Py_None : field, depth + 1)) {
            return false;
        }
    }
    return true;
}

/* A datetime as eight numbers, if reading it runs no code of the program. */
static bool put_moment(Bytes *bytes, PyObject *value)
{
    static const char *const FIELDS[] = {"year",   "month",  "day",         "hour",
                                         "minute", "second", "microsecond", "fold"};
    PyObject *zone = PyObject_GetAttrString(value, "tzinfo");
    bool known = zone != NULL && (zone == Py_None ||
                                  strcmp(Py_TYPE(zone)->tp_name, "datetime.timezone") == 0 ||
                                  strcmp(Py_TYPE(zone)->tp_name, "zoneinfo.ZoneInfo") == 0);
    Py_XDECREF(zone);
    bool done = known && put_tag(bytes, '(') && bytes_number(bytes, 8);
    for (int i = 0; i < 8 && done; i++) {
        PyObject *field = PyObject_GetAttrString(value, FIELDS[i]);
        done = field != NULL && value_encode(bytes, field, 1);
        Py_XDECREF(field);
    }
    return done;
}

static bool put_items(Bytes *bytes, char tag, PyObject *items, int depth)
{
    Py_ssize_t count = PySequence_Fast_GET_SIZE(items);
    bool done = put_tag(bytes, tag) && bytes_number(bytes, (uint64_t)count);
    for (Py_ssize_t i = 0; i < count && done; i++) {
        done = value_encode(bytes, PySequence_Fast_GET_ITEM(items, i), depth + 1);
    }
    return done;
}

/* The items of a set or dict, as a list. */
static bool put_unordered(Bytes *bytes, char tag, PyObject *items, int depth)
{
    bool done = items != NULL && put_items(bytes, tag, items, depth);
    Py_XDECREF(items);
    PyErr_Clear();
    return done;
}

/* Returns false without an exception if a journal cannot hold the value. */
bool value_encode(Bytes *bytes, PyObject *value, int depth)
{
    if (depth > DEEPEST) {
        return false;
    }
    if (value == Py_None || value == Py_True || value == Py_False) {
        return put_tag(bytes, value == Py_None ? 'n' : value == Py_True ? 't' : 'f');
    }
    if (PyLong_CheckExact(value)) {
        return put_integer(bytes, value);
    }
    if (PyFloat_CheckExact(value)) {
        double number = PyFloat_AS_DOUBLE(value);
        return put_tag(bytes, 'd') && bytes_put(bytes, &number, sizeof number);
    }
    if (PyUnicode_CheckExact(value)) {
        return put_text(bytes, 's', value);
    }
    if (PyBytes_CheckExact(value)) {
        return put_data(bytes, 'b', PyBytes_AS_STRING(value), (size_t)PyBytes_GET_SIZE(value));
    }
    if (PyTuple_CheckExact(value)) {
        return put_items(bytes, '(', value, depth);
    }
    if (PyList_CheckExact(value)) {
        return put_items(bytes, '[', value, depth);
    }
    if (PyAnySet_CheckExact(value) && !PyFrozenSet_CheckExact(value)) {
        return put_unordered(bytes, '{', PySequence_List(value), depth);
    }
    if (PyDict_CheckExact(value)) {
        return put_unordered(bytes, ':', PyDict_Items(value), depth);
    }
    if (strcmp(Py_TYPE(value)->tp_name, "datetime.datetime") == 0) {
        return put_moment(bytes, value);
    }
    return put_record(bytes, value, depth);
}

/* ---- decoding ---- */

static PyObject *unsound(void)
{
    PyErr_SetString(PyExc_ValueError, "the journal is damaged");
    return NULL;
}

static bool read_data(Reader *reader, const char **data, Py_ssize_t *length)
{
    uint64_t count;
    if (!read_number(reader, &count) || count > (uint64_t)(reader->end - reader->at)) {
        unsound();
        return false;
    }
    *data = (const char *)reader->at;
    *length = (Py_ssize_t)count;
    reader->at += count;
    return true;
}

static PyObject *items_decode(Reader *reader, char tag, int depth)
{
    uint64_t count;
    if (!read_number(reader, &count) || count > (uint64_t)(reader->end - reader->at)) {
        return unsound();
    }
    PyObject *items = tag != '(' ? PyList_New((Py_ssize_t)count) : PyTuple_New((Py_ssize_t)count);
    for (Py_ssize_t i = 0; items != NULL && i < (Py_ssize_t)count; i++) {
        PyObject *item = value_decode(reader, depth + 1);
        if (item == NULL) {
            Py_CLEAR(items);
        } else if (tag != '(') {
            PyList_SET_ITEM(items, i, item);
        } else {
            PyTuple_SET_ITEM(items, i, item);
        }
    }
    return items;
}

static PyObject *unordered_decode(Reader *reader, char tag, int depth)
{
    PyObject *items = items_decode(reader, tag, depth);
    PyObject *made = items == NULL ? NULL : tag == '{' ? PySet_New(items) : PyDict_New();
    if (made != NULL && tag == ':' && PyDict_MergeFromSeq2(made, items, 1) < 0) {
        Py_CLEAR(made);
    }
    Py_XDECREF(items);
    return made;
}

static PyTypeObject *record_type(uint64_t record)
{
    const char *dot = record < RECORD_COUNT ? strchr(RECORDS[record], '.') : NULL;
    if (dot == NULL) {
        return (PyTypeObject *)unsound();
    }
    char name[32] = {0};
    memcpy(name, RECORDS[record], (size_t)(dot - RECORDS[record]));
    PyObject *module = PyImport_ImportModule(name);
    PyObject *type = module == NULL ? NULL : PyObject_GetAttrString(module, dot + 1);
    Py_XDECREF(module);
    if (type != NULL && (!PyType_Check(type) || record_of((PyTypeObject *)type) < 0)) {
        Py_CLEAR(type);
        unsound();
    }
    return (PyTypeObject *)type;
}

static PyObject *record_decode(Reader *reader, int depth)
{
    uint64_t record, fields;
    if (!read_number(reader, &record) || !read_number(reader, &fields)) {
        return unsound();
    }
    PyTypeObject *type = record_type(record);
    PyObject *made = NULL;
    if (type != NULL && field_count(type) == (Py_ssize_t)fields) {
        made = PyStructSequence_New(type);
    } else if (type != NULL) {
        unsound();
    }
    Py_XDECREF(type);
    for (Py_ssize_t i = 0; made != NULL && i < (Py_ssize_t)fields; i++) {
        PyObject *field = value_decode(reader, depth + 1);
        if (field == NULL) {
            Py_CLEAR(made);
        } else {
            PyStructSequence_SET_ITEM(made, i, field);
        }
    }
    return made;
}

PyObject *value_decode(Reader *reader, int depth)
{
    const char *data;
    Py_ssize_t length;
    if (reader->at >= reader->end || depth > DEEPEST) {
        return unsound();
    }
    char tag = (char)*reader->at++;
    switch (tag) {
    case 'n':
        Py_RETURN_NONE;
    case 't':
        Py_RETURN_TRUE;
    case 'f':
        Py_RETURN_FALSE;
    case 'i': {
        uint64_t zigzag;
        if (!read_number(reader, &zigzag)) {
            return unsound();
        }
        return PyLong_FromLongLong((long long)((zigzag >> 1) ^ (~(zigzag & 1) + 1)));
    }
    case 'I': {
        if (!read_data(reader, &data, &length)) {
            return NULL;
        }
        PyObject *digits = PyUnicode_FromStringAndSize(data, length);
        PyObject *number = digits == NULL ? NULL : PyLong_FromUnicodeObject(digits, 16);
        Py_XDECREF(digits);
        return number;
    }
    case 'd': {
        double number;
        if (reader->end - reader->at < (ptrdiff_t)sizeof number) {
            return unsound();
        }
        memcpy(&number, reader->at, sizeof number);
        reader->at += sizeof number;
        return PyFloat_FromDouble(number);
    }
    case 's':
        return read_data(reader, &data, &length)
                   ? PyUnicode_DecodeUTF8(data, length, "surrogatepass")
                   : NULL;
    case 'b':
        return read_data(reader, &data, &length) ? PyBytes_FromStringAndSize(data, length) : NULL;
    case '(':
    case '[':
        return items_decode(reader, tag, depth);
    case '{':
    case ':':
        return unordered_decode(reader, tag, depth);
    case 'r':
        return record_decode(reader, depth);
    default:
        return unsound();
    }
}

/* ---- exceptions ----
 *
 * The name of the class, a builtin one or one of `socket`, and its arguments. An argument that is
 * also one of the call, such as a path, is encoded by its index: it may be any object. */

enum { ITSELF = 'a' };

static bool put_argument(Bytes *bytes, PyObject *value, PyObject *const *arguments,
                         Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        if (value == arguments[i] && value != Py_None) {
            return put_tag(bytes, ITSELF) && bytes_number(bytes, (uint64_t)i);
        }
    }
    size_t before = bytes->length;
    if (value_encode(bytes, value, 0)) {
        return true;
    }
    bytes->length = before;
    return put_tag(bytes, 'n');
}

static bool put_oserror(Bytes *bytes, PyObject *error, PyObject *const *arguments,
                        Py_ssize_t count)
{
    static const char *const NAMES[] = {"errno", "strerror", "filename", "filename2"};
    bool done = true;
    for (int i = 0; i < 4 && done; i++) {
        PyObject *part = PyObject_GetAttrString(error, NAMES[i]);
        done = part != NULL && put_argument(bytes, part, arguments, count);
        Py_XDECREF(part);
    }
    return done;
}

/* Encodes the exception that is set, and leaves it set. */
bool error_encode(Bytes *bytes, PyObject *const *arguments, Py_ssize_t count)
{
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    PyErr_NormalizeException(&type, &error, &traceback);
    const char *name = ((PyTypeObject *)type)->tp_name;
    bool done = false;
    if (error != NULL && put_data(bytes, 's', name, strlen(name))) {
        PyObject *number = NULL;
        if (PyObject_TypeCheck(error, (PyTypeObject *)PyExc_OSError)) {
            number = PyObject_GetAttrString(error, "errno");
        }
        if (number != NULL && number != Py_None) {
            done = put_tag(bytes, 'o') && put_oserror(bytes, error, arguments, count);
        } else {
            PyObject *given = PyObject_GetAttrString(error, "args");
            size_t before = bytes->length;
            done = given != NULL && value_encode(bytes, given, 0);
            if (!done) {
                bytes->length = before;
                done = put_tag(bytes, '(') && bytes_number(bytes, 0);
            }
            Py_XDECREF(given);
        }
        Py_XDECREF(number);
    }
    PyErr_Clear();
    PyErr_Restore(type, error, traceback);
    return done;
}

static PyObject *argument_decode(Reader *reader, PyObject *const *arguments, Py_ssize_t count)
{
    uint64_t place;
    if (reader->at < reader->end && *reader->at == ITSELF) {
        reader->at++;
        if (!read_number(reader, &place) || place >= (uint64_t)count) {
            return unsound();
        }
        Py_INCREF(arguments[place]);
        return arguments[place];
    }
    return value_decode(reader, 0);
}

static PyObject *error_class(PyObject *name)
{
    const char *text = PyUnicode_AsUTF8(name);
    if (text == NULL) {
        return NULL;
    }
    const char *module = "builtins";
    if (strncmp(text, "socket.", 7) == 0) {
        module = "_socket";
        text += 7;
    }
    PyObject *from = PyImport_ImportModule(module);
    PyObject *found = from == NULL ? NULL : PyObject_GetAttrString(from, text);
    Py_XDECREF(from);
    if (found != NULL && !PyExceptionClass_Check(found)) {
        Py_CLEAR(found);
        unsound();
    }
    return found;
}

/* Raises the exception that was encoded; false if it is damaged, with another exception set. */
bool error_decode(Reader *reader, PyObject *const *arguments, Py_ssize_t count)
{
    PyObject *name = value_decode(reader, 0), *parts = NULL;
    PyObject *kind = name == NULL || !PyUnicode_Check(name) ? NULL : error_class(name);
    if (kind != NULL && reader->at < reader->end && *reader->at == 'o') {
        reader->at++;
        PyObject *part[4] = {NULL};
        bool whole = true;
        for (int i = 0; i < 4 && whole; i++) {
            part[i] = argument_decode(reader, arguments, count);
            whole = part[i] != NULL;
        }
        if (whole) {
            parts = part[3] != Py_None   ? Py_BuildValue("OOOOO", part[0], part[1], part[2], Py_None,
                                                         part[3])
                    : part[2] != Py_None ? Py_BuildValue("OOO", part[0], part[1], part[2])
                                         : Py_BuildValue("OO", part[0], part[1]);
        }
        for (int i = 0; i < 4; i++) {
            Py_XDECREF(part[i]);
        }
    } else if (kind != NULL) {
        parts = value_decode(reader, 0);
    }
    PyObject *error = kind != NULL && parts != NULL && PyTuple_Check(parts)
                          ? PyObject_CallObject(kind, parts)
                          : NULL;
    if (error != NULL) {
        PyErr_SetObject(kind, error);
    } else if (!PyErr_Occurred()) {
        unsound();
    }
    bool done = error != NULL;
    Py_XDECREF(error);
    Py_XDECREF(parts);
    Py_XDECREF(kind);
    Py_XDECREF(name);
    return done;
}

/* ---- the digest of a request ---- */

static uint32_t mixed(uint32_t hash, const uint8_t *data, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ data[i]) * 16777619u;
    }
    return hash;
}

/* Covers the arguments that a journal can hold; of others only that they exist. */
uint32_t digest_of(PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    static Bytes scratch;
    uint32_t hash = 2166136261u;
    for (Py_ssize_t i = 0; i < count; i++) {
        scratch.length = 0;
        if (!value_encode(&scratch, arguments[i], 0)) {
            PyErr_Clear();
            scratch.length = 0;
            put_tag(&scratch, '?');
        }
        hash = mixed(hash, scratch.bytes, scratch.length);
    }
    if (names != NULL && PyTuple_Check(names)) {
        hash = (hash ^ (uint32_t)PyTuple_GET_SIZE(names)) * 16777619u;
    }
    return hash;
}
