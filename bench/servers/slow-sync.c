/*
 * Stands for a slow disk: while the file SLOW_SYNC_WHILE exists, each sync of a database's file takes SLOW_SYNC_MS longer. Loaded by
 * LD_PRELOAD.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void wait_for_disk(int fd) {
  const char *when = getenv("SLOW_SYNC_WHILE"), *ms = getenv("SLOW_SYNC_MS");
  char link[64], path[4096];
  if (!when || !ms || access(when, F_OK) != 0) return;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return;
  path[length] = 0;
  if (!strstr(path, ".db")) return;
  long left = atol(ms);
  struct timespec time = {left / 1000, left % 1000 * 1000000};
  nanosleep(&time, NULL);
}

int fsync(int fd) {
  wait_for_disk(fd);
  return syscall(SYS_fsync, fd);
}

int fdatasync(int fd) {
  wait_for_disk(fd);
  return syscall(SYS_fdatasync, fd);
}
