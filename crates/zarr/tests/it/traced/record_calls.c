/* Records the calls that change files below a folder, one line each, in their order. Linux, glibc, LD_PRELOAD.
 *
 * RECORD_DIR  the folder
 * RECORD_LOG  the file that gets the lines; it is not below the folder
 *
 * A line has tabs between its words; paths are without the folder, and `/` is the folder itself:
 *   mkdir PATH, rmdir PATH, create PATH INODE, unlink PATH, rename FROM TO,
 *   write INODE OFFSET HEX, truncate INODE SIZE, fsync PATH INODE, note TEXT
 *
 * A process puts a note in the log by making a folder that cannot be: `/record_calls/TEXT`.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (!real) real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

/* Held while a call is made and recorded, so that the order of lines is the order of calls. */
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;

static void line(const char *text, size_t size) {
    static int (*real_open)(const char *, int, ...);
    static ssize_t (*real_write)(int, const void *, size_t);
    static int log = -1;
    int was = errno;
    if (log < 0) {
        real_open = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
        real_write = (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
        const char *path = getenv("RECORD_LOG");
        if (!path) return;
        log = real_open(path, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0644);
        if (log < 0) return;
    }
    while (size) {
        ssize_t done = real_write(log, text, size);
        if (done <= 0) abort();
        text += done;
        size -= done;
    }
    errno = was;
}

static void record(const char *format, ...) {
    char text[9000];
    va_list parts;
    va_start(parts, format);
    int size = vsnprintf(text, sizeof text, format, parts);
    va_end(parts);
    line(text, size);
}

/* The path without the folder's, or null if it is not below. */
static const char *below(const char *path) {
    const char *dir = getenv("RECORD_DIR");
    size_t size = dir ? strlen(dir) : 0;
    if (!dir || strncmp(path, dir, size)) return NULL;
    if (!path[size]) return "/";
    return path[size] == '/' ? path + size : NULL;
}

/* The same for an opened file, whose path goes to `path`. */
static const char *opened(int fd, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, 4095);
    if (size < 0) return NULL;
    path[size] = 0;
    return below(path);
}

static unsigned long inode(int fd) {
    struct stat is;
    return fstat(fd, &is) ? 0 : is.st_ino;
}

static void written(int fd, const void *data, size_t size, off_t at) {
    const unsigned char *bytes = data;
    char *text = malloc(2 * size + 100);
    int used = sprintf(text, "write\t%lu\t%lld\t", inode(fd), (long long)at);
    for (size_t i = 0; i < size; i++) used += sprintf(text + used, "%02x", bytes[i]);
    text[used++] = '\n';
    line(text, used);
    free(text);
}

/* What was written by other means is read back. */
static void written_elsewhere(int fd, size_t size, off_t at) {
    char *data = malloc(size);
    static ssize_t (*real)(int, void *, size_t, off64_t);
    if (!real) real = (ssize_t (*)(int, void *, size_t, off64_t))dlsym(RTLD_NEXT, "pread64");
    int readable = fcntl(fd, F_GETFL) & O_RDWR;
    if (!readable || real(fd, data, size, at) != (ssize_t)size) memset(data, 0xee, size);
    written(fd, data, size, at);
    free(data);
}

#define LOCKED(type, call, then) do { \
    pthread_mutex_lock(&order); \
    type result = call; \
    if (result >= 0) { int was = errno; then; errno = was; } \
    pthread_mutex_unlock(&order); \
    return result; } while (0)

ssize_t write(int fd, const void *data, size_t size) {
    REAL(ssize_t, write, int, const void *, size_t);
    char path[4096];
    if (!opened(fd, path)) return real(fd, data, size);
    LOCKED(ssize_t, real(fd, data, size), written(fd, data, result, lseek(fd, 0, SEEK_CUR) - result));
}

#define WRITE_AT(name, offset) \
    ssize_t name(int fd, const void *data, size_t size, offset at) { \
        REAL(ssize_t, name, int, const void *, size_t, offset); \
        char path[4096]; \
        if (!opened(fd, path)) return real(fd, data, size, at); \
        LOCKED(ssize_t, real(fd, data, size, at), written(fd, data, result, at)); \
    }
WRITE_AT(pwrite, off_t)
WRITE_AT(pwrite64, off64_t)

