/*
 * Stands for a failing disk: while the file DISK_FAULTS_WHILE exists, every seventh write to a file of the database fails, or every
 * seventh sync, as DISK_FAULTS says (`write` or `sync`). Loaded by LD_PRELOAD.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int fails(const char *kind, int fd) {
  static int calls;
  const char *when = getenv("DISK_FAULTS_WHILE"), *what = getenv("DISK_FAULTS");
  char link[64], path[4096];
  if (!when || !what || strcmp(what, kind) || access(when, F_OK)) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return strstr(path, "parley.db") && __sync_add_and_fetch(&calls, 1) % 7 == 0;
}

static int failed(int reason) {
  errno = reason;
  return -1;
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset) {
  /* Half of it is written: a torn page. */
  if (fails("write", fd)) return syscall(SYS_pwrite64, fd, bytes, count / 2, offset), failed(EIO);
  return syscall(SYS_pwrite64, fd, bytes, count, offset);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
  return pwrite64(fd, bytes, count, offset);
}

int fsync(int fd) {
  return fails("sync", fd) ? failed(EIO) : syscall(SYS_fsync, fd);
}

int fdatasync(int fd) {
  return fails("sync", fd) ? failed(EIO) : syscall(SYS_fdatasync, fd);
}
