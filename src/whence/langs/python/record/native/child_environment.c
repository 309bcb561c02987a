/* The environment of a new Python: it says that the process is to be recorded.
 *
 * It is added to the environment that the new process gets, not to the one of this process, and only
 * if the program that is started is a Python. So neither the recorded program nor other programs that
 * it starts can see it. The new Python takes it out of its environment again
 * (`startup/sitecustomize.py`).
 *
 * Invariant: whatever cannot be decided or built here leaves the arguments as they are. */
#include "recorder.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

static const char variable[] = CHILD_VARIABLE "=";
static const char path_variable[] = "PYTHONPATH=";

static char *announcement; /* `WHENCE_CHILD=…`; NULL: new processes are not told of the recording */
static char *startup;      /* the folder that goes to the front of PYTHONPATH */

bool announce_to_children(const char *text, const char *folder)
{
    free(announcement);
    free(startup);
    announcement = startup = NULL;
    if (text[0] == '\0') {
        return true;
    }
    announcement = malloc(sizeof variable + strlen(text));
    startup = strdup(folder);
    if (announcement == NULL || startup == NULL) {
        free(announcement);
        announcement = NULL;
        return false;
    }
    strcpy(announcement, variable);
    strcat(announcement, text);
    return true;
}

bool announces_to_children(void) { return announcement != NULL; }

const char *announced_text(void) { return announcement + sizeof variable - 1; }

/* The PYTHONPATH of a child, which the caller frees; NULL if there is no memory.
 *
 * An empty PYTHONPATH names no folder, but an empty entry in it the current one: then the folder ends
 * in a slash, by which the child knows what to restore. */
char *paths_for_child(const char *paths)
{
    size_t size = strlen(startup) + (paths == NULL ? 0 : strlen(paths)) + 2;
    char *text = malloc(size);
    if (text != NULL) {
        const char *mark = paths == NULL ? "" : paths[0] == '\0' ? "/" : ":";
        snprintf(text, size, "%s%s%s", startup, mark, paths == NULL ? "" : paths);
    }
    return text;
}

/* ---- which program is started ---- */

/* Whether a name is that of a Python 3: `python`, `python3`, `python3.12`. */
static bool names_python(const char *path)
{
    const char *name = strrchr(path, '/');
    name = name == NULL ? path : name + 1;
    if (strncmp(name, "python", 6) != 0) {
        return false;
    }
    name += 6;
    return *name == '\0' || (name[0] == '3' && strspn(name, "0123456789.td") == strlen(name));
}

/* Whether a file is a script that a Python is to run. */
static bool is_python_script(const char *path)
{
    char start[256];
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        return false;
    }
    ssize_t count = read(file, start, sizeof start - 1);
    close(file);
    if (count < 3 || start[0] != '#' || start[1] != '!') {
        return false;
    }
    start[count] = '\0';
    start[strcspn(start, "\n")] = '\0';
    char *rest = NULL;
    for (char *word = strtok_r(start + 2, " \t", &rest); word != NULL;
         word = strtok_r(NULL, " \t", &rest)) {
        if (names_python(word)) {
            return true;
        }
    }
    return false;
}

static bool is_python(const char *path)
{
    return access(path, X_OK) == 0 && (names_python(path) || is_python_script(path));
}

/* Whether the first of these paths that can be executed is a Python. */
static bool starts_python(PyObject *paths)
{
    if (!PyTuple_CheckExact(paths) && !PyList_CheckExact(paths)) {
        return false;
    }
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(paths); i++) {
        PyObject *path = PySequence_Fast_GET_ITEM(paths, i);
        if (!PyBytes_CheckExact(path)) {
            return false;
        }
        if (access(PyBytes_AS_STRING(path), X_OK) == 0) {
            return is_python(PyBytes_AS_STRING(path));
        }
    }
    return false;
}

/* The file that posix_spawnp starts for a name: new bytes, or NULL without an exception if none is
 * found. It looks at the PATH of this process, whatever the environment of the new one. */
