/* Makes system calls of one kind fail, so that a test can see that nothing is lost. Linux, glibc, LD_PRELOAD.
 *
 * FAIL_CALL    write, read, open-write, open-read, rename, fsync, ftruncate, unlink, mkdir or lock
 * FAIL_AT      which call of that kind fails, counted from 1
 * FAIL_ALWAYS  set: so do all that follow
 * FAIL_ERRNO   the error; -1 makes a write or a read short, half of what was asked for
 * FAIL_SHORT   set: the first write that fails is short, and only those that follow have the error
 * FAIL_DIR     only files below this folder count
 * FAIL_LOG     a file that is made when a call fails
 *
 * A process can ask for faults itself, by making a folder that cannot be: `/fail_calls/CALL/AT/ERRNO/ALWAYS`, with 0 or 1 at
 * the end, lets calls fail from then on, and `/fail_calls/off` ends that; it "exists" if a call failed. With the CALL
 * `size` no file grows beyond AT times 128 bytes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (!real) real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

static int calls;

/* What the process asked for itself. */
static struct { char kind[32]; int at, error, always, struck; } order;

static int real_open(const char *path) {
    REAL(int, open, const char *, int, ...);
    return real(path, O_CREAT | O_WRONLY, 0644);
}

/* 0: go on; -1: be short; else the error. */
static int strike(const char *kind) {
    if (order.kind[0]) {
        if (strcmp(order.kind, kind)) return 0;
        int now = __sync_add_and_fetch(&calls, 1);
        if (now != order.at && !(order.always && now > order.at)) return 0;
        order.struck = 1;
        return order.error;
    }
    const char *wanted = getenv("FAIL_CALL"), *at = getenv("FAIL_AT"), *error = getenv("FAIL_ERRNO");
    if (!wanted || strcmp(wanted, kind)) return 0;
    int now = __sync_add_and_fetch(&calls, 1), first = at ? atoi(at) : 1;
    if (now != first && !(getenv("FAIL_ALWAYS") && now > first)) return 0;
    const char *log = getenv("FAIL_LOG");
    if (log && now == first) close(real_open(log));
    if (getenv("FAIL_SHORT") && now == first) return -1;
    return error ? atoi(error) : EIO;
}

static int take_order(const char *text) {
    struct rlimit size;
    getrlimit(RLIMIT_FSIZE, &size);
    size.rlim_cur = size.rlim_max;
    int struck = order.struck;
    memset(&order, 0, sizeof order);
    calls = 0;
    if (!strcmp(text, "off")) {
        errno = struck ? EEXIST : ENOENT;
    } else {
        sscanf(text, "%31[^/]/%d/%d/%d", order.kind, &order.at, &order.error, &order.always);
        if (!strcmp(order.kind, "size")) size.rlim_cur = 128 * (rlim_t)order.at;
        errno = ENOENT;
    }
    int was = errno;
    setrlimit(RLIMIT_FSIZE, &size);
    errno = was;
    return -1;
}

static int below(const char *path) {
    const char *dir = getenv("FAIL_DIR");
    return dir && !strncmp(path, dir, strlen(dir));
}

static int is_below(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size < 0) return 0;
    path[size] = 0;
    return below(path);
}

#define STRIKE_AT(kind, counts) do { \
    int e = counts ? strike(kind) : 0; \
    if (e > 0) { errno = e; return -1; } } while (0)

ssize_t write(int fd, const void *data, size_t size) {
    REAL(ssize_t, write, int, const void *, size_t);
    int e = is_below(fd) ? strike("write") : 0;
    if (e > 0) { errno = e; return -1; }
    return real(fd, data, e < 0 && size > 1 ? size / 2 : size);
}

#define WRITE_AT(name, offset) \
    ssize_t name(int fd, const void *data, size_t size, offset at) { \
        REAL(ssize_t, name, int, const void *, size_t, offset); \
        int e = is_below(fd) ? strike("write") : 0; \
        if (e > 0) { errno = e; return -1; } \
        return real(fd, data, e < 0 && size > 1 ? size / 2 : size, at); \
    }
WRITE_AT(pwrite, off_t)
WRITE_AT(pwrite64, off64_t)

