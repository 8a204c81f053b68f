/* Many operations under way at once, from several threads. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include <futago.h>
#include "check.h"

enum { THREADS = 3, BLOCKS = 64, BYTES = 30011 };

static int fd;

/* Takes as many completions as were submitted, each once: `data` is the number of the block. */
static void complete(futago_queue *queue, ssize_t result)
{
    struct futago_completion completions[7];
    char seen[BLOCKS] = {0};
    for (int left = BLOCKS; left > 0;) {
        int count = futago_queue_wait(queue, completions, 7, -1);
        CHECK(count > 0 && count <= 7);
        for (int i = 0; i < count; i++) {
            CHECK(completions[i].result == result && completions[i].error == 0);
            seen[(size_t)completions[i].data] += 1;
        }
        left -= count;
    }
    for (int i = 0; i < BLOCKS; i++)
        CHECK(seen[i] == 1);
    /* Nothing is under way: there is nothing to wait for. */
    CHECK(futago_queue_wait(queue, completions, 7, -1) == 0);
}

static void *work(void *number)
{
    char data[BYTES], *back = malloc((size_t)BLOCKS * BYTES);
    size_t thread = (size_t)number;
    futago_queue *queue = futago_queue_create();
    CHECK(queue != NULL && back != NULL);
    for (size_t i = 0; i < BLOCKS; i++) {
        memset(data, (int)(1 + thread + i), BYTES);
        off_t offset = (off_t)(i * THREADS + thread) * BYTES;
        CHECK(futago_submit_pwrite(queue, fd, data, BYTES, offset, (void *)i) == 0);
    }
    complete(queue, BYTES);
    for (size_t i = 0; i < BLOCKS; i++)
        CHECK(futago_submit_fsync(queue, fd, (void *)i) == 0);
    complete(queue, 0);
    for (size_t i = 0; i < BLOCKS; i++) {
        off_t offset = (off_t)(i * THREADS + thread) * BYTES;
        CHECK(futago_submit_pread(queue, fd, back + i * BYTES, BYTES, offset, (void *)i) == 0);
    }
    complete(queue, BYTES);
    for (size_t i = 0; i < BLOCKS; i++) {
        memset(data, (int)(1 + thread + i), BYTES);
        CHECK(memcmp(back + i * BYTES, data, BYTES) == 0);
    }
    CHECK(futago_queue_destroy(queue) == 0);
    free(back);
    return NULL;
}

static void errors(void)
{
    char byte;
    struct futago_completion completion;
    futago_queue *queue = futago_queue_create();
    struct pollfd watched = {futago_queue_fd(queue), POLLIN, 0};
    int reads = futago_open("/queue", O_RDONLY, 0);
    CHECK(poll(&watched, 1, 0) == 0);
    CHECK(futago_submit_pwrite(queue, reads, "x", 1, 0, &byte) == 0);
    /* The operation goes on although its descriptor is closed. */
    CHECK(futago_close(reads) == 0);
    CHECK(poll(&watched, 1, -1) == 1);
    CHECK(futago_queue_wait(queue, &completion, 1, 0) == 1 && completion.data == &byte);
    CHECK(completion.result == -1 && completion.error == EBADF);
    CHECK(poll(&watched, 1, 0) == 0);
    FAILS(futago_submit_pread(queue, 99, &byte, 1, 0, NULL), EBADF);
    FAILS(futago_submit_pread(queue, fd, &byte, 1, -1, NULL), EINVAL);
    FAILS(futago_submit_pread(queue, fd, NULL, 1, 0, NULL), EFAULT);
    FAILS(futago_submit_fsync(NULL, fd, NULL), EINVAL);
    FAILS(futago_queue_wait(queue, &completion, 0, 0), EINVAL);
    FAILS(futago_queue_wait(queue, NULL, 1, 0), EFAULT);
    CHECK(futago_queue_destroy(queue) == 0);
    FAILS(futago_queue_destroy(NULL), EINVAL);
}

/* A queue stays with the process that has made it. */
static void forks(void)
{
    char byte;
    int status;
    struct futago_completion completion;
    futago_queue *queue = futago_queue_create();
    CHECK(futago_submit_pread(queue, fd, &byte, 1, 0, NULL) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        FAILS(futago_queue_wait(queue, &completion, 1, -1), EINVAL);
        FAILS(futago_submit_pread(queue, fd, &byte, 1, 0, NULL), EINVAL);
        CHECK(futago_queue_destroy(queue) == 0);
        queue = futago_queue_create();
        CHECK(futago_submit_pread(queue, fd, &byte, 1, 0, NULL) == 0);
        CHECK(futago_queue_wait(queue, &completion, 1, -1) == 1 && completion.result == 1);
        _exit(futago_queue_destroy(queue));
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(futago_queue_wait(queue, &completion, 1, -1) == 1 && completion.result == 1);
    CHECK(futago_queue_destroy(queue) == 0);
}

int main(void)
{
    pthread_t threads[THREADS];
    CHECK(futago_connect(NULL) == 0);
    fd = futago_open("/queue", O_RDWR | O_CREAT, 0644);
    for (size_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    errors();
    forks();
    return futago_disconnect();
}
