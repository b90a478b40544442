/* A disk whose every sync takes SLOW_MS milliseconds, for the process that preloads this. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static int synced(const char *name, int file) {
    const char *given = getenv("SLOW_MS");
    long milliseconds = given ? atol(given) : 0;
    struct timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    int (*sync)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    nanosleep(&pause, 0);
    return sync(file);
}

int fsync(int file) { return synced("fsync", file); }

int fdatasync(int file) { return synced("fdatasync", file); }
