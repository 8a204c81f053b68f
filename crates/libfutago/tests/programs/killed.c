/* Reads files of four servers after one of them has ended: whole or an error, never less. */
#include <fcntl.h>
#include <futago.h>
#include "check.h"

enum { FILES = 32, CHUNK = 1 << 20, BYTES_MAX = 3 * CHUNK };

static char data[BYTES_MAX], back[BYTES_MAX];

/* Files differ in size, so some have no chunk at the server that ends. */
static ssize_t bytes_of(int number)
{
    return (ssize_t)(number % 3 + 1) * CHUNK;
}

static int open_file(int number)
{
    char name[32];
    snprintf(name, sizeof(name), "/file%d", number);
    return futago_open(name, O_RDWR | O_CREAT, 0644);
}

/* Whether a read has failed. One that has not must have brought the whole file. */
static int is_lost(int number, const char *read, ssize_t count, int error)
{
    if (count == -1) {
        CHECK(error == EIO);
        return 1;
    }
    CHECK(count == bytes_of(number) && memcmp(data, read, (size_t)count) == 0);
    return 0;
}

/* Reads one file after the other. */
static void read_each(const int *fds)
{
    int lost = 0;
    for (int i = 0; i < FILES; i++) {
        ssize_t count = futago_pread(fds[i], back, BYTES_MAX, 0);
        lost += is_lost(i, back, count, errno);
    }
    CHECK(0 < lost && lost < FILES);
}

/* The same reads, all under way at once. How many are lost depends on whether the others end in
 * time. */
static void queue_reads(const int *fds)
{
    int lost = 0, numbers[FILES];
    struct futago_completion completion;
    futago_queue *queue = futago_queue_create();
    char *all = (char *)malloc((size_t)FILES * BYTES_MAX);
    for (int i = 0; i < FILES; i++) {
        char *into = all + (size_t)i * BYTES_MAX;
        numbers[i] = i;
        CHECK(futago_submit_pread(queue, fds[i], into, BYTES_MAX, 0, &numbers[i]) == 0);
    }
    for (int i = 0; i < FILES; i++) {
        CHECK(futago_queue_wait(queue, &completion, 1, -1) == 1);
        int number = *(int *)completion.data;
        const char *read = all + (size_t)number * BYTES_MAX;
        lost += is_lost(number, read, completion.result, completion.error);
    }
    CHECK(lost > 0 && futago_queue_destroy(queue) == 0);
    free(all);
}

/* A list is complete, or it ends with an error. */
static void list(void)
{
    int entries = 0;
    futago_dir *dir = futago_opendir("/");
    if (dir == NULL) {
        CHECK(errno == EIO);
        return;
    }
    for (errno = 0; futago_readdir(dir) != NULL;)
        entries++;
    CHECK(errno == EIO || entries == FILES + 2);
    CHECK(futago_closedir(dir) == 0);
}

int main(void)
{
    int fds[FILES];
    CHECK(futago_connect(NULL) == 0);
    memset(data, 'x', BYTES_MAX);
    for (int i = 0; i < FILES; i++) {
        CHECK((fds[i] = open_file(i)) >= 0);
        CHECK(futago_pwrite(fds[i], data, (size_t)bytes_of(i), 0) == bytes_of(i));
        CHECK(futago_fsync(fds[i]) == 0);
    }
    puts("written");
    fflush(stdout);
    CHECK(getchar() == '\n');
    read_each(fds);
    queue_reads(fds);
    list();
    futago_disconnect();
    return 0;
}
