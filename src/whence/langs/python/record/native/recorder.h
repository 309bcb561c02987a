/* The parts of the recorder and their interfaces.
 *
 *   _recorder.c            the module that Python sees
 *   cpython/               the internals of CPython: no other file reads them
 *
 *   monitoring.c           events of sys.monitoring (3.12 and later)
 *   frame_evaluation.c     the evaluation of frames (3.11)
 *   caller_arguments.c     references that a caller gives up to its callee (3.11)
 *   profile_hook.c         events of the profile hook (3.11, deep in a recursion)
 *   interposition.c        interposed functions: processes that start and end
 *   output.c               what is printed
 *
 *   fast_path.h            calls and returns that take and return short atoms
 *   calls.c                the beginnings of calls
 *   steps.c                the ends of steps, the resumption of generators
 *   inputs.c               the inputs of a call, and their changes
 *   globals.c              module variables
 *   activations.c          the running frames, and which calls are only counted
 *   generators.c           which call a suspended frame belongs to
 *   threads.c              the state of each thread, and the call that started it
 *   code.c                 the table of code: which is the user's, where its inputs are
 *   names.c, types.c       the tables of names, variables and types
 *   pointer_map.c          maps from pointers
 *
 *   snapshot.c             values: atoms.c, containers.c, instances.c, visited_containers.c
 *   page.c                 bytes, pages and the file
 *   tail.c                 the page being filled, where a killed process leaves it
 *   lz4.c                  compression and checksum of a page
 *
 *   window.c               the window: one target call and the calls below it
 *   freezing.c             frozen calls: observed, or replaced by their recorded result
 *   garbage_collection.c   collections at fixed numbers of calls
 *   call_limits.c          programs that do not end
 *   checkpoint.c           sleeping forks of a re-run
 *
 * page.h and snapshot.h are the parts of this header for the file and for values; activations.h,
 * encoding.h, fast_path.h and inputs.h are for a few files each.
 *
 * All state is guarded by the GIL. Code that may release it (by running Python code, even whence's
 * own) does so before a record is begun and never in the middle of one. Nothing here raises, and
 * nothing holds a reference to an object of the program other than code objects and interned
 * names. */
#ifndef WHENCE_RECORDER_H
#define WHENCE_RECORDER_H

#include "cpython/cpython.h"

#pragma GCC visibility push(hidden)

#include "page.h"

/* ---- pointer_map.c, names.c, types.c ---- */

typedef struct {
    void **keys;
    void **values;
    size_t mask, count;
} Map;

void *map_get(const Map *map, const void *key);
bool map_put(Map *map, void *key, void *value);
void *map_remove(Map *map, const void *key);
void map_clear(Map *map);

enum type_kind {
    TYPE_MODULE,
    TYPE_OBJECT,            /* all of its state is readable */
    TYPE_OPAQUE,            /* not readable, without attributes */
    TYPE_OPAQUE_ATTRIBUTES, /* not readable, with attributes */
    TYPE_SUBCLASS,          /* of a builtin */
    TYPE_EXCEPTION,
    TYPE_SUMMARY,
};

typedef struct {
    Py_ssize_t offset;
    uint32_t name;
    bool none_is_unset; /* Python code cannot distinguish the two */
    bool after_items;   /* `offset` does not count the items, behind which it is */
} SlotEntry;

typedef struct {
    PyTypeObject *type; /* borrowed: forgotten when the type is deallocated */
    uint32_t number;
    enum type_kind kind;
    bool user;
    bool has_dict;
    uint8_t builtin;    /* TYPE_SUBCLASS: which value its content is */
    bool has_hidden_state;     /* TYPE_SUBCLASS: it has more state than can be read */
    bool mutable_summary, sized_summary;
    uint32_t opaque;    /* TYPE_OPAQUE_ATTRIBUTES: number of the nearest opaque base */
    uint32_t slot_count;
    Py_ssize_t row;     /* offset of its slots if they are contiguous, all at a fixed place, and NULL means unset; else 0 */
    SlotEntry *slots;
    const void *keys;   /* the shared keys that key_names are of */
    uint32_t *key_names;
    Py_ssize_t key_count;
    PyObject *summary;
} TypeEntry;

