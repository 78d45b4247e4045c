/* clock: the real time of a server, moved by as many microseconds as a file says, or
 * the time that it says second, if that is not 0: it stands still there.
 *
 * It is preloaded (LD_PRELOAD) and replaces gettimeofday, which is what Redis and
 * Valkey take TIME and the expiry of keys from. The monotonic clock stays.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *moved;

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("KEYWRIGHT_CLOCK");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return;
  void *at = mmap(NULL, 2 * sizeof *moved, PROT_READ, MAP_SHARED, file, 0);
  if (at != MAP_FAILED) moved = at;
  close(file);
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone) {
  (void)zone;
  struct timespec now;
  syscall(SYS_clock_gettime, CLOCK_REALTIME, &now); /* dlsym would allocate */
  int64_t micros = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000 + (moved ? moved[0] : 0);
  if (moved && moved[1]) micros = moved[1];
  tv->tv_sec = micros / 1000000;
  tv->tv_usec = micros % 1000000;
  return 0;
}
