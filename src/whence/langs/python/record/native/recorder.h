/* The parts of the recorder, and what they know of each other.
 *
 *   _recorder.c            the module that Python sees
 *   cpython/               the internals of CPython, and nothing else of them elsewhere
 *
 *   monitoring.c           events of sys.monitoring (3.12 and later)
 *   frame_evaluation.c     the evaluation of frames (3.11)
 *   caller_arguments.c     references that a caller gives up to its callee (3.11)
 *   profile_hook.c         events of the profile hook (3.11, deep in a recursion)
 *   interposition.c        interposed functions: processes that start and end
 *   output.c               what is printed
 *
 *   fast_path.h            calls and returns that need no look at anything else
 *   calls.c                how calls begin
 *   steps.c                how their steps end, and how generators resume
 *   inputs.c               the inputs of a call, and what changed of them
 *   globals.c              module variables
 *   activations.c          the running frames, and which calls are only counted
 *   generators.c           which call a suspended frame belongs to
 *   threads.c              the state of each thread, and who started it
 *   code.c                 the table of code: what belongs to the user, and what its inputs are
 *   names.c, types.c       the tables of names, variables and types
 *   pointer_map.c          maps from pointers
 *
 *   snapshot.c             values: atoms.c, containers.c, instances.c, visited_containers.c
 *   page.c                 bytes, pages and the file
 *   tail.c                 the page being filled, where a killed process leaves it
 *   lz4.c                  compression and checksum of a page
 *
 *   window.c               a recording of one call and what is below it
 *   freezing.c             calls whose effects are recorded, or replayed instead of making them
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
    TYPE_OBJECT,            /* seen through */
    TYPE_OPAQUE,            /* not, and has no attributes */
    TYPE_OPAQUE_ATTRIBUTES, /* not, and has some */
    TYPE_SUBCLASS,          /* of a builtin */
    TYPE_EXCEPTION,
    TYPE_SUMMARY,
};

typedef struct {
    Py_ssize_t offset;
    uint32_t name;
    bool none_is_nothing; /* Python code cannot tell them apart */
} SlotEntry;

typedef struct {
    PyTypeObject *type; /* borrowed: forgotten when the type is deallocated */
    uint32_t number;
    enum type_kind kind;
    bool user;
    bool has_dict;
    uint8_t builtin;    /* TYPE_SUBCLASS: which value its content is */
    bool unseen;        /* TYPE_SUBCLASS: it has more state, which nothing here can see */
    bool mutable_summary;
    uint32_t opaque;    /* TYPE_OPAQUE_ATTRIBUTES: number of the nearest base not seen through */
    uint32_t slot_count;
    Py_ssize_t row;     /* where its slots begin, if they stand in a row and NULL is nothing; or 0 */
    SlotEntry *slots;
    const void *keys;   /* the shared keys that key_names are of */
    uint32_t *key_names;
    Py_ssize_t key_count;
    PyObject *summary;
} TypeEntry;