PyObject *program_on_path(PyObject *name)
{
    PyObject *file = NULL;
    if (!(PyUnicode_CheckExact(name) || PyBytes_CheckExact(name)) ||
        !PyUnicode_FSConverter(name, &file)) {
        PyErr_Clear();
        return NULL;
    }
    const char *text = PyBytes_AS_STRING(file), *folder = getenv("PATH");
    if (strchr(text, '/') != NULL || text[0] == '\0' || folder == NULL) {
        return file;
    }
    PyObject *found = NULL;
    while (found == NULL) {
        size_t length = strcspn(folder, ":");
        found = length == 0 ? PyBytes_FromString(".")
                            : PyBytes_FromStringAndSize(folder, (Py_ssize_t)length);
        PyBytes_ConcatAndDel(&found, PyBytes_FromFormat("/%s", text));
        if (found == NULL || access(PyBytes_AS_STRING(found), X_OK) == 0 ||
            folder[length] == '\0') {
            break;
        }
        Py_CLEAR(found);
        folder += length + 1;
    }
    PyErr_Clear();
    Py_DECREF(file);
    return found;
}

/* ---- an environment as a list of `NAME=VALUE`, for fork_exec ---- */

static bool append_text(PyObject *list, const char *text)
{
    PyObject *entry = PyBytes_FromString(text);
    bool done = entry != NULL && PyList_Append(list, entry) == 0;
    Py_XDECREF(entry);
    return done;
}

static bool is_of(const char *entry, const char *name) { return strncmp(entry, name, strlen(name)) == 0; }

static bool append_path(PyObject *list, const char *paths)
{
    char *all = paths_for_child(paths);
    PyObject *entry = all == NULL ? NULL : PyBytes_FromFormat("%s%s", path_variable, all);
    bool done = entry != NULL && PyList_Append(list, entry) == 0;
    Py_XDECREF(entry);
    free(all);
    return done;
}

/* An entry of the old environment. PYTHONPATH keeps its place, which the program can see. */
static bool append_entry(PyObject *list, const char *entry, bool *has_path)
{
    if (is_of(entry, path_variable) && !*has_path) {
        *has_path = true;
        return append_path(list, entry + sizeof path_variable - 1);
    }
    return is_of(entry, variable) || append_text(list, entry);
}

static PyObject *environment_list(PyObject *old)
{
    PyObject *list = PyList_New(0);
    bool has_path = false, sound = list != NULL;
    if (old == Py_None) {
        for (char **entry = environ; sound && entry != NULL && *entry != NULL; entry++) {
            sound = append_entry(list, *entry, &has_path);
        }
    }
    else if (PyList_CheckExact(old)) {
        for (Py_ssize_t i = 0; sound && i < PyList_GET_SIZE(old); i++) {
            PyObject *entry = PyList_GET_ITEM(old, i);
            sound = PyBytes_CheckExact(entry) && append_entry(list, PyBytes_AS_STRING(entry), &has_path);
        }
    }
    else {
        sound = false;
    }
    if (!sound || !(has_path || append_path(list, NULL)) || !append_text(list, announcement)) {
        PyErr_Clear();
        Py_CLEAR(list);
    }
    return list;
}

/* The environment for `_posixsubprocess.fork_exec`: a new reference, or NULL to leave it. */
PyObject *environment_for_fork_exec(PyObject *paths, PyObject *old)
{
    if (announcement == NULL || !starts_python(paths)) {
        return NULL;
    }
    return environment_list(old);
}

/* ---- an environment as a dict, for posix_spawn and execve ---- */

/* Adds a variable; of a name that is there twice, the first value counts. */
static bool add_variable(PyObject *dict, PyObject *name, PyObject *value)
{
    return PyDict_SetDefault(dict, name, value) != NULL;
}

static bool add_text(PyObject *dict, const char *name, const char *text)
{
    PyObject *key = PyBytes_FromString(name), *value = text == NULL ? NULL : PyBytes_FromString(text);
    bool done = key != NULL && value != NULL && add_variable(dict, key, value);
    Py_XDECREF(key);
    Py_XDECREF(value);
    return done;
}

