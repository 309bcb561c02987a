/* The tail: the page that is being filled is a file beside the trace, mapped into memory
 * (docs/trace-format.md, *The tail*). A killed process leaves it behind.
 *
 * So all that was recorded survives however the process ends, without a thread, timer or signal of
 * ours, which the program could notice. The file is removed when the recording ends; if it fails,
 * the file stays, with the reason.
 *
 * If the disk is full, a write to a mapped file kills the process. So the room is allocated in
 * advance, and only on file systems that overwrite blocks in place. On others, and for a page that
 * outgrows the file, there is no tail.
 *
 * Invariant: `committed` bytes are whole records, and belong at the offset `at` of the trace. */
#include "recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/vfs.h>
#endif

typedef struct {
    uint8_t magic[8];
    uint64_t check; /* of the trace's header */
    uint64_t at;
    uint64_t committed;
    uint64_t error; /* errno of what ended the recording before the run did; 0: nothing */
    uint64_t reserved[3];
    uint8_t bytes[];
} Tail;

enum { TAIL_SIZE = sizeof(Tail) + ROOM_OF_PAGE };

static Tail *tail;           /* NULL if there is none */
static char tail_path[4096]; /* empty if the file belongs to another process */
static uint64_t nowhere;     /* stands for `committed` if there is no tail */

#ifdef __linux__
/* Allocates the room for the tail, if the file system overwrites blocks in place. */
static bool reserve(int file)
{
    struct statfs about;
    if (fstatfs(file, &about) != 0) {
        return false;
    }
    switch ((uint32_t)about.f_type) {
    case 0xEF53:     /* ext2 to ext4 */
    case 0x58465342: /* XFS */
    case 0x01021994: /* tmpfs */
    case 0x794C7630: /* overlayfs, on one of these */
        return fallocate(file, 0, 0, TAIL_SIZE) == 0;
    default:
        return false;
    }
}
#else
/* APFS and others copy a block when it is written, so room cannot be allocated in advance. */
static bool reserve(int Py_UNUSED(file)) { return false; }
#endif

static void page_in_tail(void)
{
    recorder.page.bytes = tail->bytes;
    recorder.page.capacity = ROOM_OF_PAGE;
    recorder.committed = &tail->committed;
}

bool tail_holds_page(void) { return tail != NULL && recorder.page.bytes == tail->bytes; }

void tail_abandon(void) { recorder.committed = &nowhere; }

/* Maps the page to this file and closes the file; removes it if that fails. */
void tail_open(const TailFile *file, uint64_t at)
{
    int saved_errno = errno;
    recorder.committed = &nowhere;
    if (file->descriptor < 0) {
        return;
    }
    void *map = MAP_FAILED;
    if (strlen(file->path) < sizeof tail_path && reserve(file->descriptor)) {
        map = mmap(NULL, TAIL_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file->descriptor, 0);
    }
    close(file->descriptor);
    if (map == MAP_FAILED) {
        unlink(file->path);
    }
    else {
        strcpy(tail_path, file->path);
        tail = map;
        tail->check = file->check;
        tail->at = at;
        memcpy(tail->magic, "\x89whtail\n", sizeof tail->magic);
        PyMem_RawFree(recorder.page.bytes);
        page_in_tail();
    }
    errno = saved_errno;
}

/* The page was written, and the next one belongs at this offset. Between the two stores the tail is
 * empty, and before them it belongs where a page is now: its records are never read twice. */
void tail_restart(uint64_t at)
{
    if (tail == NULL) {
        return;
    }
    if (!tail_holds_page()) {
        PyMem_RawFree(recorder.page.bytes);
        page_in_tail();
    }
    __atomic_store_n(&tail->committed, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&tail->at, at, __ATOMIC_RELEASE);
}

/* Moves the page to plain memory and removes the file. */
void tail_close(void)
{
    int saved_errno = errno;
    if (tail_holds_page()) {
        Buffer plain = {NULL, 0, 0};
        if (buffer_room(&plain, ROOM_OF_PAGE)) {
            put_bytes(&plain, recorder.page.bytes, recorder.page.length);
        }
        else {
            recorder_fail(ENOMEM);
        }
        recorder.page = plain;
    }
    recorder.committed = &nowhere;
    if (tail != NULL) {
        munmap(tail, TAIL_SIZE);
        tail = NULL;
        if (tail_path[0] != '\0') {
            unlink(tail_path);
        }
    }
    errno = saved_errno;
}

/* The recording has failed: the file keeps what it holds and gets the reason. Plain memory is mapped
 * in its place, because a record may be half written. */
void tail_stop(int error)
{
    if (tail == NULL || tail_path[0] == '\0') {
        return;
    }
    int saved_errno = errno;
    tail_path[0] = '\0';
    __atomic_store_n(&tail->error, (uint64_t)error, __ATOMIC_RELEASE);
    recorder.committed = &nowhere;
    if (mmap(tail, TAIL_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
             0) == MAP_FAILED) {
        /* Then nothing more may be written to the page. The recorder is off, and does not. */
    }
    errno = saved_errno;
}

/* In a forked child: the file is the parent's, so plain memory is mapped in its place. */
void tail_after_fork(void)
{
    tail_path[0] = '\0';
    if (tail != NULL && mmap(tail, TAIL_SIZE, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) {
        recorder_fail(ENOMEM);
    }
}