typedef struct {
    uint32_t number;
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

static inline TypeCache *type_place(const PyTypeObject *type)
{
    uintptr_t address = (uintptr_t)type >> 4;
    return &type_cache[(address ^ address >> 10) & (TYPE_CACHE - 1)];
}

/* The same without ever running code: NULL if the type was not met yet. */
static inline TypeEntry *type_known(PyTypeObject *type)
{
    TypeCache *place = type_place(type);
    return likely(place->type == type) ? place->entry : type_lookup(type);
}
bool type_more_key_names(TypeEntry *entry, Py_ssize_t count);

/* Makes sure that the names of the first so many shared keys are known. */
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
/* Writes at most so many characters as UTF-8, surrogates included; returns the bytes (4 each). */
size_t encode_utf8(PyObject *text, Py_ssize_t characters, uint8_t *target);

/* ---- threads.c ---- */

enum activation_kind {
    RECORDED,
    ALIAS,   /* transparent code: its calls are those of the call in which it stands. What a
              * filter leaves out is counted, too */
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
    int32_t site;  /* index of the activation whose frame tells where its callees are called */
    uint32_t watches; /* where its watches begin in the thread's */
    uint8_t kind;
    uint8_t bound;
} Activation;

/* An input that may have changed or may be the outcome. The pointer is not a reference: it is
 * only compared with what the frame holds. */
typedef struct {
    PyObject *object;
    uint64_t hash;
    uint16_t input;
    bool compared; /* its content can change */
    bool sole;     /* nothing but the frame held it */
} Watch;

/* Where an input's encoding ends in the scratch, and its hash, if it was needed. */
typedef struct InputEncoding {
    size_t end;
    bool hashed;
    Hash hash;
} InputEncoding;

/* Where the calls of a thread that no recorded call of its own made belong. */
typedef struct {
    uint64_t call;
    uint64_t site;
    uint32_t depth;
    bool skipped;
} Origin;

typedef struct {
    uint32_t number;
    int suspended; /* whence's own code runs */
    Activation *stack;
    size_t count, capacity;
    Watch *watches;
    size_t watch_count, watch_capacity;
    Buffer scratch;  /* encodings of values, until their record is written */
    Buffer changes;  /* whole CHANGED and LOST entries, likewise */
    PyObject **seen; /* containers of the root being encoded */
    Map seen_places; /* where they stand there, counted from 1, once there are many */
    size_t seen_capacity;
    struct InputEncoding *ends; /* of each input of the call that begins */
    size_t ends_capacity;
    PyObject *unmade; /* the class of the exception in flight, if only its arguments exist */
    uint64_t raised_at; /* the place where it came up in the frame that it leaves */
    bool thrown_into; /* a generator goes on with an exception that is not known */
    const char *floor; /* of its C stack, for frame_evaluation.c */
    Origin origin;
    uint64_t generation; /* of the recording that it belongs to */
} Thread;

Thread *thread_new(void);
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
/* This thread is about to start another one. */
void thread_starts(void);
/* Drops activations whose frame is not among those that run. */
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

/* The same where the stack may hold frames that left unseen. */
Origin thread_top_now(Thread *thread);

/* While whence's own Python code runs on behalf of a callback. */
typedef struct {
    SavedException exception;
    PyThreadState *tstate;
    Thread *thread;
    int collecting;
} OwnCode;

/* Another one whenever code may have run since what was last seen of inputs: inputs.c. */
extern uint64_t moment;
OwnCode own_code_begin(Thread *thread);
void own_code_end(OwnCode *own);
/* Raises what a signal handler raised in our own code where the program goes on; clears all else. */
void pass_on_interrupt(void);

/* ---- code.c ---- */

enum { INPUT_PLAIN, INPUT_CELL, INPUT_FREE };
enum { MISSES = 16 }; /* so often in a row, the short way is no longer tried */

typedef struct {
    int32_t slot; /* in the frame's locals */
    uint8_t kind;
    bool rebound; /* the code assigns to it */
} Input;

typedef struct {
    PyObject *name;
    Variable *variable;
    PyObject *value; /* borrowed: what the namespace holds while its version stays */
    bool walked;     /* mutable: looked at each time */
} GlobalUse;

typedef struct {
    PyObject *dict; /* borrowed: NULL once it is gone */
    uint64_t version;
} Namespace;

/* A CALL: how deep the stack is below its arguments, and how many of them are given by name. */
typedef struct {
    int16_t depth, named;
} CallSite;

struct CodeEntry {
    PyCodeObject *code; /* the only strong reference that the recorder keeps */
    bool user, transparent, is_generator, is_coroutine, is_async_generator;
    bool counted; /* transparent, because a filter leaves it out */
    bool local_events;
    bool quick; /* a plain function with a few plain parameters: call_quickly */
    uint32_t number;
    uint32_t input_count;
    Input *inputs;
    uint64_t calls;
    uint64_t yields, returns; /* of a generator, counted as far as the first ones are told apart */
    uint32_t careful; /* how often its inputs could not be encoded in place */
    uint32_t missed;  /* how often in a row the short way was not open to it; MISSES: not tried */
    uint32_t quick_inputs; /* how many inputs are written on that way */
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

/* What is known of a code object; NULL only if there is no memory. */
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

/* From here on garbage is collected at fixed numbers of calls, by gc.collect. */
void collect_by_number(PyObject *function);
void collect_garbage(void);
/* Calls were counted and not made: what would have been collected in them is collected after. */
void collect_for_skipped(void);
/* Each time, it is written to this file how many calls there were. */
bool collecting_tells(const char *path);

/* ---- call_limits.c ---- */

/* The program is stopped, by this function, before so many calls or so deep ones. */
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

/* Before a recording: of all calls only this one (0: all of them), within a number of calls. */
void window_set(uint64_t wanted, uint64_t budget);
/* Whether it is recorded for the whole values of that call. */
bool window_is_whole(void);
/* How many calls come before the wanted one. */
uint64_t window_begins_after(void);
bool is_outside_window(Origin *parent);
void window_count(uint64_t call, uint32_t depth, Frame *frame);
void window_over(void);

/* Whether a call that begins is only counted because of the window. Changes its parent if it is the
 * wanted one: nothing above that is in the file. */
static inline bool outside_window(Origin *parent)
{
    return unlikely(recorder.window_wanted != 0) && is_outside_window(parent);
}

/* A call was recorded, in a frame that begins; NULL: it is a generator, which was only created. */
static inline void window_keeps(uint64_t call, uint32_t depth, Frame *frame)
{
    if (unlikely(recorder.window_wanted != 0)) {
        window_count(call, depth, frame);
    }
}

static inline void window_may_be_over(uint64_t ended)
{
    if (unlikely(ended != 0 && ended == recorder.window_call)) {
        window_over();
    }
}
/* What is called as it begins, in its frame, and once it has ended; None: nothing. */
void window_next(uint64_t wanted);
void window_tell(PyObject *entered, PyObject *over);

/* ---- freezing.c ---- */

/* Of the calls with these numbers, in ascending order, the first function is told as they begin,
 * the second as they end. False, with an error set, if that cannot be. */
bool freezing_set(PyObject *ordinals, PyObject *entered, PyObject *left);
uint64_t references_of(PyObject *objects);
void observe_call(Thread *thread, Frame *frame);
void observe_end(Thread *thread, PyObject *value);

/* A call has begun, and is on the stack. */
static inline void call_may_be_frozen(Thread *thread, Frame *frame)
{
    if (unlikely(calls_before() >= recorder.freeze_at)) {
        observe_call(thread, frame);
    }
}

/* A frame returns this value; NULL: it raises. */
static inline void observed_call_ends(Thread *thread, const Frame *frame, PyObject *value)
{
    if (unlikely(frame == recorder.observed_frame)) {
        observe_end(thread, value);
    }
}

/* ---- checkpoint.c ---- */

/* From here on a copy of the process is made by this function, the first after so many seconds. */
void checkpoints_set(PyObject *due, double seconds);
void look_for_checkpoint(Thread *thread);
void checkpoint_settle(void);
int checkpoint_fork(void);
int checkpoint_wake(void);
void checkpoint_sleep(int descriptor);
bool checkpoint_tell(int control, const void *message, size_t length, int descriptor);

/* ---- globals.c ---- */

bool globals_watch(bool on);
void globals_check(Thread *thread, Frame *frame, CodeEntry *code);
bool globals_settled(const Frame *frame, const CodeEntry *code);

/* ---- calls.c, steps.c ---- */

/* After a bound changed: up to which call the fast path is open. */
void quick_refresh(void);

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
/* Who created a generator that starts now; false if that is not known. */
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
uint64_t running_call(void);
/* Before `start`: where to tell of processes, and the name under which. False if it is too long. */
bool processes_told(const char *path, const char *name, bool child);

/* ---- monitoring.c, frame_evaluation.c, profile_hook.c ---- */

bool hook_start(void);
void hook_stop(void);
extern const char *const hook_name;

#if !HAS_MONITORING
void evaluation_try(void);
void take_arguments(Thread *thread, const Frame *frame, Frame *caller);
const char *evaluation_floor(void);
bool profile_start(void);
void profile_stop(void);
#endif

#pragma GCC visibility pop

#endif
