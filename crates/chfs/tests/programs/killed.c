/* Reads files of four servers after one of them has ended: whole or an error, never less. */
#include <sys/types.h>
#include <sys/stat.h>
#include <stdint.h>
#include <chfs.h>
#include "check.h"

enum { FILES = 32, BYTES = 65536 };

static int open_file(int number)
{
    char name[32];
    snprintf(name, sizeof(name), "file%d", number);
    return chfs_create(name, 0, 0644);
}

int main(void)
{
    static char data[BYTES], back[BYTES];
    int fds[FILES], lost = 0;
    CHECK(chfs_init(NULL) == 0);
    chfs_set_chunk_size(4096);
    memset(data, 'x', BYTES);
    for (int i = 0; i < FILES; i++) {
        CHECK((fds[i] = open_file(i)) >= 0);
        CHECK(chfs_pwrite(fds[i], data, BYTES, 0) == BYTES && chfs_fsync(fds[i]) == 0);
    }
    puts("written");
    fflush(stdout);
    CHECK(getchar() == '\n');
    for (int i = 0; i < FILES; i++) {
        ssize_t count = chfs_pread(fds[i], back, BYTES, 0);
        if (count == -1) {
            CHECK(errno == EIO);
            lost++;
        } else {
            CHECK(count == BYTES && memcmp(data, back, BYTES) == 0);
        }
    }
    CHECK(lost > 0);
    chfs_term();
    return 0;
}
