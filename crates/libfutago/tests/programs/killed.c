/* Reads files of four servers after one of them has ended: whole or an error, never less. */
#include <fcntl.h>
#include <futago.h>
#include "check.h"

enum { FILES = 32, BYTES = 3 << 20 };

static int open_file(int number)
{
    char name[32];
    snprintf(name, sizeof(name), "/file%d", number);
    return futago_open(name, O_RDWR | O_CREAT, 0644);
}

/* The same reads, all under way at once. */
static void queue_reads(const int *fds, int lost)
{
    struct futago_completion completion;
    futago_queue *queue = futago_queue_create();
    char *all = (char *)malloc((size_t)FILES * BYTES);
    for (int i = 0; i < FILES; i++)
        CHECK(futago_submit_pread(queue, fds[i], all + (size_t)i * BYTES, BYTES, 0, NULL) == 0);
    for (int i = 0; i < FILES; i++) {
        CHECK(futago_queue_wait(queue, &completion, 1, -1) == 1);
        CHECK(completion.result == BYTES || completion.error == EIO);
        lost -= completion.result == -1;
    }
    CHECK(lost == 0 && futago_queue_destroy(queue) == 0);
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
    static char data[BYTES], back[BYTES];
    int fds[FILES], lost = 0;
    CHECK(futago_connect(NULL) == 0);
    memset(data, 'x', BYTES);
    for (int i = 0; i < FILES; i++) {
        CHECK((fds[i] = open_file(i)) >= 0);
        CHECK(futago_pwrite(fds[i], data, BYTES, 0) == BYTES && futago_fsync(fds[i]) == 0);
    }
    puts("written");
    fflush(stdout);
    CHECK(getchar() == '\n');
    for (int i = 0; i < FILES; i++) {
        ssize_t count = futago_pread(fds[i], back, BYTES, 0);
        if (count == -1) {
            CHECK(errno == EIO);
            lost++;
        } else {
            CHECK(count == BYTES && memcmp(data, back, BYTES) == 0);
        }
    }
    CHECK(lost > 0);
    queue_reads(fds, lost);
    list();
    futago_disconnect();
    return 0;
}
