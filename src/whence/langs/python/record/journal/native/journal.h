/* The journal of what a program learns from the outside world; see ../__init__.py.
 *
 * `values.c` turns results into bytes and back, `entries.c` owns the file. `interposition.c` is
 * called in place of the interpreter's functions that reach the outside world. It passes the calls
 * (`interposed_calls.c`) to `writing.c`, `playing.c` or a handler in Python; `files.c` does so for
 * `FileIO` and `os.scandir`. `escapes.c` stops a re-run that would change something,
 * `_interposition.c` is the extension module.
 *
 * All state is guarded by the GIL. */
#ifndef WHENCE_JOURNAL_H
#define WHENCE_JOURNAL_H

#include "../../native/cpython/cpython.h"

#pragma GCC visibility push(hidden)

typedef struct {
    uint8_t *bytes;
    size_t length, capacity;
} Bytes;

typedef struct {
    const uint8_t *at, *end;
} Reader;

enum { OFF = 0, WRITING = 1, PLAYING = 2 };
enum { RETURNED = 1, RAISED = 2 };

typedef struct {
    int mode;
    int problem; /* errno of what ended the writing; 0: nothing did */
    uint64_t count; /* entries written or played */
    uint64_t passed; /* calls of functions that reach the outside world, noted or not */
    PyObject *kinds;  /* a tuple of names; an entry has the number of one */
    PyObject *diverged; /* called with (kind, arguments, recorded kind or None), never returns */
    PyObject *escaped;  /* called with (event, arguments) */
    long process; /* the process id that the program receives */
} Journal;

extern Journal journal;

/* values.c */
bool bytes_put(Bytes *bytes, const void *data, size_t length);
bool bytes_number(Bytes *bytes, uint64_t number);
bool read_number(Reader *reader, uint64_t *number);
bool value_encode(Bytes *bytes, PyObject *value, int depth);
PyObject *value_decode(Reader *reader, int depth);
bool error_encode(Bytes *bytes, PyObject *const *arguments, Py_ssize_t count);
bool error_decode(Reader *reader, PyObject *const *arguments, Py_ssize_t count);
uint32_t digest_of(PyObject *const *arguments, Py_ssize_t count, PyObject *names);

/* entries.c */
typedef struct {
    uint64_t kind;
    uint32_t digest;
    uint8_t how;
    Reader payload;
} Entry;

bool entries_open(int descriptor, PyObject *heading);
bool entry_write(uint64_t kind, uint32_t digest, uint8_t how, const Bytes *payload);
void entries_close(void);
PyObject *entries_load(const char *data, size_t length);
bool entry_peek(Entry *entry); /* the next one of this thread; false if there is none */
void entry_take(void);
uint64_t entries_left(void);
uint32_t thread_number(void);
uint32_t threads_known(void);
void thread_started(unsigned long ident);

/* interposed_calls.c, interposition.c, files.c, playing.c */
bool set_inside(bool is_inside); /* whether this thread runs our code; returns the old value */
void set_foreign(int descriptor, bool is_foreign);
PyObject *call_handler(PyObject *handler, PyObject *const *arguments, size_t count);
PyObject *interpose(PyObject *function, uint64_t kind, unsigned how, PyObject *handler);
PyObject *interpose_files(PyObject *file_type, PyObject *handler);
void interpose_scandir(PyObject *iterator, uint64_t kind);
PyObject *entry_play(uint64_t kind, uint32_t digest, PyObject *const *arguments,
                       Py_ssize_t count);

/* escapes.c */
PyObject *watch_escapes(PyObject *folder);

#pragma GCC visibility pop

#endif
