#define _GNU_SOURCE
#include "process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#include <fcntl.h>
#include <io.h>
#include <malloc.h>
#include <windows.h>
#include <psapi.h>
#else
#include <pthread.h>
#endif

static char *line;
static size_t room, length;

char *process_read_line(void) {
  length = 0;
  for (;;) {
    if (length + 65536 > room) {
      const size_t wanted = 2 * room + 65536;
      char *fresh = malloc(wanted);
      if (length > 0) memcpy(fresh, line, length);
      process_wipe_line();
      free(line);
      line = fresh;
      room = wanted;
    }
    if (fgets(line + length, (int)(room - length), stdin) == NULL) return NULL;
    length += strlen(line + length);
    if (line[length - 1] == '\n') return line;
  }
}

/* A page is searched in a copy, so that the search finds no copy of its own. */
static uint8_t page[1 << 20];
enum { OVERLAP = 256 };

static size_t count_in_page(const uint8_t *inverted, size_t wanted, uintptr_t at, size_t got) {
  size_t found = 0;
  for (size_t i = 0; i + wanted <= got; i++) {
    size_t same = 0;
    while (same < wanted && page[i + same] == (uint8_t)~inverted[same]) same++;
    if (same != wanted || (at + i >= (uintptr_t)page && at + i < (uintptr_t)page + sizeof page)) continue;
    if (i < sizeof page - OVERLAP) found++;
  }
  memset(page, 0, sizeof page);
  return found;
}

#ifdef _WIN32

void process_start(void) {
  _setmode(_fileno(stdin), _O_BINARY);
  _setmode(_fileno(stdout), _O_BINARY);
}

void process_wipe_line(void) {
  if (room > 0) SecureZeroMemory(line, room);
}

size_t process_count(const uint8_t *inverted, size_t wanted) {
  MEMORY_BASIC_INFORMATION region;
  size_t found = 0;
  for (uint8_t *at = NULL; VirtualQuery(at, &region, sizeof region) != 0; at = (uint8_t *)region.BaseAddress + region.RegionSize) {
    const DWORD writable = PAGE_READWRITE | PAGE_WRITECOPY | PAGE_EXECUTE_READWRITE | PAGE_EXECUTE_WRITECOPY;
    if (region.State != MEM_COMMIT || (region.Protect & writable) == 0 || (region.Protect & PAGE_GUARD) != 0) continue;
    for (size_t done = 0; done < region.RegionSize; done += sizeof page - OVERLAP) {
      const size_t left = region.RegionSize - done;
      SIZE_T got = 0;
      uint8_t *from = (uint8_t *)region.BaseAddress + done;
      ReadProcessMemory(GetCurrentProcess(), from, page, left < sizeof page ? left : sizeof page, &got);
      found += count_in_page(inverted, wanted, (uintptr_t)from, got);
    }
  }
  return found;
}

struct work {
  void *(*function)(void *);
  void *argument;
  size_t unused;
};
enum { STACK_BYTES = 4 << 20 };

static DWORD WINAPI work(void *context) {
  const struct work *all = context;
  volatile char *taken = alloca(all->unused);
  *taken = 0;
  all->function(all->argument);
  return 0;
}

/* A system may give a thread more than was asked for: the rest is taken. */
void process_run_on_stack(size_t bytes, void *(*function)(void *), void *argument) {
  struct work all = {function, argument, STACK_BYTES - bytes};
  HANDLE thread = CreateThread(NULL, STACK_BYTES, work, &all, STACK_SIZE_PARAM_IS_A_RESERVATION, NULL);
  WaitForSingleObject(thread, INFINITE);
  CloseHandle(thread);
}

long process_kilobytes(void) {
  PROCESS_MEMORY_COUNTERS counters;
  K32GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof counters);
  return (long)(counters.WorkingSetSize / 1024);
}

#else

void process_start(void) {}

void process_wipe_line(void) {
  if (room > 0) explicit_bzero(line, room);
}

size_t process_count(const uint8_t *inverted, size_t wanted) {
  FILE *maps = fopen("/proc/self/maps", "r");
  FILE *memory = fopen("/proc/self/mem", "r");
  char text[512];
  size_t found = 0;
  while (fgets(text, sizeof text, maps) != NULL) {
    unsigned long from, to;
    char access[8];
    if (sscanf(text, "%lx-%lx %7s", &from, &to, access) != 3 || access[0] != 'r' || access[1] != 'w') continue;
    for (unsigned long at = from; at < to; at += sizeof page - OVERLAP) {
      fseeko(memory, (off_t)at, SEEK_SET);
      found += count_in_page(inverted, wanted, at, fread(page, 1, to - at < sizeof page ? to - at : sizeof page, memory));
    }
  }
  fclose(maps);
  fclose(memory);
  return found;
}

void process_run_on_stack(size_t bytes, void *(*function)(void *), void *argument) {
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, bytes);
  pthread_create(&thread, &attributes, function, argument);
  pthread_join(thread, NULL);
}

long process_kilobytes(void) {
  FILE *status = fopen("/proc/self/status", "r");
  char text[256];
  long kilobytes = 0;
  while (fgets(text, sizeof text, status) != NULL) sscanf(text, "VmRSS: %ld", &kilobytes);
  fclose(status);
  return kilobytes;
}

#endif
