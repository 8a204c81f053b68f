/* A process with operations under way forks; parent and children go on. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>
#include <futago.h>
#include "check.h"

enum { CHILDREN = 8, THREADS = 3, ROUNDS = 200 };

static volatile int done;

static void work(const char *name, int rounds)
{
    char back[4096], data[4096];
    memset(data, name[1], sizeof(data));
    for (int i = 0; i < rounds && !done; i++) {
        int fd = futago_open(name, O_RDWR | O_CREAT, 0644);
        CHECK(fd >= 0);
        CHECK(futago_pwrite(fd, data, sizeof(data), 4096 * (i % 7)) == sizeof(data));
        CHECK(futago_pread(fd, back, sizeof(back), 4096 * (i % 7)) == sizeof(back));
        CHECK(memcmp(data, back, sizeof(data)) == 0);
        CHECK(futago_close(fd) == 0);
    }
}

static void *thread(void *name)
{
    work((const char *)name, 1 << 30);
    return NULL;
}

/* The child has its parent's open files, positions and directories, and makes files of its own. It
 * has none of its parent's locks. */
static void child(int number, int shared, int twin, futago_dir *dir)
{
    struct flock lock = {F_WRLCK, SEEK_SET, 0, 1, 0};
    char name[32], buffer[4];
    snprintf(name, sizeof(name), "/%d", number);
    CHECK(futago_read(shared, buffer, 4) == 4 && memcmp(buffer, "5678", 4) == 0);
    CHECK(futago_lseek(twin, 0, SEEK_CUR) == 8 && futago_close(twin) == 0);
    CHECK(futago_pwrite(shared, &name[1], 1, 100 + number) == 1);
    FAILS(futago_fcntl(shared, F_SETLK, &lock), EAGAIN);
    CHECK(strcmp(futago_readdir(dir)->d_name, "..") == 0 && futago_closedir(dir) == 0);
    work(name, ROUNDS);
    CHECK(futago_disconnect() == 0);
    _exit(0);
}

int main(void)
{
    static const char *names[THREADS] = {"/t0", "/t1", "/t2"};
    char back[CHILDREN];
    pthread_t threads[THREADS];
    pid_t children[CHILDREN];
    int status;
    CHECK(futago_connect(NULL) == 0);
    int shared = futago_open("/shared", O_RDWR | O_CREAT, 0644);
    CHECK(futago_pwrite(shared, "12345678", 8, 0) == 8 && futago_lseek(shared, 4, SEEK_SET) == 4);
    struct flock lock = {F_WRLCK, SEEK_SET, 0, 1, 0};
    CHECK(futago_fcntl(shared, F_SETLK, &lock) == 0);
    int twin = futago_dup(shared);
    futago_dir *dir = futago_opendir("/");
    CHECK(strcmp(futago_readdir(dir)->d_name, ".") == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, thread, (void *)names[i]) == 0);
    for (int i = 0; i < CHILDREN; i++) {
        CHECK((children[i] = fork()) >= 0);
        if (children[i] == 0)
            child(i, shared, twin, dir);
    }
    for (int i = 0; i < CHILDREN; i++) {
        CHECK(waitpid(children[i], &status, 0) == children[i]);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    done = 1;
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(futago_lseek(shared, 0, SEEK_CUR) == 4);
    CHECK(futago_pread(shared, back, CHILDREN, 100) == CHILDREN);
    CHECK(memcmp(back, "01234567", CHILDREN) == 0);
    CHECK(strcmp(futago_readdir(dir)->d_name, "..") == 0 && futago_closedir(dir) == 0);
    return futago_disconnect();
}
