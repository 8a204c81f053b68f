/* CHFS_COMPAT=1: what CHFS does where it deviates from POSIX; CHFS_SUBDIR_PATH=/mnt/chfs. */
#include <sys/types.h>
#include <sys/stat.h>
#include <stdint.h>
#include <chfs.h>
#include "check.h"

int main(void)
{
    struct stat status;
    CHECK(chfs_init(NULL) == 0);
    int fd = chfs_create("/mnt/chfs/a/b/file", 0, 0644);
    CHECK(fd >= 0 && chfs_write(fd, "data", 4) == 4 && chfs_close(fd) == 0);
    CHECK(chfs_stat("a/b/file", &status) == 0 && status.st_size == 4);
    CHECK(chfs_rmdir("a") == 0);
    CHECK(chfs_stat("/mnt/chfs/a/b/file", &status) == 0);
    fd = chfs_create("a/b/file", 0, 0644);
    CHECK(fd >= 0 && chfs_close(fd) == 0);
    CHECK(chfs_stat("a/b/file", &status) == 0 && status.st_size == 0);
    CHECK(chfs_mkdir("x/y/z", 0700) == 0 && chfs_symlink("f", "p/q/link") == 0);
    return chfs_term();
}
