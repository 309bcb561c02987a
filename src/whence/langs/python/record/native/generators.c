/* The table of generators: which call a suspended frame belongs to, from creation to end.
 *
 * A generator, coroutine or asynchronous generator is created by one call and run by others. Its
 * frame is stored inside it, so the frame's address identifies it while it lives.
 *
 * Creation, 3.12 and later: there is no event. Functions with such code get our vectorcall, which calls
 * the interpreter's and looks at the result. A function watcher finds new functions, a walk over the
 * collector's objects those that existed before. The interpreter bypasses a function's vectorcall only
 * if it is the default one.
 *
 * Creation, 3.11: the generator is the result of evaluating a frame (frame_evaluation.c). Under the
 * profile hook the object allocator is wrapped: for each block that is large enough it remembers the
 * call that allocated it last, and so a generator's address gives its creator.
 *
 * End: the deallocators of the three types are wrapped, because a generator that is dropped while
 * suspended need not run (3.13), and its address is reused. */
#include "recorder.h"

#include <errno.h>

static Map generators;
static uint64_t next_serial = 1;

Generator *generator_of(const Frame *frame) { return map_get(&generators, frame); }

static void generator_free(Generator *generator)
{
    PyMem_RawFree(generator->watches);
    PyMem_RawFree(generator);
}

Generator *generator_add(Frame *frame, CodeEntry *code)
{
    Generator *old = map_remove(&generators, frame);
    if (old != NULL) { /* it ended without an event */
        generator_closed(this_thread(), old);
        generator_free(old);
    }
    Generator *generator = PyMem_RawCalloc(1, sizeof *generator);
    if (generator == NULL || !map_put(&generators, frame, generator)) {
        PyMem_RawFree(generator);
        recorder_fail(ENOMEM);
        return NULL;
    }
    generator->code = code;
    generator->serial = next_serial++;
    return generator;
}

void generator_forget(const Frame *frame)
{
    Generator *generator = map_remove(&generators, frame);
    if (generator != NULL) {
        generator_free(generator);
    }
}

void generators_mark_code(void)
{
    for (size_t i = 0; generators.keys != NULL && i <= generators.mask; i++) {
        Generator *generator = generators.keys[i] != NULL ? generators.values[i] : NULL;
        if (generator != NULL && generator->code != NULL) {
            generator->code->running = true;
        }
    }
}

void generators_reset(void)
{
    for (size_t i = 0; generators.keys != NULL && i <= generators.mask; i++) {
        if (generators.keys[i] != NULL) {
            generator_free(generators.values[i]);
        }
    }
    map_clear(&generators);
}

/* ---- the end ---- */

static PyTypeObject *const kinds[] = {&PyGen_Type, &PyCoro_Type, &PyAsyncGen_Type};
static destructor deallocators[3];

/* All interpreters of the process share these types, and some may have a GIL of their own. */
static bool is_of_recorded_interpreter(void)
{
    return recorder.on && PyInterpreterState_Get() == PyInterpreterState_Main();
}

static void generator_dealloc(PyObject *self)
{
    Frame *frame = generator_frame(self);
    Generator *generator = is_of_recorded_interpreter() ? map_get(&generators, frame) : NULL;
    uint64_t serial = generator != NULL ? generator->serial : 0;
    bool ends = !may_be_resurrected(self);
    int kind = PyGen_CheckExact(self) ? 0 : PyCoro_CheckExact(self) ? 1 : 2;
    deallocators[kind](self);
    if (generator == NULL || !ends || !recorder.on) {
        return;
    }
    generator = map_get(&generators, frame);
    if (generator != NULL && generator->serial == serial) {
        Thread *thread = this_thread();
        if (thread != NULL) {
            generator_closed(thread, generator);
        }
        generator_forget(frame);
    }
}

static void watch_deallocations(bool on)
{
    for (int i = 0; i < 3; i++) {
        if (on && deallocators[i] == NULL) {
            deallocators[i] = kinds[i]->tp_dealloc;
            kinds[i]->tp_dealloc = generator_dealloc;
        }
        else if (!on && kinds[i]->tp_dealloc == generator_dealloc) {
            kinds[i]->tp_dealloc = deallocators[i];
            deallocators[i] = NULL;
        }
    }
}