static bool add_path(PyObject *dict, const char *paths)
{
    char *all = paths_for_child(paths);
    bool done = add_text(dict, "PYTHONPATH", all);
    free(all);
    return done;
}

/* A variable of the old environment. PYTHONPATH keeps its place, which the program can see. */
static bool copy_variable(PyObject *dict, PyObject *name, PyObject *value)
{
    if (strcmp(PyBytes_AS_STRING(name), "PYTHONPATH") == 0) {
        return add_path(dict, PyBytes_AS_STRING(value));
    }
    return strcmp(PyBytes_AS_STRING(name), CHILD_VARIABLE) == 0 || add_variable(dict, name, value);
}

/* The environment of this process; false if it has an entry without a name, which no dict can have. */
static bool copy_own_environment(PyObject *dict)
{
    bool sound = true;
    for (char **entry = environ; sound && entry != NULL && *entry != NULL; entry++) {
        const char *sign = strchr(*entry, '=');
        if (sign == NULL || sign == *entry) {
            return false;
        }
        PyObject *name = PyBytes_FromStringAndSize(*entry, sign - *entry);
        PyObject *value = PyBytes_FromString(sign + 1);
        sound = name != NULL && value != NULL && copy_variable(dict, name, value);
        Py_XDECREF(name);
        Py_XDECREF(value);
    }
    return sound;
}

/* The environment that `os.environ` or a dict holds, with names as bytes. */
static bool copy_environment(PyObject *dict, PyObject *old)
{
    PyObject *source = strcmp(Py_TYPE(old)->tp_name, "_Environ") == 0
                           ? PyObject_GetAttrString(old, "_data")
                           : Py_NewRef(old);
    PyObject *key, *value;
    Py_ssize_t place = 0;
    bool sound = source != NULL && PyDict_CheckExact(source);
    while (sound && PyDict_Next(source, &place, &key, &value)) {
        PyObject *name = NULL, *text = NULL;
        sound = PyUnicode_FSConverter(key, &name) && PyUnicode_FSConverter(value, &text) &&
                copy_variable(dict, name, text);
        Py_XDECREF(name);
        Py_XDECREF(text);
    }
    Py_XDECREF(source);
    return sound;
}

static PyObject *environment_dict(PyObject *old)
{
    PyObject *dict = PyDict_New();
    bool sound = dict != NULL &&
                 (old == Py_None ? copy_own_environment(dict) : copy_environment(dict, old)) &&
                 add_path(dict, NULL) && /* unless it is there */
                 add_text(dict, CHILD_VARIABLE, announced_text());
    if (!sound) {
        PyErr_Clear();
        Py_CLEAR(dict);
    }
    return dict;
}

/* Only plain texts and bytes: nothing of the program's is run. */
static bool has_plain_entries(PyObject *dict)
{
    PyObject *key, *value;
    Py_ssize_t place = 0;
    while (PyDict_Next(dict, &place, &key, &value)) {
        bool plain = (PyUnicode_CheckExact(key) || PyBytes_CheckExact(key)) &&
                     (PyUnicode_CheckExact(value) || PyBytes_CheckExact(value));
        if (!plain) {
            return false;
        }
    }
    return true;
}

/* Whether the program that a path names is a Python, which is to be told of the recording. */
bool is_announced_to(PyObject *path)
{
    if (announcement == NULL || !(PyUnicode_CheckExact(path) || PyBytes_CheckExact(path))) {
        return false;
    }
    PyObject *name = NULL;
    if (!PyUnicode_FSConverter(path, &name)) {
        PyErr_Clear();
        return false;
    }
    bool python = is_python(PyBytes_AS_STRING(name));
    Py_DECREF(name);
    return python;
}

/* The environment for `os.posix_spawn` and `os.execve`: a new reference, or NULL to leave it. None
 * stands for the environment of this process. */
PyObject *environment_for_spawn(PyObject *path, PyObject *old)
{
    if (!is_announced_to(path) || (PyDict_CheckExact(old) && !has_plain_entries(old))) {
        return NULL;
    }
    return environment_dict(old);
}
