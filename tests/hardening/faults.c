/* Faults, preloaded into a process: from the moment that a file is there, calls fail or hang.
 *
 *   JETLAG_FAULT        write     write() to the file fails with the number JETLAG_FAULT_ERRNO
 *                       freeze    write() to the file waits for as long as the flag is there
 *                       hang      read() and pread() of the file wait for as long as the flag is there
 *                       open      no file can be opened: JETLAG_FAULT_ERRNO
 *                       clock     CLOCK_REALTIME is an hour ahead
 *                       full      writing to files in the folder JETLAG_FAULT_IN fails with ENOSPC from the write with the number
 *                                 JETLAG_FAULT_AT on; each adds a byte to the flag
 *   JETLAG_FAULT_OF     what the path of the file ends with
 *   JETLAG_FAULT_FLAG   the file that begins it; FLAG.met is made when a call first meets the fault
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static const char *fault, *of, *flag;
static int number;
static char met_path[4096];

__attribute__((constructor)) static void begin(void) {
  fault = getenv("JETLAG_FAULT");
  of = getenv("JETLAG_FAULT_OF");
  flag = getenv("JETLAG_FAULT_FLAG");
  const char *text = getenv("JETLAG_FAULT_ERRNO");
  number = text ? atoi(text) : EIO;
  snprintf(met_path, sizeof met_path, "%s.met", flag ? flag : "");
}

static int is(const char *kind) {
  if (!fault || !flag || strcmp(fault, kind) != 0) return 0;
  int before = errno, there = access(flag, F_OK) == 0;
  errno = before;
  return there;
}

static int of_file(int fd) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  int before = errno;
  ssize_t length = readlink(link, path, sizeof path - 1);
  errno = before;
  size_t wanted = of ? strlen(of) : 0;
  if (length < (ssize_t)wanted) return 0;
  path[length] = 0;
  return of && strcmp(path + length - wanted, of) == 0;
}

#define REAL(type, name, ...) \
  static type (*real)(__VA_ARGS__); \
  if (!real) real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

/* Whether this is a write for which there is no room: it is counted, by all processes together. */
static int has_no_room(int fd) {
  const char *in = getenv("JETLAG_FAULT_IN"), *at = getenv("JETLAG_FAULT_AT");
  if (!in || !at || !is("full")) return 0;
  char link[64], path[4096];
  int before = errno, has_none = 0;
  struct stat about;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  size_t wanted = strlen(in);
  if (length > (ssize_t)wanted && strncmp(path, in, wanted) == 0 && path[wanted] == '/') {
    REAL(int, "open", const char *, int, ...);
    int counted = real(flag, O_WRONLY | O_APPEND);
    if (counted >= 0) {
      if (syscall(SYS_write, counted, ".", 1) == 1 && fstat(counted, &about) == 0) has_none = about.st_size >= atol(at);
      close(counted);
    }
  }
  errno = has_none ? ENOSPC : before;
  return has_none;
}

static void met(void) {
  REAL(int, "open", const char *, int, ...);
  int before = errno, made = real(met_path, O_CREAT | O_WRONLY, 0600);
  if (made >= 0) close(made);
  errno = before;
}

static void wait_while_there(void) {
  met();
  struct timespec while_there = {0, 20 * 1000 * 1000};
  while (access(flag, F_OK) == 0) nanosleep(&while_there, NULL);
}

ssize_t write(int fd, const void *from, size_t count) {
  REAL(ssize_t, "write", int, const void *, size_t);
  if (is("write") && of_file(fd)) {
    met();
    errno = number;
    return -1;
  }
  if (is("freeze") && of_file(fd)) wait_while_there();
  if (has_no_room(fd)) return -1;
  return real(fd, from, count);
}

ssize_t writev(int fd, const struct iovec *from, int count) {
  REAL(ssize_t, "writev", int, const struct iovec *, int);
  return has_no_room(fd) ? -1 : real(fd, from, count);
}

ssize_t pwrite64(int fd, const void *from, size_t count, off64_t at) {
  REAL(ssize_t, "pwrite64", int, const void *, size_t, off64_t);
  return has_no_room(fd) ? -1 : real(fd, from, count, at);
}

ssize_t read(int fd, void *to, size_t count) {
  REAL(ssize_t, "read", int, void *, size_t);
  if (is("hang") && of_file(fd)) wait_while_there();
  return real(fd, to, count);
}

ssize_t pread64(int fd, void *to, size_t count, off64_t at) {
  REAL(ssize_t, "pread64", int, void *, size_t, off64_t);
  if (is("hang") && of_file(fd)) wait_while_there();
  return real(fd, to, count, at);
}

static int refused(void) {
  if (!is("open")) return 0;
  met();
  errno = number;
  return 1;
}

#define OPEN(name) \
  int name(const char *path, int flags, ...) { \
    REAL(int, #name, const char *, int, ...); \
    va_list arguments; \
    va_start(arguments, flags); \
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0; \
    va_end(arguments); \
    return refused() ? -1 : real(path, flags, mode); \
  }
OPEN(open)
OPEN(open64)

int openat64(int folder, const char *path, int flags, ...) {
  REAL(int, "openat64", int, const char *, int, ...);
  va_list arguments;
  va_start(arguments, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return refused() ? -1 : real(folder, path, flags, mode);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  REAL(int, "clock_gettime", clockid_t, struct timespec *);
  int answer = real(clock, now);
  if (clock == CLOCK_REALTIME && answer == 0 && is("clock")) {
    met();
    now->tv_sec += 3600;
  }
  return answer;
}