ssize_t writev(int fd, const struct iovec *parts, int count) {
    REAL(ssize_t, writev, int, const struct iovec *, int);
    int e = is_below(fd) ? strike("write") : 0;
    if (e > 0) { errno = e; return -1; }
    return real(fd, parts, e < 0 ? 1 : count);
}

#define WRITEV_AT(name, offset) \
    ssize_t name(int fd, const struct iovec *parts, int count, offset at) { \
        REAL(ssize_t, name, int, const struct iovec *, int, offset); \
        int e = is_below(fd) ? strike("write") : 0; \
        if (e > 0) { errno = e; return -1; } \
        return real(fd, parts, e < 0 ? 1 : count, at); \
    }
WRITEV_AT(pwritev, off_t)
WRITEV_AT(pwritev64, off64_t)

ssize_t read(int fd, void *data, size_t size) {
    REAL(ssize_t, read, int, void *, size_t);
    int e = is_below(fd) ? strike("read") : 0;
    if (e > 0) { errno = e; return -1; }
    return real(fd, data, e < 0 && size > 1 ? size / 2 : size);
}

#define READ_AT(name, offset) \
    ssize_t name(int fd, void *data, size_t size, offset at) { \
        REAL(ssize_t, name, int, void *, size_t, offset); \
        int e = is_below(fd) ? strike("read") : 0; \
        if (e > 0) { errno = e; return -1; } \
        return real(fd, data, e < 0 && size > 1 ? size / 2 : size, at); \
    }
READ_AT(pread, off_t)
READ_AT(pread64, off64_t)

ssize_t readv(int fd, const struct iovec *parts, int count) {
    REAL(ssize_t, readv, int, const struct iovec *, int);
    int e = is_below(fd) ? strike("read") : 0;
    if (e > 0) { errno = e; return -1; }
    if (e < 0 && parts[0].iov_len > 1) return read(fd, parts[0].iov_base, parts[0].iov_len / 2);
    return real(fd, parts, count);
}

ssize_t copy_file_range(int from, off64_t *at, int to, off64_t *there, size_t size, unsigned flags) {
    REAL(ssize_t, copy_file_range, int, off64_t *, int, off64_t *, size_t, unsigned);
    STRIKE_AT("write", is_below(to));
    return real(from, at, to, there, size, flags);
}

#define SEND(name, offset) \
    ssize_t name(int to, int from, offset *at, size_t size) { \
        REAL(ssize_t, name, int, int, offset *, size_t); \
        STRIKE_AT("write", is_below(to)); \
        return real(to, from, at, size); \
    }
SEND(sendfile, off_t)
SEND(sendfile64, off64_t)

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, mode_t); va_end(rest); \
        REAL(int, name, const char *, int, ...); \
        STRIKE_AT(flags & (O_CREAT | O_WRONLY | O_RDWR) ? "open-write" : "open-read", below(path)); \
        return real(path, flags, mode); \
    }
OPEN(open)
OPEN(open64)

int rename(const char *from, const char *to) { REAL(int, rename, const char *, const char *); STRIKE_AT("rename", below(to)); return real(from, to); }
int fsync(int fd) { REAL(int, fsync, int); STRIKE_AT("fsync", is_below(fd)); return real(fd); }
int fdatasync(int fd) { REAL(int, fdatasync, int); STRIKE_AT("fsync", is_below(fd)); return real(fd); }
int msync(void *at, size_t size, int flags) { REAL(int, msync, void *, size_t, int); STRIKE_AT("fsync", 1); return real(at, size, flags); }
int ftruncate(int fd, off_t size) { REAL(int, ftruncate, int, off_t); STRIKE_AT("ftruncate", is_below(fd)); return real(fd, size); }
int ftruncate64(int fd, off64_t size) { REAL(int, ftruncate64, int, off64_t); STRIKE_AT("ftruncate", is_below(fd)); return real(fd, size); }
int unlink(const char *path) { REAL(int, unlink, const char *); STRIKE_AT("unlink", below(path)); return real(path); }
int mkdir(const char *path, mode_t mode) { REAL(int, mkdir, const char *, mode_t); if (!strncmp(path, "/fail_calls/", 12)) return take_order(path + 12); STRIKE_AT("mkdir", below(path)); return real(path, mode); }
int flock(int fd, int operation) { REAL(int, flock, int, int); STRIKE_AT("lock", is_below(fd) && operation != 8); return real(fd, operation); }
