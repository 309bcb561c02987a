/* The page that is being filled, where a killed process leaves it: in a file of its own beside the
 * trace, mapped into memory and shared with nobody but the kernel (docs/trace-format.md, *The
 * tail*).
 *
 * So whatever was recorded is kept however the process ends, also if it slept for an hour before,
 * and no thread, timer or signal of ours is needed for that, which the program would notice. The
 * file is removed when the recording ends.
 *
 * A write to a mapped file for which the disk has no room kills the process. So the room is taken
 * beforehand, and only on file systems that overwrite a block where it stands. Everywhere else, and
 * for a page that outgrows the file until it is written, there is no tail.
 *
 * Invariant: `committed` bytes are whole records, and belong at the place `at` in the trace. */
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
    uint64_t reserved[4];
    uint8_t bytes[];
} Tail;

enum { TAIL_SIZE = sizeof(Tail) + ROOM_OF_PAGE };

static Tail *tail;           /* NULL: there is none */
static char tail_path[4096]; /* empty: it is another process's */
static uint64_t nowhere;     /* what is committed where there is no tail */

#ifdef __linux__
/* Takes the room for the tail in a file, if its file system overwrites in place. */
static bool reserve(int file)
{
    struct statfs about;
    if (fstatfs(file, &about) != 0) {
        return false;
    }
    switch ((uint32_t)about.f_type) {
    case 0xEF53:     /* ext4 and its elders */
    case 0x58465342: /* XFS */
    case 0x01021994: /* tmpfs */
    case 0x794C7630: /* overlayfs, on one of these */
        return fallocate(file, 0, 0, TAIL_SIZE) == 0;
    default:
        return false;
    }
}
#else
/* APFS and others copy a block when it is written: room cannot be taken beforehand. */
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

/* Has the page in this file, which is closed, or removed if that cannot be. */
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

/* The page was written, and the next one belongs at this place. Between the two stores the tail is
 * empty, and before them it belongs at a place where there is a page now: it is never read twice. */
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

/* From here on the page is in plain memory, and the file is gone. */
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

/* In a forked child: the file is the parent's, and what stands in its place is memory. */
void tail_after_fork(void)
{
    tail_path[0] = '\0';
    if (tail != NULL && mmap(tail, TAIL_SIZE, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) {
        recorder_fail(ENOMEM);
    }
}
