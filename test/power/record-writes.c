/*
 * Loaded before the C library (LD_PRELOAD): records all operations of a process on the files of one folder, in order, with
 * their bytes, and performs them. RECORD_FOLDER names the folder, RECORD_LOG the record: for each operation a line "what
 * offset length path", followed by that many bytes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int record = -1;
static ssize_t (*real_write)(int, const void *, size_t);

__attribute__((constructor)) static void begin(void) {
  const char *file = getenv("RECORD_LOG");
  real_write = dlsym(RTLD_NEXT, "write");
  if (file != NULL) record = open(file, O_WRONLY | O_CREAT | O_APPEND, 0600);
}

static int is_ours(const char *path) {
  const char *folder = getenv("RECORD_FOLDER");
  return record >= 0 && folder != NULL && strncmp(path, folder, strlen(folder)) == 0;
}

static void put(const void *bytes, size_t length) {
  const char *at = bytes;
  while (length > 0) {
    ssize_t written = real_write(record, at, length);
    if (written <= 0) abort();
    at += written;
    length -= (size_t)written;
  }
}

static void note(char what, const char *path, long long offset, const void *bytes, size_t length) {
  char line[4200];
  if (!is_ours(path)) return;
  pthread_mutex_lock(&lock);
  int size = snprintf(line, sizeof line, "%c %lld %zu %s\n", what, offset, length, path);
  put(line, (size_t)size);
  put(bytes, length);
  pthread_mutex_unlock(&lock);
}

static void note_fd(char what, int fd, long long offset, const void *bytes, size_t length) {
  char link[64], path[4096];
  if (record < 0 || fd == record) return;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t size = readlink(link, path, sizeof path - 1);
  if (size <= 0) return;
  path[size] = 0;
  note(what, path, offset, bytes, length);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset) {
  ssize_t (*real)(int, const void *, size_t, off64_t) = dlsym(RTLD_NEXT, "pwrite64");
  ssize_t written = real(fd, bytes, count, offset);
  if (written > 0) note_fd('w', fd, offset, bytes, (size_t)written);
  return written;
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
  ssize_t (*real)(int, const void *, size_t, off_t) = dlsym(RTLD_NEXT, "pwrite");
  ssize_t written = real(fd, bytes, count, offset);
  if (written > 0) note_fd('w', fd, offset, bytes, (size_t)written);
  return written;
}

ssize_t write(int fd, const void *bytes, size_t count) {
  off_t offset = record >= 0 ? lseek(fd, 0, SEEK_CUR) : 0;
  ssize_t written = real_write(fd, bytes, count);
  if (written > 0) note_fd('w', fd, offset, bytes, (size_t)written);
  return written;
}

int fsync(int fd) {
  int (*real)(int) = dlsym(RTLD_NEXT, "fsync");
  int result = real(fd);
  if (result == 0) note_fd('s', fd, 0, "", 0);
  return result;
}

int fdatasync(int fd) {
  int (*real)(int) = dlsym(RTLD_NEXT, "fdatasync");
  int result = real(fd);
  if (result == 0) note_fd('s', fd, 0, "", 0);
  return result;
}

int ftruncate64(int fd, off64_t length) {
  int (*real)(int, off64_t) = dlsym(RTLD_NEXT, "ftruncate64");
  int result = real(fd, length);
  if (result == 0) note_fd('t', fd, length, "", 0);
  return result;
}

int ftruncate(int fd, off_t length) {
  int (*real)(int, off_t) = dlsym(RTLD_NEXT, "ftruncate");
  int result = real(fd, length);
  if (result == 0) note_fd('t', fd, length, "", 0);
  return result;
}

int unlink(const char *path) {
  int (*real)(const char *) = dlsym(RTLD_NEXT, "unlink");
  int result = real(path);
  if (result == 0) note('u', path, 0, "", 0);
  return result;
}

int rename(const char *from, const char *to) {
  int (*real)(const char *, const char *) = dlsym(RTLD_NEXT, "rename");
  int result = real(from, to);
  if (result == 0) note('r', from, 0, to, strlen(to));
  return result;
}