typedef struct {
    uint32_t number;
    uint8_t least; /* how long a text must be to be a secret in it; 0: it is none */
    bool known;
    uint64_t hash; /* of its last GLOBAL record's value */
} Variable;

void names_reset(void);
void types_reset(void);
uint32_t name_number(PyObject *text);
uint32_t name_number_of(const char *text, size_t count);
TypeEntry *type_entry(PyTypeObject *type); /* may run whence's own code for a new type */
TypeEntry *type_lookup(PyTypeObject *type);

typedef struct {
    PyTypeObject *type;
    TypeEntry *entry;
} TypeCache;

enum { TYPE_CACHE = 1024 };
extern TypeCache type_cache[TYPE_CACHE];

static inline TypeCache *type_cache_slot(const PyTypeObject *type)
{
    uintptr_t address = (uintptr_t)type >> 4;
    return &type_cache[(address ^ address >> 10) & (TYPE_CACHE - 1)];
}

/* Finds the entry of a type without running code; NULL if the type is new. */
static inline TypeEntry *type_find(PyTypeObject *type)
{
    TypeCache *slot = type_cache_slot(type);
    return likely(slot->type == type) ? slot->entry : type_lookup(type);
}
bool type_more_key_names(TypeEntry *entry, Py_ssize_t count);

/* Makes sure that the first `count` shared keys have numbered names. */
static inline bool type_key_names(TypeEntry *entry, Py_ssize_t count)
{
    const void *keys = shared_keys(entry->type);
    return likely(entry->keys == keys && entry->key_count >= count) ||
           type_more_key_names(entry, count);
}

Variable *variable_entry(uint32_t module, uint32_t name);
void user_module(uint32_t name);
bool is_user_module(uint32_t name);
void type_watch(bool on);
/* Writes the first characters of a text as UTF-8, surrogates included (at most 4 bytes each), and
 * returns the number of bytes. */
size_t encode_utf8(PyObject *text, Py_ssize_t characters, uint8_t *target);

/* ---- threads.c ---- */

enum activation_kind {
    RECORDED,
    ALIAS,   /* transparent code: its calls belong to the call around it. Calls that a filter
              * excludes are counted, too */
    SKIPPED, /* beyond a bound: counted only */
};

typedef struct Generator Generator;
typedef struct CodeEntry CodeEntry;

/* One frame that runs. */
typedef struct {
    uint64_t call;
    uint64_t skipped; /* calls below it in this step that were not recorded */
    Frame *frame;
    CodeEntry *code;
    Generator *generator;
    uint32_t depth;
    int32_t owner; /* index of the nearest RECORDED activation, itself included, or -1 */
    int32_t site;  /* index of the activation whose frame is the call site of its callees */
    uint32_t watches; /* index of its first watch in the thread's */
    uint8_t kind;
    uint8_t bound;
} Activation;

/* An input that may change or may be the outcome. The pointer is not a reference: it is only compared
 * with the frame's slot. */
typedef struct {
    PyObject *object;
    uint64_t hash;
    uint16_t input;
    bool compared; /* its content can change */
    bool sole;     /* the frame had the only reference */
} Watch;

/* The end of an input's encoding in the scratch buffer, and its hash if it was computed. */
typedef struct InputEncoding {
    size_t end;
    bool hashed;
    Hash hash;
} InputEncoding;

/* The caller of a thread's calls that have no recorded caller in the thread itself. */
typedef struct {
    uint64_t call;
    uint64_t site;
    uint32_t depth;
    bool skipped;
} Origin;

typedef struct Thread {
    uint32_t number;
    int suspended; /* > 0 while whence's own code runs */
    Activation *stack;
    size_t count, capacity;
    Watch *watches;
    size_t watch_count, watch_capacity;
    Buffer scratch;  /* encodings of values, until their record is written */
    Buffer changes;  /* whole CHANGED and LOST entries, likewise */
    PyObject **seen; /* containers of the root being encoded */
    Map seen_positions; /* their positions from 1 on, once there are many */
    size_t seen_capacity;
    struct InputEncoding *ends; /* of each input of the call that begins */
    size_t ends_capacity;
    PyObject *pending_class; /* class of the raised exception if it has no instance yet */
    uint64_t raised_at; /* place of the raise in the frame that it leaves */
    bool thrown_into; /* a generator resumes with an unknown exception */
    const char *floor; /* of its C stack, for frame_evaluation.c */
    Origin origin;
    uint64_t generation; /* of the recording that it belongs to */
    struct Thread *before, *after; /* in the list of all threads */
} Thread;

