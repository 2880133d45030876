/* Lets time pass faster for a process: every clock but the time of day runs, and every wait for events ends, PACE times as fast. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int64_t pace = 1;
static int64_t begun;

static int64_t now(clockid_t clock) {
  struct timespec time;
  syscall(SYS_clock_gettime, clock, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

__attribute__((constructor)) static void begin(void) {
  const char *text = getenv("PACE");
  if (text && atoi(text) > 0) pace = atoi(text);
  begun = now(CLOCK_MONOTONIC);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  long failed = syscall(SYS_clock_gettime, clock, time);
  int is_fast = clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE || clock == CLOCK_MONOTONIC_RAW || clock == CLOCK_BOOTTIME;
  if (failed || !is_fast) return (int)failed;
  int64_t at = time->tv_sec * 1000000000LL + time->tv_nsec;
  at += (at - begun) * (pace - 1);
  time->tv_sec = at / 1000000000LL;
  time->tv_nsec = at % 1000000000LL;
  return 0;
}

int epoll_pwait(int epoll, struct epoll_event *events, int most, int timeout, const sigset_t *mask) {
  int shorter = timeout > 0 ? (int)((timeout + pace - 1) / pace) : timeout;
  return (int)syscall(SYS_epoll_pwait, epoll, events, most, shorter, mask, 8);
}

int epoll_wait(int epoll, struct epoll_event *events, int most, int timeout) {
  return epoll_pwait(epoll, events, most, timeout, NULL);
}
