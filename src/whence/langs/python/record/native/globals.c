/* Module variables that a call names and that hold data: recorded when they change.
 *
 * A function names many module variables, and nearly all hold functions, classes or constants. So
 * values are looked up again only when the namespace has a new version (the dict's version tag up to
 * 3.12, a watcher's count from 3.13 on). In between only mutable values are encoded again. */
#include "recorder.h"

#include <errno.h>

static Map namespaces;

#if HAS_DICT_WATCHERS

static int watcher = -1;

static void free_unused(Namespace *space)
{
    if (space->dict == NULL && space->uses == 0) {
        PyMem_RawFree(space);
    }
}

static void use_namespace(CodeEntry *code, Namespace *space)
{
    Namespace *before = code->space;
    code->space = space;
    if (space != NULL) {
        space->uses++;
    }
    if (before != NULL) {
        before->uses--;
        free_unused(before);
    }
}

void globals_forget(CodeEntry *code) { use_namespace(code, NULL); }

static int namespace_changed(PyDict_WatchEvent event, PyObject *dict, PyObject *Py_UNUSED(key),
                             PyObject *Py_UNUSED(value))
{
    Namespace *space = map_get(&namespaces, dict);
    if (space != NULL) {
        space->version++;
        if (event == PyDict_EVENT_DEALLOCATED) {
            space->dict = NULL;
            map_remove(&namespaces, dict);
            free_unused(space);
        }
    }
    return 0;
}

bool globals_watch(bool on)
{
    if (on && watcher < 0) {
        watcher = PyDict_AddWatcher(namespace_changed);
        return watcher >= 0;
    }
    if (!on && watcher >= 0) {
        for (size_t i = 0; namespaces.keys != NULL && i <= namespaces.mask; i++) {
            if (namespaces.keys[i] != NULL) {
                PyDict_Unwatch(watcher, namespaces.keys[i]);
            }
        }
        PyDict_ClearWatcher(watcher);
        map_clear(&namespaces);
        watcher = -1;
    }
    return true;
}

static Namespace *namespace_of(PyObject *dict)
{
    Namespace *space = map_get(&namespaces, dict);
    if (space == NULL) {
        space = PyMem_RawCalloc(1, sizeof *space);
        if (space == NULL || !map_put(&namespaces, dict, space)) {
            PyMem_RawFree(space);
            recorder_fail(ENOMEM);
            return NULL;
        }
        space->dict = dict;
        space->version = 1;
        PyDict_Watch(watcher, dict);
    }
    return space;
}

static bool is_current(const CodeEntry *code, PyObject *dict)
{
    return code->space != NULL && code->space->dict == dict &&
           code->space->version == code->space_version;
}

/* Sets the code's version to that of the namespace, and returns whether it was the same already. */
static bool make_namespace_current(CodeEntry *code, PyObject *dict)
{
    if (code->space == NULL || code->space->dict != dict) {
        use_namespace(code, namespace_of(dict));
        code->space_version = 0;
    }
    uint64_t version = code->space != NULL ? code->space->version : 0;
    bool current = code->space_version == version;
    code->space_version = version;
    return current;
}

#else

void globals_forget(CodeEntry *Py_UNUSED(code)) {}

bool globals_watch(bool on)
{
    if (!on) {
        map_clear(&namespaces);
    }
    return true;
}

static bool is_current(const CodeEntry *code, PyObject *dict)
{
    return code->space_version == dict_version(dict);
}

static bool make_namespace_current(CodeEntry *code, PyObject *dict)
{
    /* Versions are unique among all dicts, so they also distinguish dicts. */
    uint64_t version = dict_version(dict);
    bool current = code->space_version == version;
    code->space_version = version;
    return current;
}

#endif

static bool is_data(PyObject *value)
{
    return value != NULL && !PyType_Check(value) && !PyFunction_Check(value) &&
           !PyCFunction_Check(value) && !PyModule_Check(value) && !is_lazy_import(value);
}

/* Writes the variable if it differs from its last record, and sets whether it is mutable. */
static void check_variable(Thread *thread, GlobalUse *use)
{
    Variable *variable = use->variable;
    use->walked = false;
    if (!variable->known && !is_data(use->value)) {
        return;
    }
    Snapshot snapshot;
    snapshot.held_count = 0;
    snapshot.least = variable->least;
    snapshot.foreign_opaque = true;
    snapshot.in_place = false;
    size_t start = thread->scratch.length;
    const Bound *bound = &recorder.bounds[window_is_whole() ? BOUND_WHOLE : BOUND_GLOBAL];
    if (!snapshot_root(&snapshot, thread, &thread->scratch, use->value, bound)) {
        recorder_fail(ENOMEM);
        return;
    }
    use->walked = snapshot.mutable;
    size_t count = thread->scratch.length - start;
    Hash hash = hash_bytes(thread->scratch.bytes + start, count);
    thread->scratch.length = start;
    if (variable->known && variable->hash == hash.a) {
        return;
    }
    variable->known = true;
    variable->hash = hash.a;
    if (record_begin(thread->number, 1 + 2 * NUMBER_SIZE + count)) {
        put_byte(&recorder.page, R_GLOBAL);
        put_number(&recorder.page, variable->number);
        put_root(&recorder.page, thread->scratch.bytes + start, count, &hash);
        record_end();
    }
}

/* Whether no variable holds a mutable value and the namespace still has the version that was read. */
bool named_globals_settled(const Frame *frame, const CodeEntry *code)
{
    return code->walked_count == 0 && frame_globals(frame) != NULL &&
           PyDict_CheckExact(frame_globals(frame)) && is_current(code, frame_globals(frame));
}

void globals_check(Thread *thread, Frame *frame, CodeEntry *code)
{
    PyObject *dict = frame_globals(frame);
    if (dict == NULL || !PyDict_CheckExact(dict)) {
        return;
    }
    if (likely(make_namespace_current(code, dict))) {
        /* A summary lets other threads run, which may rebind the variables that follow. */
        bool current = true;
        for (uint32_t i = 0; code->walked_count > 0 && current && i < code->global_count; i++) {
            if (code->globals[i].walked) {
                check_variable(thread, &code->globals[i]);
                code->globals[i].walked = true;
                current = is_current(code, dict);
            }
        }
        if (likely(current)) {
            return;
        }
        make_namespace_current(code, dict); /* the version that is looked up now */
    }
    code->walked_count = 0;
    for (uint32_t i = 0; i < code->global_count; i++) {
        GlobalUse *use = &code->globals[i];
        Py_hash_t hash = ((PyASCIIObject *)use->name)->hash;
        if (hash == -1) {
            hash = PyObject_Hash(use->name);
        }
        use->value = dict_get(dict, use->name, hash);
        check_variable(thread, use);
        code->walked_count += use->walked;
    }
    if (unlikely(!is_current(code, dict))) {
        code->space_version = 0; /* another thread ran, perhaps in another namespace: look up again */
    }
}