Thread *thread_new(void);
void threads_mark_code(void);
extern __thread Thread *thread_state __attribute__((tls_model("initial-exec")));
extern uint64_t recording_generation;

static inline Thread *this_thread(void)
{
    Thread *thread = thread_state;
    return likely(thread != NULL && thread->generation == recording_generation) ? thread
                                                                               : thread_new();
}

/* The state of this thread if its calls are recorded now. */
static inline Thread *recorded_thread(void)
{
    if (unlikely(!recorder.on)) {
        return NULL;
    }
    Thread *thread = this_thread();
    return likely(thread != NULL && !thread->suspended) ? thread : NULL;
}

bool threads_watch(void);
/* Remembers the running call as the starter of the next thread. */
void note_thread_start(void);
/* Drops activations whose frame no longer runs. */
void thread_sync(Thread *thread, const Frame *running);
/* The call to which a new call or thread belongs: the top of the stack, or the thread's origin. */
static inline Origin thread_top(const Thread *thread)
{
    if (thread->count == 0) {
        return thread->origin;
    }
    const Activation *top = &thread->stack[thread->count - 1];
    uint64_t site = top->site >= 0 ? frame_place(thread->stack[top->site].frame) : 0;
    return (Origin){top->call, site, top->depth, top->kind == SKIPPED};
}

/* The same, after frames that ended without an event were dropped. */
Origin thread_top_synced(Thread *thread);

/* While whence's own Python code runs on behalf of a callback. */
typedef struct {
    SavedException exception;
    PyThreadState *tstate;
    Thread *thread;
    int collecting;
} OwnCode;

/* Changes whenever code may have run since inputs were last compared: inputs.c. */
extern uint64_t moment;
OwnCode own_code_begin(Thread *thread);
void own_code_end(OwnCode *own);
/* Re-raises in the program what a signal handler raised in our own code; clears other exceptions. */
void pass_on_interrupt(void);

/* ---- code.c ---- */

enum { INPUT_PLAIN, INPUT_CELL, INPUT_FREE };
enum { MAX_FAST_MISSES = 16 }; /* in a row: then the fast path is no longer tried */

typedef struct {
    int32_t slot; /* in the frame's locals */
    uint8_t kind;
    uint8_t least; /* how long a text must be to be a secret under its name; 0: it is none */
    bool rebound;  /* the code assigns to it */
} Input;

typedef struct {
    PyObject *name;
    Variable *variable;
    PyObject *value; /* borrowed: valid while the namespace keeps its version */
    bool walked;     /* mutable: encoded each time */
} GlobalUse;

typedef struct {
    PyObject *dict; /* borrowed: NULL once it is deallocated */
    uint64_t version;
    uint64_t uses; /* entries of code that point here */
} Namespace;

/* A CALL: the depth of the stack below its arguments, and the number of keyword arguments. */
typedef struct {
    int16_t depth, named;
} CallSite;

struct CodeEntry {
    PyCodeObject *code; /* the only strong reference that the recorder keeps */
    bool user, transparent, is_generator, is_coroutine, is_async_generator;
    bool counted; /* transparent, because a filter excludes it */
    bool local_events;
    uint8_t least; /* how long a text must be to be a secret as its result; 0: it is none */
    bool fast; /* a plain function with few plain parameters: begin_call_fast */
    bool fast_open; /* its calls no longer have the bound of first calls */
    bool running; /* while unused entries are sought: an activation or a generator points here */
    uint32_t number;
    uint32_t input_count;
    Input *inputs;
    uint64_t calls;
    uint64_t yields, returns; /* of a generator, counted while they have the bound of first calls */
    uint32_t refusals; /* how often its inputs could not be encoded in the page */
    uint32_t fast_misses;  /* in a row; at MAX_FAST_MISSES the fast path is not tried */
    uint32_t fast_input_count; /* inputs that the fast path writes */
    uint32_t global_count;
    uint32_t walked_count;
    GlobalUse *globals;
    Namespace *space;
    PyObject *space_dict;
    uint64_t space_version;
#if !HAS_MONITORING
    CallSite *sites; /* for each unit of it: caller_arguments.c */
    bool sites_asked;
#endif
};