/* ---- the creation ---- */

#if HAS_MONITORING

static int function_watcher = -1;
static vectorcallfunc usual_vectorcall; /* not exported by 3.13: taken from a new function */
static Map watched; /* functions that have our vectorcall, until they are deallocated */

static bool find_usual_vectorcall(void)
{
    PyObject *code = (PyObject *)PyCode_NewEmpty("<whence>", "usual", 1);
    PyObject *globals = PyDict_New();
    PyObject *function = code != NULL && globals != NULL ? PyFunction_New(code, globals) : NULL;
    if (function != NULL) {
        usual_vectorcall = ((PyFunctionObject *)function)->vectorcall;
    }
    Py_XDECREF(code);
    Py_XDECREF(globals);
    Py_XDECREF(function);
    return usual_vectorcall != NULL;
}

static bool makes_generators(PyObject *code)
{
    return PyCode_Check(code) && ((PyCodeObject *)code)->co_flags &
                                     (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR);
}

enum { EXTRA_C_FRAMES = 8 }; /* the most that one entry of the interpreter's loop counts */

static PyObject *watched_vectorcall(PyObject *function, PyObject *const *arguments, size_t count,
                                    PyObject *names)
{
    PyThreadState *tstate = PyThreadState_Get();
    /* Our vectorcall enters the interpreter's loop once more, which must not count. */
    lend_c_recursion(tstate, EXTRA_C_FRAMES);
    PyObject *result = usual_vectorcall(function, arguments, count, names);
    lend_c_recursion(tstate, -EXTRA_C_FRAMES);
    if (result != NULL && recorder.on && is_generator(result)) {
        Thread *thread = this_thread();
        Frame *frame = generator_frame(result);
        if (thread != NULL && !thread->suspended &&
            (PyObject *)frame_code(frame) == ((PyFunctionObject *)function)->func_code) {
            CodeEntry *code = code_entry(frame_code(frame), frame_globals(frame), thread);
            if (code != NULL && code->user) {
                generator_created(thread, result, code, NULL);
            }
        }
    }
    return result;
}

static void watch_function(PyFunctionObject *function, PyObject *code)
{
    Thread *thread = this_thread();
    if (thread == NULL || thread->suspended || function->vectorcall != usual_vectorcall) {
        return;
    }
    CodeEntry *entry = code_entry((PyCodeObject *)code, function->func_globals, thread);
    if (entry != NULL && entry->user) {
        if (!map_put(&watched, function, function)) {
            recorder_fail(ENOMEM);
            return;
        }
        PyFunction_SetVectorcall(function, watched_vectorcall);
        /* After this event a `def` gives its function the version of its code. */
        forget_code_version((PyCodeObject *)code);
    }
}

static int function_event(PyFunction_WatchEvent event, PyFunctionObject *function, PyObject *value)
{
    if (event == PyFunction_EVENT_DESTROY) {
        if (function->vectorcall == watched_vectorcall) {
            map_remove(&watched, function);
        }
        return 0;
    }
    if (!recorder.on) {
        return 0;
    }
    if (event == PyFunction_EVENT_CREATE && unlikely(makes_generators(function->func_code))) {
        watch_function(function, function->func_code);
    }
    else if (event == PyFunction_EVENT_MODIFY_CODE && value != NULL && makes_generators(value)) {
        watch_function(function, value);
    }
    return 0;
}

/* Functions are gathered first: describing their code may run Python code, which is not allowed while
 * the collector's lists are walked. */
typedef struct {
    PyObject **functions;
    size_t count, capacity;
} Gathered;

static int gather_function(PyObject *object, void *data)
{
    Gathered *gathered = data;
    if (!PyFunction_Check(object) || !makes_generators(((PyFunctionObject *)object)->func_code)) {
        return 1;
    }
    if (gathered->count == gathered->capacity) {
        size_t capacity = gathered->capacity ? gathered->capacity * 2 : 1024;
        PyObject **functions =
            PyMem_RawRealloc(gathered->functions, capacity * sizeof *functions);
        if (functions == NULL) {
            return 0;
        }
        gathered->functions = functions;
        gathered->capacity = capacity;
    }
    gathered->functions[gathered->count++] = Py_NewRef(object);
    return 1;
}

