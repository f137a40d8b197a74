/* Counts the calls that make writes last, and ends the process at one of them as kill -9 does.

   Preloaded. CRASH_AT=N with CRASH_WHEN=before|after names the call, or CRASH_ON=TEXT the first one
   whose line has the text; CRASH_LOG=FILE gets a line for each. Without CRASH_WHEN nothing happens.
   What the command starts is not preloaded, and not counted. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int seen;

static void point(const char *call, const char *what, const char *when) {
    const char *wanted = getenv("CRASH_WHEN"), *log = getenv("CRASH_LOG");
    const char *at = getenv("CRASH_AT"), *on = getenv("CRASH_ON");
    char line[4200];
    if (wanted == NULL)
        return;
    snprintf(line, sizeof line, "%s %s\n", call, what);
    if (strcmp(when, "before") == 0) {
        seen++;
        if (log != NULL) {
            int file = open(log, O_WRONLY | O_CREAT | O_APPEND, 0644);
            dprintf(file, "%s", line);
            close(file);
        }
    }
    int here = (at != NULL && seen == atoi(at)) || (on != NULL && strstr(line, on) != NULL);
    if (here && strcmp(when, wanted) == 0)
        kill(getpid(), SIGKILL);
}

static const char *path_of(int file, char *room, size_t size) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, room, size - 1);
    room[length < 0 ? 0 : length] = 0;
    return room;
}

#define AROUND(name, what, types, values)                                                         \
    int name types {                                                                              \
        int(*real) types = (int(*) types)dlsym(RTLD_NEXT, #name);                                 \
        point(#name, what, "before");                                                             \
        int result = real values;                                                                 \
        point(#name, what, "after");                                                              \
        return result;                                                                            \
    }
#define ON_FILE(name)                                                                             \
    int name(int file) {                                                                          \
        char room[4096];                                                                          \
        int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, #name);                                 \
        point(#name, path_of(file, room, sizeof room), "before");                                 \
        int result = real(file);                                                                  \
        point(#name, room, "after");                                                              \
        return result;                                                                            \
    }

ON_FILE(fsync)
ON_FILE(fdatasync)
AROUND(rename, to, (const char *from, const char *to), (from, to))
AROUND(renameat, to, (int a, const char *from, int b, const char *to), (a, from, b, to))
AROUND(renameat2, to, (int a, const char *from, int b, const char *to, unsigned flags),
       (a, from, b, to, flags))
AROUND(link, to, (const char *from, const char *to), (from, to))
AROUND(linkat, to, (int a, const char *from, int b, const char *to, int flags),
       (a, from, b, to, flags))