CodeEntry *code_describe(PyCodeObject *code, PyObject *namespace, Thread *thread);
void code_reset(void);
typedef struct {
    PyCodeObject *code;
    CodeEntry *entry;
} CodeCache;
enum { CODE_CACHE = 2048 };
extern CodeCache code_cache[CODE_CACHE];
extern Map code_map;

static inline size_t code_slot(const void *code)
{
    uintptr_t address = (uintptr_t)code >> 4;
    return (address ^ address >> 11) & (CODE_CACHE - 1);
}

/* Returns the entry of a code object; NULL only if there is no memory. */
static inline CodeEntry *code_entry(PyCodeObject *code, PyObject *namespace, Thread *thread)
{
    CodeCache *cached = &code_cache[code_slot(code)];
    return likely(cached->code == code) ? cached->entry : code_describe(code, namespace, thread);
}

static inline PyObject *input_value(const Frame *frame, const Input *input)
{
    return likely(input->kind == INPUT_PLAIN)
               ? frame_slot(frame, input->slot)
               : shared_variable(frame, input->slot, input->kind == INPUT_FREE);
}

#include "snapshot.h"

/* ---- garbage_collection.c ---- */

/* Starts collecting garbage at fixed numbers of calls, by gc.collect. */
void collect_by_number(PyObject *function);
void collect_garbage(void);
/* Collects, after calls that were counted but not made, what they would have collected. */
void collect_for_skipped(void);
/* Writes the number of calls to this file at each collection. */
bool report_collections_to(const char *path);

/* ---- call_limits.c ---- */

/* Calls this function before the program exceeds so many calls or so much depth. */
void limits_set(uint64_t calls, uint64_t depth, PyObject *function);
void limit_reached(Thread *thread, const char *what);

static inline void check_limits(Thread *thread, const Origin *parent)
{
    if (unlikely(calls_before() >= recorder.stop_calls)) {
        limit_reached(thread, "calls");
    }
    if (unlikely(parent->depth >= recorder.stop_depth)) {
        limit_reached(thread, "depth");
    }
}

/* ---- window.c ---- */

/* Before a recording: sets the target call (0: all calls are recorded) and the budget of calls. */
void window_set(uint64_t target, uint64_t budget);
/* Whether the target's values are recorded whole. */
bool window_is_whole(void);
/* The number of calls before the target. */
uint64_t calls_before_window(void);
bool begins_outside_window(Origin *parent);
void window_count_call(uint64_t call, uint32_t depth, Frame *frame);
void window_end(void);

/* Whether a call that begins is outside of the window, and so only counted. Clears the parent of the
 * target itself: no call above it is in the file. */
static inline bool check_window(Origin *parent)
{
    return unlikely(recorder.window_target != 0) && begins_outside_window(parent);
}

/* Counts a recorded call, in a frame that begins; NULL for a generator that is only created. */
static inline void window_count(uint64_t call, uint32_t depth, Frame *frame)
{
    if (unlikely(recorder.window_target != 0)) {
        window_count_call(call, depth, frame);
    }
}

static inline void check_window_end(uint64_t ended)
{
    if (unlikely(ended != 0 && ended == recorder.window_call)) {
        window_end();
    }
}
void window_next(uint64_t target);
/* Sets the hooks that are called in the target's frame when it begins, and after its end; or None. */
void window_set_hooks(PyObject *on_enter, PyObject *on_end);

/* ---- freezing.c ---- */

/* Sets the ordinals of the observed calls, ascending, and the hooks of their beginning and end. Returns
 * false with an exception set on failure. */
bool freezing_set(PyObject *ordinals, PyObject *on_enter, PyObject *on_exit);
uint64_t references_of(PyObject *objects);
void observe_call(Thread *thread, Frame *frame);
void observe_end(Thread *thread, PyObject *value);

/* Observes or replaces a call that has begun, if its ordinal is set. */
static inline void check_freezing(Thread *thread, Frame *frame)
{
    if (unlikely(calls_before() >= recorder.freeze_at)) {
        observe_call(thread, frame);
    }
}

/* Reports the end of an observed frame with its result; NULL if it raises. */
static inline void check_observed_end(Thread *thread, const Frame *frame, PyObject *value)
{
    if (unlikely(frame == recorder.observed_frame)) {
        observe_end(thread, value);
    }
}