static void watch_existing_functions(void)
{
    Gathered gathered = {NULL, 0, 0};
    PyUnstable_GC_VisitObjects(gather_function, &gathered);
    for (size_t i = 0; i < gathered.count; i++) {
        PyFunctionObject *function = (PyFunctionObject *)gathered.functions[i];
        watch_function(function, function->func_code);
        Py_DECREF(function);
    }
    PyMem_RawFree(gathered.functions);
}

static void unwatch_functions(void)
{
    for (size_t i = 0; watched.keys != NULL && i <= watched.mask; i++) {
        if (watched.keys[i] != NULL) {
            PyFunction_SetVectorcall(watched.keys[i], usual_vectorcall);
        }
    }
    map_clear(&watched);
}

static bool watch_creations(bool on)
{
    if (!on) {
        unwatch_functions();
        if (function_watcher >= 0) {
            PyFunction_ClearWatcher(function_watcher);
            function_watcher = -1;
        }
        return true;
    }
    if (usual_vectorcall == NULL && !find_usual_vectorcall()) {
        return false;
    }
    /* First, because it reports deallocated functions. */
    function_watcher = PyFunction_AddWatcher(function_event);
    if (function_watcher < 0) {
        return false;
    }
    watch_existing_functions();
    return true;
}

bool generator_creator(PyObject *Py_UNUSED(generator), Origin *Py_UNUSED(creator)) { return false; }

#else

enum { BLOCKS = 1 << 16 };

typedef struct {
    const void *address;
    uint32_t thread;
    uint32_t depth;
    uint64_t site;
    uint64_t call;
    bool skipped;
} Block;

static Block *blocks;
static uint64_t blocks_generation; /* of the recording that filled them */
static PyMemAllocatorEx allocator, ours;
static size_t smallest_generator;
static bool installed; /* stays true if another tool has wrapped our allocator */

static size_t block_slot(const void *address)
{
    return (uintptr_t)address >> 4 & (BLOCKS - 1);
}

static void *watched_malloc(void *context, size_t size)
{
    void *block = allocator.malloc(context, size);
    if (unlikely(size >= smallest_generator) && block != NULL && recorder.on) {
        Thread *thread = thread_state;
        if (thread != NULL && thread->generation == recording_generation) {
            Origin top = thread_top_synced(thread);
            blocks[block_slot(block)] =
                (Block){block, thread->number, top.depth, top.site, top.call, top.skipped};
        }
    }
    return block;
}

bool creations_watch(bool on)
{
    if (on) {
        if (blocks == NULL) {
            blocks = PyMem_RawMalloc(BLOCKS * sizeof *blocks);
            if (blocks == NULL) {
                PyErr_NoMemory();
                return false;
            }
        }
        if (blocks_generation != recording_generation) {
            blocks_generation = recording_generation;
            memset(blocks, 0, BLOCKS * sizeof *blocks);
        }
        smallest_generator = (size_t)PyGen_Type.tp_basicsize + collector_header();
        if (installed) {
            return true;
        }
        installed = true;
        PyMem_GetAllocator(PYMEM_DOMAIN_OBJ, &allocator);
        ours = allocator; /* all functions but malloc stay */
        ours.malloc = watched_malloc;
        PyMem_SetAllocator(PYMEM_DOMAIN_OBJ, &ours);
        return true;
    }
    PyMemAllocatorEx now = {NULL, NULL, NULL, NULL, NULL};
    PyMem_GetAllocator(PYMEM_DOMAIN_OBJ, &now);
    if (now.malloc == watched_malloc) {
        PyMem_SetAllocator(PYMEM_DOMAIN_OBJ, &allocator);
        installed = false;
    }
    return true;
}

bool generator_creator(PyObject *generator, Origin *creator)
{
    const void *address = (const char *)generator - collector_header();
    if (blocks == NULL || blocks_generation != recording_generation) {
        return false;
    }
    const Block *block = &blocks[block_slot(address)];
    if (block->address != address) {
        return false;
    }
    *creator = (Origin){block->call, block->site, block->depth, block->skipped};
    return true;
}

#endif

bool generators_watch(bool on)
{
    watch_deallocations(on);
#if HAS_MONITORING
    return watch_creations(on);
#else
    return true; /* frame_evaluation.c and profile_hook.c handle creation */
#endif
}
