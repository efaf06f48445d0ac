// The kernel's simple attributes in debugfs are opened as files that do not seek: pread and lseek answer ESPIPE, and only
// read, from an open file's beginning on, has their number. Preloaded, this makes files below .../sys/kernel/debug such.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int is_attribute(int file) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return strstr(path, "/sys/kernel/debug/") != NULL;
}

#define REFUSES(type, name, parameters, ...)                        \
    type name parameters {                                          \
        static type(*next) parameters;                              \
        if (!next) *(void **)&next = dlsym(RTLD_NEXT, #name);       \
        if (is_attribute(file)) return errno = ESPIPE, (type)-1;    \
        return next(__VA_ARGS__);                                   \
    }

REFUSES(ssize_t, pread, (int file, void *to, size_t size, off_t at), file, to, size, at)
REFUSES(ssize_t, pread64, (int file, void *to, size_t size, off64_t at), file, to, size, at)
REFUSES(off_t, lseek, (int file, off_t at, int whence), file, at, whence)
REFUSES(off64_t, lseek64, (int file, off64_t at, int whence), file, at, whence)