/* ---- checkpoint.c ---- */

/* Sets the function that forks a checkpoint, and the seconds until the first. */
void checkpoints_set(PyObject *due, double seconds);
void check_checkpoint(Thread *thread);
void checkpoint_settle(void);
int checkpoint_fork(void);
int checkpoint_wake(void);
void checkpoint_sleep(int descriptor);
bool checkpoint_send(int control, const void *message, size_t length, int descriptor);

/* ---- globals.c ---- */

bool globals_watch(bool on);
void globals_check(Thread *thread, Frame *frame, CodeEntry *code);
void globals_forget(CodeEntry *code);
bool named_globals_settled(const Frame *frame, const CodeEntry *code);

/* Whether globals_check has nothing to do. Inlined, because most code names no variable. */
static inline bool globals_settled(const Frame *frame, const CodeEntry *code)
{
    return code->global_count == 0 || named_globals_settled(frame, code);
}

/* ---- calls.c, steps.c ---- */

/* Recomputes the last call that may take the fast path, after a bound changed. */
void update_fast_calls(void);

void call_resumed(Thread *thread, Frame *frame, CodeEntry *code, PyObject *thrown);
void call_yielded(Thread *thread, Frame *frame, PyObject *value);
void call_raised(Thread *thread, Frame *frame, PyObject *exception, PyObject *traceback);
void generator_created(Thread *thread, PyObject *generator, CodeEntry *code, const Origin *creator);
void generator_closed(Thread *thread, Generator *generator);
void write_note(const char *text, size_t count);
void write_end(int how, PyObject *value);

/* ---- generators.c ---- */

/* A generator, coroutine or asynchronous generator from its creation to its end. */
struct Generator {
    uint64_t call;
    uint64_t serial;
    CodeEntry *code;
    uint32_t depth;
    uint8_t kind;
    uint8_t bound;
    bool started;
    uint32_t watch_count;
    Watch *watches;
};

Generator *generator_of(const Frame *frame);
Generator *generator_add(Frame *frame, CodeEntry *code);
void generator_forget(const Frame *frame);
bool generators_watch(bool on);
#if !HAS_MONITORING
bool creations_watch(bool on);
#endif
void generators_reset(void);
void generators_mark_code(void);
/* Finds the call that created a generator; false if it is unknown. */
bool generator_creator(PyObject *generator, Origin *creator);

/* ---- interposition.c, output.c ---- */

enum { END_BY_EXIT = 2 };

/* A builtin function that is interposed. */
typedef struct {
    PyMethodDef *definition; /* NULL while it is not */
    PyCFunction original;
} Interposed;

bool interpose(Interposed *function, PyObject *object, int flags, PyCFunction replacement);
void restore_function(Interposed *function);
/* Whether this process, and this interpreter in it, is being recorded. */
bool is_recorded_here(void);
void interpose_all(void);
void restore_all(void);
void output_watch(bool on);
/* After `start`: calls the function before the program ends by os._exit, if it has one thread only:
 * no other one may continue meanwhile. */
void call_on_hard_exit(PyObject *function);
uint64_t running_call(void);
/* Before `start`: sets the file that lists started processes, and our name in it. Returns false if one
 * is too long. */
bool report_processes_to(const char *path, const char *name, bool child);

/* ---- child_environment.c ---- */
#define CHILD_VARIABLE "WHENCE_CHILD"
bool announce_to_children(const char *text, const char *folder);
bool announces_to_children(void);
bool is_announced_to(PyObject *path);
const char *announced_text(void);
char *paths_for_child(const char *paths);
PyObject *environment_for_fork_exec(PyObject *paths, PyObject *old);
PyObject *environment_for_spawn(PyObject *path, PyObject *old);
PyObject *program_on_path(PyObject *name);

/* ---- monitoring.c, frame_evaluation.c, profile_hook.c ---- */

bool hook_start(void);
void hook_stop(void);
extern const char *const hook_name;

#if !HAS_MONITORING
void evaluation_try(void);
void release_caller_references(Thread *thread, const Frame *frame, Frame *caller);
const char *evaluation_floor(void);
bool profile_start(void);
void profile_stop(void);
#endif

#pragma GCC visibility pop

#endif
