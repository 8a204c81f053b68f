/* A process with operations under way forks; parent and children go on. */
#include <sys/types.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <stdint.h>
#include <pthread.h>
#include <unistd.h>
#include <chfs.h>
#include "check.h"

enum { CHILDREN = 8, THREADS = 3, ROUNDS = 200 };

static volatile int done;

static void work(const char *name, int rounds)
{
    char back[4096], data[4096];
    memset(data, name[0], sizeof(data));
    for (int i = 0; i < rounds && !done; i++) {
        int fd = chfs_create(name, 0, 0644);
        CHECK(fd >= 0);
        CHECK(chfs_pwrite(fd, data, sizeof(data), 4096 * (i % 7)) == sizeof(data));
        CHECK(chfs_pread(fd, back, sizeof(back), 4096 * (i % 7)) == sizeof(back));
        CHECK(memcmp(data, back, sizeof(data)) == 0);
        CHECK(chfs_close(fd) == 0);
    }
}

static void *thread(void *name)
{
    work((const char *)name, 1 << 30);
    return NULL;
}

/* The child has its parent's open files and positions, and makes files of its own. */
static void child(int number, int shared)
{
    char name[32], buffer[4];
    snprintf(name, sizeof(name), "%d", number);
    CHECK(chfs_read(shared, buffer, 4) == 4 && memcmp(buffer, "5678", 4) == 0);
    CHECK(chfs_pwrite(shared, &name[0], 1, 100 + number) == 1);
    work(name, ROUNDS);
    CHECK(chfs_term() == 0);
    _exit(0);
}

int main(void)
{
    static const char *names[THREADS] = {"t0", "t1", "t2"};
    char back[CHILDREN];
    pthread_t threads[THREADS];
    pid_t children[CHILDREN];
    int status;
    CHECK(chfs_init(NULL) == 0);
    int shared = chfs_create("shared", 0, 0644);
    CHECK(chfs_pwrite(shared, "12345678", 8, 0) == 8 && chfs_seek(shared, 4, SEEK_SET) == 4);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, thread, (void *)names[i]) == 0);
    for (int i = 0; i < CHILDREN; i++) {
        CHECK((children[i] = fork()) >= 0);
        if (children[i] == 0)
            child(i, shared);
    }
    for (int i = 0; i < CHILDREN; i++) {
        CHECK(waitpid(children[i], &status, 0) == children[i]);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    done = 1;
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(chfs_seek(shared, 0, SEEK_CUR) == 4);
    CHECK(chfs_pread(shared, back, CHILDREN, 100) == CHILDREN);
    CHECK(memcmp(back, "01234567", CHILDREN) == 0);
    return chfs_term();
}