static void written_parts(int fd, const struct iovec *parts, int count, ssize_t size, off_t at) {
    for (int i = 0; i < count && size > 0; i++) {
        size_t here = parts[i].iov_len < (size_t)size ? parts[i].iov_len : (size_t)size;
        if (here) written(fd, parts[i].iov_base, here, at);
        at += here;
        size -= here;
    }
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    REAL(ssize_t, writev, int, const struct iovec *, int);
    char path[4096];
    if (!opened(fd, path)) return real(fd, parts, count);
    LOCKED(ssize_t, real(fd, parts, count), written_parts(fd, parts, count, result, lseek(fd, 0, SEEK_CUR) - result));
}

#define WRITEV_AT(name, offset) \
    ssize_t name(int fd, const struct iovec *parts, int count, offset at) { \
        REAL(ssize_t, name, int, const struct iovec *, int, offset); \
        char path[4096]; \
        if (!opened(fd, path)) return real(fd, parts, count, at); \
        LOCKED(ssize_t, real(fd, parts, count, at), written_parts(fd, parts, count, result, at)); \
    }
WRITEV_AT(pwritev, off_t)
WRITEV_AT(pwritev64, off64_t)

ssize_t copy_file_range(int from, off64_t *at, int to, off64_t *there, size_t size, unsigned flags) {
    REAL(ssize_t, copy_file_range, int, off64_t *, int, off64_t *, size_t, unsigned);
    char path[4096];
    if (!opened(to, path)) return real(from, at, to, there, size, flags);
    LOCKED(ssize_t, real(from, at, to, there, size, flags),
        if (result) written_elsewhere(to, result, (there ? *there : lseek(to, 0, SEEK_CUR)) - result));
}

#define SEND(name, offset) \
    ssize_t name(int to, int from, offset *at, size_t size) { \
        REAL(ssize_t, name, int, int, offset *, size_t); \
        char path[4096]; \
        if (!opened(to, path)) return real(to, from, at, size); \
        LOCKED(ssize_t, real(to, from, at, size), \
            if (result) written_elsewhere(to, result, lseek(to, 0, SEEK_CUR) - result)); \
    }
SEND(sendfile, off_t)
SEND(sendfile64, off64_t)

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, mode_t); va_end(rest); \
        REAL(int, name, const char *, int, ...); \
        const char *inner = flags & (O_CREAT | O_TRUNC) ? below(path) : NULL; \
        if (!inner) return real(path, flags, mode); \
        pthread_mutex_lock(&order); \
        struct stat is; \
        int is_new = lstat(path, &is) != 0, fd = real(path, flags, mode), was = errno; \
        if (fd >= 0 && is_new) record("create\t%s\t%lu\n", inner, inode(fd)); \
        if (fd >= 0 && !is_new && flags & O_TRUNC) record("truncate\t%lu\t0\n", inode(fd)); \
        pthread_mutex_unlock(&order); \
        errno = was; \
        return fd; \
    }
OPEN(open)
OPEN(open64)

/* The disk is not waited for: whether it would be is all that the log has to tell. */
#define SYNC(name) \
    int name(int fd) { \
        REAL(int, name, int); \
        char path[4096]; \
        const char *inner = opened(fd, path); \
        if (!inner) return real(fd); \
        LOCKED(int, 0, record("fsync\t%s\t%lu\n", inner, inode(fd))); \
    }
SYNC(fsync)
SYNC(fdatasync)

#define TRUNCATE(name, offset) \
    int name(int fd, offset size) { \
        REAL(int, name, int, offset); \
        char path[4096]; \
        if (!opened(fd, path)) return real(fd, size); \
        LOCKED(int, real(fd, size), record("truncate\t%lu\t%lld\n", inode(fd), (long long)size)); \
    }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

int rename(const char *from, const char *to) {
    REAL(int, rename, const char *, const char *);
    const char *inner = below(from), *place = below(to);
    if (!inner || !place) return real(from, to);
    LOCKED(int, real(from, to), record("rename\t%s\t%s\n", inner, place));
}

#define REMOVE(name) \
    int name(const char *path) { \
        REAL(int, name, const char *); \
        const char *inner = below(path); \
        if (!inner) return real(path); \
        LOCKED(int, real(path), record(#name "\t%s\n", inner)); \
    }
REMOVE(unlink)
REMOVE(rmdir)

int mkdir(const char *path, mode_t mode) {
    REAL(int, mkdir, const char *, mode_t);
    if (!strncmp(path, "/record_calls/", 14)) {
        pthread_mutex_lock(&order);
        record("note\t%s\n", path + 14);
        pthread_mutex_unlock(&order);
        errno = ENOENT;
        return -1;
    }
    const char *inner = below(path);
    if (!inner) return real(path, mode);
    LOCKED(int, real(path, mode), record("mkdir\t%s\n", inner));
}
