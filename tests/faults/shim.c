/* A faulty disk, for the tests in this folder: loaded into a worker process with LD_PRELOAD, it stands between SQLite and
 * the system for the files whose path begins with WRITGATE_FAULT_PREFIX (a ledger, its -wal, -shm and -journal), and for
 * their folder. It counts their calls and, at call number n, does what it was told.
 *
 * It is told by opening a path that does not exist: /writgate-faults/MODE/N arms it and starts the count anew (the open
 * fails with ENOENT), /writgate-faults/count reads as the number of calls since, and /writgate-faults/now cuts the power
 * at once. Modes:
 *
 *   off        nothing, but counting
 *   eio        call n fails with EIO, once (mmap with ENOMEM)
 *   eio-from   call n and every later one fails so, but for locks: SQLite takes a lock that fails for one that is held, and
 *              would wait ten seconds for each
 *   enospc     from call n on, writes and allocations fail with ENOSPC
 *   short      from call n on; and the first write among them first writes half of its octets
 *   kill       SIGKILL before call n
 *   kill-after SIGKILL after it
 *   cut        a power cut before call n: of each file, everything since its last sync is undone, then SIGKILL. Names made
 *              or removed since the last sync of the folder are undone too.
 *   cut-torn   the same, but each 512-octet sector keeps its new content or gets its old one back, by chance (N is n and
 *              a seed: N.SEED)
 *   sync-lost  the first sync from call n on fails, once, and what it was to sync is gone: that is how Linux may do it, and
 *              a second sync succeeds without bringing it back
 *   full       while the file WRITGATE_FAULT_FLAG exists, writes and allocations fail with ENOSPC
 *   read-only  nothing can be opened for writing, made or removed (EROFS)
 *   no-new     nothing can be made or removed (EACCES), as in a folder that is read-only
 *
 * What a cut leaves of -shm is garbage or nothing: it is shared memory and promises nothing over a restart. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum mode { OFF, EIO_ONCE, EIO_FROM, ENOSPC_FROM, SHORT, KILL, KILL_AFTER, CUT, CUT_TORN, FULL, READ_ONLY, NO_NEW, SYNC_LOST };
static const char *const MODES[] = {"off",        "eio", "eio-from", "enospc", "short",    "kill",
                                    "kill-after", "cut", "cut-torn", "full",   "read-only", "no-new", "sync-lost"};
enum call { OTHER, WRITES, MAPS, LOCKS };

/* One thing that a power cut takes back, newest first. */
struct undo {
    struct undo *before;
    enum { OCTETS, MADE, REMOVED } what;
    off_t offset, length, size; /* the octets at `offset`, and the size of the file, as they were */
    char *octets;
};

struct file {
    char path[PATH_MAX];
    struct undo *undo;
};

#define FILES 16
#define DESCRIPTORS 4096
static struct file files[FILES];
static int of_descriptor[DESCRIPTORS]; /* 0: not watched; else the file's index plus one */
static char folder[PATH_MAX];
static const char *prefix, *flag;
static enum mode mode;
static long count, at;
static unsigned long seed;
static int struck;
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

#define REAL(name) ((__typeof__(&name))real(#name))
static void *real(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) abort();
    return found;
}

__attribute__((constructor)) static void begin(void) {
    prefix = getenv("WRITGATE_FAULT_PREFIX");
    flag = getenv("WRITGATE_FAULT_FLAG");
    if (!prefix) return;
    snprintf(folder, sizeof folder, "%s", prefix);
    char *slash = strrchr(folder, '/');
    if (slash) *slash = 0;
}

/* The index plus one of a watched path; 0 for any other. */
static int watched(const char *path) {
    if (!prefix || (strncmp(path, prefix, strlen(prefix)) != 0 && strcmp(path, folder) != 0)) return 0;
    for (int i = 0; i < FILES; i++) {
        if (!files[i].path[0]) snprintf(files[i].path, PATH_MAX, "%s", path);
        if (strcmp(files[i].path, path) == 0) return i + 1;
    }
    abort();
}

static struct file *file_of(int fd) {
    if (fd < 0 || fd >= DESCRIPTORS || !of_descriptor[fd]) return NULL;
    return &files[of_descriptor[fd] - 1];
}

static int is_folder(const struct file *file) { return strcmp(file->path, folder) == 0; }
static int is_shm(const struct file *file) {
    size_t length = strlen(file->path);
    return length > 4 && strcmp(file->path + length - 4, "-shm") == 0;
}
static int keeps_undo(const struct file *file) {
    return (mode == CUT || mode == CUT_TORN || mode == SYNC_LOST) && !is_folder(file) && !is_shm(file);
}

/* --- The log of what is not synced ------------------------------------------------------------------------------- */

