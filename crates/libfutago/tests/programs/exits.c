/* Writes, and ends without closing anything: what is written stays. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <futago.h>
#include "check.h"

static void write_small(const char *name)
{
    int fd = futago_open(name, O_RDWR | O_CREAT, 0644);
    CHECK(fd >= 0);
    for (int i = 0; i < 100; i++)
        CHECK(futago_write(fd, "0123456789", 10) == 10);
}

static void check(const char *name)
{
    char back[1001];
    int fd = futago_open(name, O_RDONLY, 0);
    CHECK(fd >= 0 && futago_read(fd, back, sizeof(back)) == 1000);
    CHECK(memcmp(back + 990, "0123456789", 10) == 0);
}

int main(int argc, char **argv)
{
    int status;
    CHECK(argc == 2 && futago_connect(NULL) == 0);
    if (strcmp(argv[1], "check") == 0) {
        check("/parent");
        check("/child");
        return 0;
    }
    write_small("/parent");
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        write_small("/child");
        exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return 0;
}
