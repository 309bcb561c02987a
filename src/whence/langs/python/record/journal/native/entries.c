/* The entries of a journal: written to a file that is mapped into memory, so that they are there
 * however the process ends; or read from one, each thread its own in their order.
 *
 * A write to a mapped file kills the process if the disk is full. So the room is allocated first;
 * where that fails, entries are written with a system call each. If that fails, too, the journal
 * ends, the program goes on, and the heading gets the reason: its last four characters before "}"
 * are the number of the error.
 *
 * A file: a line of JSON, then entries: number of the kind + 1, thread, digest of the arguments
 * (4 bytes), how it ended (1 byte), length and bytes of the value. A kind of 0 is the end.
 *
 * Threads are numbered in the order of their starts. Their interleaving may differ in a re-run, but
 * each thread finds its own entries in order. */
#include "journal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/vfs.h>
#endif

Journal journal;

enum { STEP = 1 << 20, MOST_THREADS = 1 << 20 };
#define MOST_BYTES ((size_t)2 << 30) /* a program that runs for hours must not fill the disk */

enum { ERROR_DIGITS = 4, AFTER_ERROR = 2 /* "}" and the end of the line */ };

static struct {
    int descriptor;
    dev_t device;
    ino_t inode;
    uint8_t *memory; /* NULL if nothing is mapped: then entries are written by system calls */
    size_t start, length, capacity; /* of the part that is mapped: `start` is where it begins */
    uint8_t *heading;               /* the first page, to which a reason can always be written */
    size_t heading_length;
} file = {.descriptor = -1};

static size_t page_size(void) { return (size_t)sysconf(_SC_PAGESIZE); }

/* The program may close our descriptor and open another file with the same number. */
static bool is_our_file(void)
{
    struct stat now;
    if (fstat(file.descriptor, &now) == 0 && now.st_dev == file.device &&
        now.st_ino == file.inode) {
        return true;
    }
    errno = EBADF;
    return false;
}

static void unmap_file(void)
{
    if (file.memory != NULL) {
        munmap(file.memory, file.capacity);
        file.memory = NULL;
        file.start += file.length;
        file.length = 0;
    }
}

/* Allocates room, so that no write to the mapped file can fail. Only on file systems that write to
 * allocated blocks in place. */
static bool reserve(size_t start, size_t length)
{
#ifdef __linux__
    struct statfs about;
    if (fstatfs(file.descriptor, &about) != 0) {
        return false;
    }
    switch ((uint32_t)about.f_type) {
    case 0xEF53:     /* ext2 to ext4 */
    case 0x58465342: /* XFS */
    case 0x01021994: /* tmpfs */
    case 0x794C7630: /* overlayfs, on one of these */
        return fallocate(file.descriptor, 0, (off_t)start, (off_t)length) == 0;
    default:
        return false;
    }
#else
    (void)start, (void)length;
    return false;
#endif
}

/* Maps the part of the file behind what is written, if there is room for it. */
static void map_file(size_t room)
{
    unmap_file();
    size_t written = file.start + file.length;
    size_t start = written / page_size() * page_size();
    size_t capacity = (written - start + room + STEP) / page_size() * page_size() + page_size();
    if (!is_our_file()) {
        return;
    }
    void *memory = MAP_FAILED;
    if (reserve(start, capacity)) {
        memory = mmap(NULL, capacity, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor,
                      (off_t)start);
    }
    if (memory == MAP_FAILED) {
        if (ftruncate(file.descriptor, (off_t)written) != 0) {
            /* The file then ends with zeros, which also mean the end. */
        }
        return;
    }
    file.memory = memory;
    file.start = start;
    file.length = written - start;
    file.capacity = capacity;
}

static bool write_at_end(const uint8_t *bytes, size_t count)
{
    size_t at = file.start + file.length;
    if (!is_our_file()) {
        return false;
    }
    while (count > 0) {
        ssize_t written = pwrite(file.descriptor, bytes, count, (off_t)at);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            int error = written < 0 ? errno : EIO;
            if (ftruncate(file.descriptor, (off_t)(file.start + file.length)) != 0) {
                /* Then a part of an entry stays at the end, which readers ignore. */
            }
            errno = error;
            return false;
        }
        at += (size_t)written;
        bytes += written;
        count -= (size_t)written;
    }
    file.length = at - file.start;
    return true;
}

/* Ends the journal: what follows is not noted, and the heading says why. */
static void stop_writing(int error)
{
    journal.mode = OFF;
    journal.problem = error;
    if (file.heading != NULL) {
        char text[16];
        snprintf(text, sizeof text, "%*d", ERROR_DIGITS, error);
        memcpy(file.heading + file.heading_length - AFTER_ERROR - ERROR_DIGITS, text, ERROR_DIGITS);
    }
}

/* A forked child shares the memory and must not write to it. */
static void forked(void)
{
    if (journal.mode == WRITING) {
        journal.mode = OFF;
    }
    file.descriptor = -1;
    file.memory = file.heading = NULL;
}

bool entries_open(int descriptor, PyObject *heading)
{
    pthread_atfork(NULL, NULL, forked);
    file.descriptor = descriptor;
    file.start = file.length = 0;
    file.heading_length = (size_t)PyBytes_GET_SIZE(heading);
    struct stat about;
    if (fstat(descriptor, &about) != 0) {
        return false;
    }
    file.device = about.st_dev;
    file.inode = about.st_ino;
    if (!write_at_end((const uint8_t *)PyBytes_AS_STRING(heading), file.heading_length)) {
        return false;
    }
    size_t length = (file.heading_length / page_size() + 1) * page_size();
    void *memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    file.heading = memory == MAP_FAILED ? NULL : memory;
    map_file(0);
    return true;
}