static off_t size_of(int fd) {
    struct stat stat;
    if (REAL(fstat)(fd, &stat) != 0) abort();
    return stat.st_size;
}

static struct undo *remember(struct file *file, int what) {
    struct undo *undo = calloc(1, sizeof *undo);
    if (!undo) abort();
    undo->what = what;
    undo->before = file->undo;
    file->undo = undo;
    return undo;
}

/* Before `length` octets at `offset` are overwritten, or cut off. */
static void remember_octets(struct file *file, int fd, off_t offset, off_t length) {
    if (!keeps_undo(file)) return;
    struct undo *undo = remember(file, OCTETS);
    undo->offset = offset;
    undo->size = size_of(fd);
    if (offset + length > undo->size) length = undo->size > offset ? undo->size - offset : 0;
    undo->length = length;
    undo->octets = malloc(length ? length : 1);
    if (!undo->octets || REAL(pread)(fd, undo->octets, length, offset) != length) abort();
}

static char *whole(const char *path, off_t *size) {
    int fd = REAL(open)(path, O_RDONLY);
    if (fd < 0) return NULL;
    *size = size_of(fd);
    char *octets = malloc(*size ? *size : 1);
    if (!octets || REAL(pread)(fd, octets, *size, 0) != *size) abort();
    REAL(close)(fd);
    return octets;
}

static void rewrite(const char *path, const char *octets, off_t size) {
    int fd = REAL(open)(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || REAL(write)(fd, octets, size) != size) abort();
    REAL(close)(fd);
}

/* A sync of a file keeps its octets, and one of the folder keeps the names in it. */
static void forget(struct file *synced) {
    for (int i = 0; i < FILES; i++) {
        if (!is_folder(synced) && &files[i] != synced) continue;
        int gone = 0; /* a removal is on the disk, and with it the end of whatever was before */
        for (struct undo **place = &files[i].undo; *place;) {
            struct undo *undo = *place;
            if ((undo->what == OCTETS) == is_folder(synced) && !gone) {
                place = &undo->before;
            } else {
                gone |= undo->what == REMOVED;
                *place = undo->before;
                free(undo->octets);
                free(undo);
            }
        }
    }
}

static unsigned long chance(void) { /* xorshift */
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return seed >> 11;
}

static void take_back(struct file *file) {
    off_t new_size = 0, size = 0;
    int there = 1;
    char *new = whole(file->path, &new_size), *old = NULL;
    if (new) {
        old = malloc(new_size ? new_size : 1);
        if (!old) abort();
        memcpy(old, new, size = new_size);
    } else {
        there = 0;
    }
    for (struct undo *undo = file->undo; undo; undo = undo->before) {
        if (undo->what == MADE) {
            there = 0;
            continue;
        }
        off_t longest = undo->size > size ? undo->size : size;
        old = realloc(old, longest ? longest : 1);
        if (!old) abort();
        if (longest > size) memset(old + size, 0, longest - size);
        memcpy(old + undo->offset, undo->octets, undo->length);
        size = undo->size;
        there = 1;
    }
    if (mode == CUT_TORN && new) {
        /* The name may have reached the disk although the folder was not synced, and any sector too. */
        if (!there && chance() % 2) there = 1, size = 0;
        off_t shorter = size < new_size ? size : new_size;
        if (chance() % 2) {
            old = realloc(old, new_size > size ? new_size : size ? size : 1);
            if (!old) abort();
            if (new_size > size) memset(old + size, 0, new_size - size);
            size = new_size;
            shorter = new_size;
        }
        for (off_t sector = 0; sector < shorter; sector += 512) {
            off_t length = shorter - sector < 512 ? shorter - sector : 512;
            if (chance() % 2) memcpy(old + sector, new + sector, length);
        }
    }
    if (there) rewrite(file->path, old, size);
    else REAL(unlink)(file->path);
}

/* What is left of unsynced octets under a process that goes on: the old ones, and zeros where there were none. The size of
 * the file stays. All through its own descriptor, because closing another one would let go of its locks. */
static void lose_octets(struct file *file, int fd) {
    off_t now = size_of(fd);
    for (struct undo *undo = file->undo; undo && undo->what != REMOVED; undo = undo->before) {
        if (undo->what != OCTETS) continue;
        if (REAL(pwrite)(fd, undo->octets, undo->length, undo->offset) != undo->length) abort();
        if (undo->size >= now) continue;
        if (REAL(ftruncate)(fd, undo->size) != 0 || REAL(ftruncate)(fd, now) != 0) abort();
    }
}

