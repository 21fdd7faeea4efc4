/*
 * Stands for a failing disk, loaded by LD_PRELOAD. It counts the writes or the syncs of the database's files, and at every call whose
 * number DISK_FAULTS_EVERY divides it does as DISK_FAULTS says:
 *
 *   write  half of the bytes are written, and the write fails
 *   sync   the sync fails
 *   power  the power fails in place of the sync: of the writes since the last one some are lost or torn, and the process is killed
 *
 * With DISK_FAULTS_WHILE only calls while that file exists are counted. DISK_FAULTS_SEED decides which writes are lost.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A write that is not synced, with the previous bytes. The latest is the first. */
struct write {
  struct write *before;
  ino_t file;
  char path[512];
  off64_t offset, size;
  size_t count, replaced;
  char *bytes, *old;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct write *latest;

static int is(const char *kind) {
  const char *wanted = getenv("DISK_FAULTS");
  return wanted && !strcmp(wanted, kind);
}

/* Whether it is a file of the database, and its path. The shared memory of its connections is not part of the disk. */
static int path_of(int fd, char *path, size_t size) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, size - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return strstr(path, "parley.db") && !strstr(path, "-shm");
}

static int is_due(const char *kind, int fd) {
  static unsigned calls;
  const char *when = getenv("DISK_FAULTS_WHILE"), *every = getenv("DISK_FAULTS_EVERY");
  char path[4096];
  if (!is(kind) || !every || (when && access(when, F_OK)) || !path_of(fd, path, sizeof path)) return 0;
  return __sync_add_and_fetch(&calls, 1) % (unsigned)atoi(every) == 0;
}

static int failed(int reason) {
  errno = reason;
  return -1;
}

static ssize_t put(int fd, const void *bytes, size_t count, off64_t offset) {
  return syscall(SYS_pwrite64, fd, bytes, count, offset);
}

static void remember(int fd, const void *bytes, size_t count, off64_t offset) {
  struct write *one = calloc(1, sizeof *one);
  struct stat now;
  if (!one || !path_of(fd, one->path, sizeof one->path) || fstat(fd, &now)) return free(one);
  one->bytes = malloc(count), one->old = malloc(count);
  if (!one->bytes || !one->old) abort();
  memcpy(one->bytes, bytes, count);
  int reader = open(one->path, O_RDONLY);
  ssize_t replaced = reader < 0 ? 0 : pread64(reader, one->old, count, offset);
  if (reader >= 0) close(reader);
  one->file = now.st_ino, one->offset = offset, one->count = count, one->size = now.st_size;
  one->replaced = replaced > 0 ? (size_t)replaced : 0;
  one->before = latest, latest = one;
}

/* Marks the writes of a file as synced. */
static void forget(int fd) {
  struct stat now;
  if (fstat(fd, &now)) return;
  for (struct write **at = &latest; *at;) {
    struct write *one = *at;
    if (one->file != now.st_ino) {
      at = &one->before;
      continue;
    }
    *at = one->before;
    free(one->bytes), free(one->old), free(one);
  }
}

static void lose_power(void) {
  struct write *ordered = NULL;
  srand((unsigned)atoi(getenv("DISK_FAULTS_SEED") ? getenv("DISK_FAULTS_SEED") : "1"));
  while (latest) {
    struct write *one = latest;
    int fd = open(one->path, O_WRONLY);
    put(fd, one->old, one->replaced, one->offset);
    if (ftruncate64(fd, one->size)) abort();
    close(fd);
    latest = one->before, one->before = ordered, ordered = one;
  }
  /* A third is lost, a third is torn at a sector, and a third is kept. */
  for (; ordered; ordered = ordered->before) {
    int fate = rand() % 3;
    size_t kept = fate == 0 ? 0 : fate == 1 ? ordered->count / 2 / 512 * 512 : ordered->count;
    int fd = open(ordered->path, O_WRONLY);
    put(fd, ordered->bytes, kept, ordered->offset);
    close(fd);
  }
  kill(getpid(), SIGKILL);
  pause();
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset) {
  if (is_due("write", fd)) return put(fd, bytes, count / 2, offset), failed(EIO);
  if (!is("power")) return put(fd, bytes, count, offset);
  pthread_mutex_lock(&mutex);
  remember(fd, bytes, count, offset);
  ssize_t written = put(fd, bytes, count, offset);
  pthread_mutex_unlock(&mutex);
  return written;
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
  return pwrite64(fd, bytes, count, offset);
}

static int synced(int fd, long call) {
  if (is_due("sync", fd)) return failed(EIO);
  if (!is("power")) return syscall(call, fd);
  pthread_mutex_lock(&mutex);
  if (is_due("power", fd)) lose_power();
  int result = syscall(call, fd);
  if (result == 0) forget(fd);
  pthread_mutex_unlock(&mutex);
  return result;
}

int fsync(int fd) {
  return synced(fd, SYS_fsync);
}

int fdatasync(int fd) {
  return synced(fd, SYS_fdatasync);
}