bool entry_write(uint64_t kind, uint32_t digest, uint8_t how, const Bytes *payload)
{
    if (file.descriptor < 0 || journal.problem != 0) {
        return false;
    }
    errno = 0;
    if (file.start + file.length > MOST_BYTES) {
        stop_writing(EFBIG);
        return false;
    }
    Bytes head = {0};
    bool done = bytes_number(&head, kind + 1) && bytes_number(&head, thread_number()) &&
                bytes_put(&head, &digest, sizeof digest) && bytes_put(&head, &how, 1) &&
                bytes_number(&head, payload->length);
    size_t needed = head.length + payload->length;
    if (done && file.memory != NULL && file.length + needed + 1 > file.capacity) {
        map_file(needed + 1);
    }
    if (done && file.memory == NULL) {
        done = bytes_put(&head, payload->bytes, payload->length) &&
               write_at_end(head.bytes, head.length);
        journal.count += done;
    }
    else if (done) {
        /* The first byte last: a process that is killed in between leaves an end there. */
        uint8_t *place = file.memory + file.length;
        memcpy(place + 1, head.bytes + 1, head.length - 1);
        if (payload->length > 0) {
            memcpy(place + head.length, payload->bytes, payload->length);
        }
        place[0] = head.bytes[0];
        file.length += needed;
        journal.count++;
    }
    if (!done) {
        stop_writing(errno != 0 ? errno : ENOMEM);
    }
    free(head.bytes);
    return done;
}

void entries_close(void)
{
    if (file.memory != NULL) {
        unmap_file();
        if (is_our_file() && ftruncate(file.descriptor, (off_t)file.start) != 0) {
            /* The file then ends with zeros, which also mean the end. */
        }
    }
}

/* ---- reading ---- */

typedef struct {
    Entry *entries;
    size_t count, capacity, next;
} Queue;

static Queue *queues;
static size_t queue_count;

static Queue *queue_of(uint64_t thread)
{
    if (thread >= queue_count) {
        size_t wanted = (size_t)thread + 16;
        Queue *grown = realloc(queues, wanted * sizeof(Queue));
        if (grown == NULL) {
            return NULL;
        }
        memset(grown + queue_count, 0, (wanted - queue_count) * sizeof(Queue));
        queues = grown;
        queue_count = wanted;
    }
    return &queues[thread];
}

static bool queue_add(Queue *queue, Entry entry)
{
    if (queue->count == queue->capacity) {
        size_t wanted = queue->capacity * 2 + 64;
        Entry *grown = realloc(queue->entries, wanted * sizeof(Entry));
        if (grown == NULL) {
            return false;
        }
        queue->entries = grown;
        queue->capacity = wanted;
    }
    queue->entries[queue->count++] = entry;
    return true;
}

/* Indexes the entries in the data, which must stay in memory, in place of earlier ones. */
PyObject *entries_load(const char *data, size_t length)
{
    for (size_t i = 0; i < queue_count; i++) {
        queues[i].count = queues[i].next = 0;
    }
    Reader reader = {(const uint8_t *)data, (const uint8_t *)data + length};
    while (reader.at < reader.end && *reader.at != 0) {
        Entry entry;
        uint64_t kind, thread, size;
        if (!read_number(&reader, &kind) || !read_number(&reader, &thread) ||
            reader.end - reader.at < 5 || thread >= MOST_THREADS) {
            break; /* It is damaged from here on. */
        }
        memcpy(&entry.digest, reader.at, 4);
        entry.how = reader.at[4];
        reader.at += 5;
        if (!read_number(&reader, &size) || size > (uint64_t)(reader.end - reader.at)) {
            break;
        }
        entry.kind = kind - 1;
        entry.payload = (Reader){reader.at, reader.at + size};
        reader.at += size;
        Queue *queue = queue_of(thread);
        if (queue == NULL || !queue_add(queue, entry)) {
            return PyErr_NoMemory();
        }
    }
    Py_RETURN_NONE;
}

bool entry_peek(Entry *entry)
{
    uint32_t thread = thread_number();
    if (thread >= queue_count || queues[thread].next >= queues[thread].count) {
        return false;
    }
    *entry = queues[thread].entries[queues[thread].next];
    return true;
}

void entry_take(void)
{
    queues[thread_number()].next++;
    journal.count++;
}

uint64_t entries_left(void)
{
    uint64_t left = 0;
    for (size_t i = 0; i < queue_count; i++) {
        left += queues[i].count - queues[i].next;
    }
    return left;
}

/* ---- threads ---- */

static _Thread_local uint32_t own_number;
static struct {
    unsigned long ident;
    uint32_t number;
} waiting[64]; /* started, but without an entry yet */
static size_t waiting_count;
static uint32_t last_number;

void thread_started(unsigned long ident)
{
    last_number++;
    size_t place = waiting_count < 64 ? waiting_count++ : last_number % 64;
    waiting[place].ident = ident;
    waiting[place].number = last_number;
}

uint32_t threads_known(void) { return last_number; }

/* The number of this thread; 1 is the one that opened the journal. */
uint32_t thread_number(void)
{
    if (own_number != 0) {
        return own_number;
    }
    unsigned long ident = PyThread_get_thread_ident();
    for (size_t i = waiting_count; i-- > 0;) {
        if (waiting[i].ident == ident) {
            own_number = waiting[i].number;
            waiting[i] = waiting[--waiting_count];
            return own_number;
        }
    }
    own_number = ++last_number;
    return own_number;
}
