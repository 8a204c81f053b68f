/* The phases of IO500 through a C library: the macro CHFS chooses libchfs, otherwise it is libfutago. */
#define _GNU_SOURCE
#include <sys/types.h>
#include <sys/stat.h>
#include <stdint.h>
#include <fcntl.h>
#include <time.h>
#include "check.h"

#ifdef CHFS
#include <chfs.h>
#define START() chfs_init(NULL)
#define END() chfs_term()
#define CREATE(path) chfs_create(path, 0, 0644)
#define OF(name) chfs_##name
#else
#include <futago.h>
#define START() futago_connect(NULL)
#define END() futago_disconnect()
#define CREATE(path) futago_open(path, O_RDWR | O_CREAT, 0644)
#define OF(name) futago_##name
#endif

enum { FILES = 5000, LARGE = 1 << 20, LARGE_COUNT = 256, ODD = 47008, ODD_COUNT = 4000 };

static char memory[LARGE];

static double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void report(const char *phase, double begin_s, int operations)
{
    printf("%s %.1f\n", phase, operations / (now_s() - begin_s));
}

static const char *path_of(int number)
{
    static char path[32];
    snprintf(path, sizeof(path), "/phase.%d", number);
    return path;
}

static void names(void)
{
    struct stat status;
    double begin_s = now_s();
    for (int i = 0; i < FILES; i++) {
        int fd = CREATE(path_of(i));
        CHECK(fd >= 0 && OF(close)(fd) == 0);
    }
    report("create", begin_s, FILES);
    begin_s = now_s();
    for (int i = 0; i < FILES; i++)
        CHECK(OF(stat)(path_of(i), &status) == 0);
    report("stat", begin_s, FILES);
    begin_s = now_s();
    for (int i = 0; i < FILES; i++)
        CHECK(OF(unlink)(path_of(i)) == 0);
    report("unlink", begin_s, FILES);
}

static void data(const char *write, const char *read, size_t size, int count)
{
    int fd = CREATE("/phase");
    CHECK(fd >= 0);
    double begin_s = now_s();
    for (int i = 0; i < count; i++)
        CHECK(OF(pwrite)(fd, memory, size, (off_t)i * (off_t)size) == (ssize_t)size);
    CHECK(OF(fsync)(fd) == 0);
    report(write, begin_s, count);
    begin_s = now_s();
    for (int i = 0; i < count; i++)
        CHECK(OF(pread)(fd, memory, size, (off_t)i * (off_t)size) == (ssize_t)size);
    report(read, begin_s, count);
    CHECK(OF(close)(fd) == 0 && OF(unlink)("/phase") == 0);
}

int main(void)
{
    memset(memory, 'x', sizeof(memory));
    CHECK(START() == 0);
    names();
    data("write-1MiB", "read-1MiB", LARGE, LARGE_COUNT);
    data("write-47008B", "read-47008B", ODD, ODD_COUNT);
    return END();
}