static void die(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

static void cut_the_power(void) {
    for (int i = 0; i < FILES && files[i].path[0]; i++) {
        if (is_folder(&files[i])) continue;
        if (is_shm(&files[i])) {
            /* A new file: threads that still run have the old one mapped. */
            off_t size;
            char *octets = whole(files[i].path, &size);
            REAL(unlink)(files[i].path);
            if (octets && chance() % 2) {
                for (off_t at = 0; at < size; at++) octets[at] = (char)chance();
                rewrite(files[i].path, octets, size);
            }
        } else if (files[i].undo) {
            take_back(&files[i]);
        }
    }
    die();
}

/* --- The fault --------------------------------------------------------------------------------------------------- */

/* Counts a call and gives the error that it fails with; 0: none. The lock is held until `leave`. */
static int enter(enum call call) {
    pthread_mutex_lock(&lock);
    count++;
    int due = count >= at;
    switch (mode) {
    case EIO_ONCE: return count == at ? (call == MAPS ? ENOMEM : EIO) : 0;
    case EIO_FROM: return due && call != LOCKS ? (call == MAPS ? ENOMEM : EIO) : 0;
    case ENOSPC_FROM:
    case SHORT: return due && call == WRITES ? ENOSPC : 0;
    case FULL: return call == WRITES && flag && REAL(access)(flag, F_OK) == 0 ? ENOSPC : 0;
    case KILL: if (count == at) die(); return 0;
    case CUT:
    case CUT_TORN: if (count == at) cut_the_power(); return 0;
    default: return 0;
    }
}

static void leave(void) {
    int error = errno;
    if (mode == KILL_AFTER && count == at) die();
    pthread_mutex_unlock(&lock);
    errno = error;
}

#define FAIL(error, failed)   \
    do {                      \
        int reason = (error); \
        if (reason) {         \
            errno = reason;   \
            leave();          \
            return (failed);  \
        }                     \
    } while (0)

/* --- The orders -------------------------------------------------------------------------------------------------- */

static int order(const char *words) {
    if (strcmp(words, "count") == 0) {
        int fd = memfd_create("count", MFD_CLOEXEC);
        dprintf(fd, "%ld", count);
        lseek(fd, 0, SEEK_SET);
        return fd;
    }
    if (strcmp(words, "now") == 0) cut_the_power();
    char name[16] = "";
    long n = 0;
    unsigned long given = 1;
    sscanf(words, "%15[^/]/%ld.%lu", name, &n, &given);
    for (size_t i = 0; i < sizeof MODES / sizeof *MODES; i++) {
        if (strcmp(name, MODES[i]) == 0) {
            mode = i, at = n, count = 0, struck = 0;
            seed = given * 0x9E3779B97F4A7C15u + 1;
            errno = ENOENT;
            return -1;
        }
    }
    abort();
}

/* --- The calls --------------------------------------------------------------------------------------------------- */

static int open_any(const char *path, int flags, mode_t bits) {
    static const char orders[] = "/writgate-faults/";
    if (strncmp(path, orders, sizeof orders - 1) == 0) return order(path + sizeof orders - 1);
    int index = watched(path);
    if (!index) return REAL(open)(path, flags, bits);
    struct file *file = &files[index - 1];
    int error = enter(OTHER);
    int is_new = REAL(access)(path, F_OK) != 0;
    if (mode == READ_ONLY && (flags & O_ACCMODE) != O_RDONLY) error = EROFS;
    if (mode == NO_NEW && is_new) error = EACCES;
    FAIL(error, -1);
    int fd = REAL(open)(path, flags, bits);
    if (fd >= DESCRIPTORS) abort();
    if (fd >= 0) {
        of_descriptor[fd] = index;
        if (is_new && keeps_undo(file)) remember(file, MADE);
    }
    leave();
    return fd;
}

#define OPEN(name)                              \
    int name(const char *path, int flags, ...) { \
        va_list rest;                           \
        va_start(rest, flags);                  \
        mode_t bits = va_arg(rest, mode_t);     \
        va_end(rest);                           \
        return open_any(path, flags, bits);     \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                       \
    int name(int at_fd, const char *path, int flags, ...) {                                \
        va_list rest;                                                                      \
        va_start(rest, flags);                                                             \
        mode_t bits = va_arg(rest, mode_t);                                                \
        va_end(rest);                                                                      \
        return path[0] == '/' ? open_any(path, flags, bits) : REAL(openat)(at_fd, path, flags, bits); \
    }
OPENAT(openat)
OPENAT(openat64)

int close(int fd) {
    if (fd >= 0 && fd < DESCRIPTORS) of_descriptor[fd] = 0;
    return REAL(close)(fd);
}

static ssize_t write_some(int fd, const void *octets, size_t length, off_t offset, int seeks) {
    struct file *file = file_of(fd);
    int error = enter(WRITES);
    if (error && mode == SHORT && !struck) {
        struck = 1, error = 0;
        length = length > 1 ? length / 2 : length;
    }
    FAIL(error, -1);
    remember_octets(file, fd, seeks ? REAL(lseek)(fd, 0, SEEK_CUR) : offset, length);
    ssize_t written = seeks ? REAL(write)(fd, octets, length) : REAL(pwrite)(fd, octets, length, offset);
    leave();
    return written;
}

ssize_t write(int fd, const void *octets, size_t length) {
    return file_of(fd) ? write_some(fd, octets, length, 0, 1) : REAL(write)(fd, octets, length);
}
#define PWRITE(name)                                                                                       \
    ssize_t name(int fd, const void *octets, size_t length, off_t offset) {                                \
        return file_of(fd) ? write_some(fd, octets, length, offset, 0) : REAL(pwrite)(fd, octets, length, offset); \
    }
PWRITE(pwrite)
PWRITE(pwrite64)

/* A call that only passes through: it is counted, may fail, and changes nothing that a cut takes back. */
#define PASS(result, failed, kind, name, parameters, arguments) \
    result name parameters {                                    \
        if (!file_of(fd)) return REAL(name) arguments;          \
        FAIL(enter(kind), failed);                              \
        result answer = REAL(name) arguments;                   \
        leave();                                                \
        return answer;                                          \
    }
PASS(ssize_t, -1, OTHER, read, (int fd, void *octets, size_t length), (fd, octets, length))
PASS(ssize_t, -1, OTHER, pread, (int fd, void *octets, size_t length, off_t offset), (fd, octets, length, offset))
PASS(ssize_t, -1, OTHER, pread64, (int fd, void *octets, size_t length, off_t offset), (fd, octets, length, offset))
PASS(int, -1, OTHER, fstat, (int fd, struct stat *stat), (fd, stat))
PASS(int, -1, OTHER, fstat64, (int fd, struct stat64 *stat), (fd, stat))
PASS(void *, MAP_FAILED, MAPS, mmap, (void *where, size_t length, int may, int flags, int fd, off_t offset),
     (where, length, may, flags, fd, offset))
PASS(void *, MAP_FAILED, MAPS, mmap64, (void *where, size_t length, int may, int flags, int fd, off_t offset),
     (where, length, may, flags, fd, offset))

#define SYNC(name)                                       \
    int name(int fd) {                                   \
        struct file *file = file_of(fd);                 \
        if (!file) return REAL(name)(fd);                \
        int error = enter(OTHER);                        \
        if (mode == SYNC_LOST && count >= at && !struck) { \
            struck = 1, error = EIO;                     \
            lose_octets(file, fd);                       \
            forget(file);                                \
        }                                                \
        FAIL(error, -1);                                 \
        int answer = REAL(name)(fd);                     \
        if (answer == 0) forget(file);                   \
        leave();                                         \
        return answer;                                   \
    }
SYNC(fsync)
SYNC(fdatasync)

#define TRUNCATE(name)                                                             \
    int name(int fd, off_t length) {                                               \
        struct file *file = file_of(fd);                                           \
        if (!file) return REAL(name)(fd, length);                                  \
        off_t size = size_of(fd);                                                  \
        FAIL(enter(length > size ? WRITES : OTHER), -1);                           \
        remember_octets(file, fd, length, size > length ? size - length : 0);      \
        int answer = REAL(name)(fd, length);                                       \
        leave();                                                                   \
        return answer;                                                             \
    }
TRUNCATE(ftruncate)
TRUNCATE(ftruncate64)

int unlink(const char *path) {
    int index = watched(path);
    if (!index) return REAL(unlink)(path);
    struct file *file = &files[index - 1];
    int error = enter(OTHER);
    FAIL(mode == READ_ONLY ? EROFS : mode == NO_NEW ? EACCES : error, -1);
    off_t size = 0;
    char *octets = keeps_undo(file) ? whole(path, &size) : NULL;
    int answer = REAL(unlink)(path);
    if (answer == 0 && octets) {
        struct undo *undo = remember(file, REMOVED);
        undo->octets = octets;
        undo->length = undo->size = size;
    }
    leave();
    return answer;
}

#define FCNTL(name)                                                 \
    int name(int fd, int command, ...) {                            \
        va_list rest;                                               \
        va_start(rest, command);                                    \
        void *argument = va_arg(rest, void *);                      \
        va_end(rest);                                               \
        if (!file_of(fd)) return REAL(name)(fd, command, argument); \
        FAIL(enter(LOCKS), -1);                                     \
        int answer = REAL(name)(fd, command, argument);             \
        leave();                                                    \
        return answer;                                              \
    }
FCNTL(fcntl)
FCNTL(fcntl64)
