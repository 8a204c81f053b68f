/* Every function of the library, on files, directories and links. */
#include <sys/types.h>
#include <sys/stat.h>
#include <stdint.h>
#include <fcntl.h>
#include <unistd.h>
#include <chfs.h>
#include "check.h"

static void data(void)
{
    char buffer[16] = "";
    int fd = chfs_create("/data", 0, 0640);
    CHECK(fd >= 0);
    CHECK(chfs_write(fd, "hello", 5) == 5);
    CHECK(chfs_pwrite(fd, " world", 6, 5) == 6);
    CHECK(chfs_seek(fd, 0, SEEK_CUR) == 5);
    CHECK(chfs_read(fd, buffer, sizeof(buffer)) == 6);
    CHECK(memcmp(buffer, " world", 6) == 0);
    CHECK(chfs_read(fd, buffer, sizeof(buffer)) == 0);
    CHECK(chfs_seek(fd, -11, SEEK_END) == 0);
    FAILS(chfs_seek(fd, -1, SEEK_SET), EINVAL);
    FAILS(chfs_seek(fd, 0, 77), EINVAL);
    CHECK(chfs_pread(fd, buffer, 5, 0) == 5);
    CHECK(memcmp(buffer, "hello", 5) == 0);
    CHECK(chfs_pread(fd, buffer, 5, 100) == 0);
    FAILS(chfs_pread(fd, buffer, 5, -1), EINVAL);
    FAILS(chfs_pwrite(fd, buffer, 5, INT64_MAX), EFBIG);
    FAILS(chfs_pwrite(fd, NULL, 5, 0), EFAULT);
    CHECK(chfs_pwrite(fd, NULL, 0, 0) == 0);
    CHECK(chfs_fsync(fd) == 0);
    CHECK(chfs_close(fd) == 0);
    FAILS(chfs_close(fd), EBADF);
    FAILS(chfs_pread(fd, buffer, 5, 0), EBADF);
}

static void sizes(void)
{
    struct stat status;
    CHECK(chfs_stat("data", &status) == 0);
    CHECK(S_ISREG(status.st_mode) && (status.st_mode & 07777) == 0640);
    CHECK(status.st_size == 11 && status.st_nlink == 1 && status.st_uid == geteuid());
    CHECK(chfs_truncate("data", 3) == 0);
    CHECK(chfs_stat("./data", &status) == 0 && status.st_size == 3);
    FAILS(chfs_truncate("data", -1), EINVAL);
    FAILS(chfs_truncate("missing", 0), ENOENT);
    FAILS(chfs_stat("missing", &status), ENOENT);
    FAILS(chfs_stat(NULL, &status), EFAULT);
    CHECK(chfs_stat("/", &status) == 0 && S_ISDIR(status.st_mode));
}

static void chunk_sizes(void)
{
    struct stat status;
    int fd = chfs_create_chunk_size("small", 0, 0600, 8192);
    CHECK(fd >= 0 && chfs_close(fd) == 0);
    CHECK(chfs_stat("small", &status) == 0 && status.st_blksize == 8192);
    chfs_set_chunk_size(65536);
    fd = chfs_create("large", 0, 0600);
    CHECK(fd >= 0 && chfs_close(fd) == 0);
    CHECK(chfs_stat("large", &status) == 0 && status.st_blksize == 65536);
    FAILS(chfs_create_chunk_size("none", 0, 0600, 0), EINVAL);
    CHECK(chfs_unlink("small") == 0 && chfs_unlink("large") == 0);
}

/* IOR passes 0x40 and 0x80 for what Linux calls O_CREAT and O_EXCL, and the ranks of a shared
 * file all create it: an existing file is opened as it is. */
static void existing_files(void)
{
    char buffer[4];
    int fd = chfs_create("data", O_EXCL | O_TRUNC | CHFS_O_CACHE, 0600);
    CHECK(fd >= 0 && chfs_pread(fd, buffer, sizeof(buffer), 0) == 3 && chfs_close(fd) == 0);
    fd = chfs_open("data", O_RDONLY);
    CHECK(fd >= 0 && chfs_write(fd, "x", 1) == 1 && chfs_close(fd) == 0);
    FAILS(chfs_open("missing", O_RDWR), ENOENT);
}

static void directories(void)
{
    CHECK(chfs_mkdir("d", 0755) == 0);
    FAILS(chfs_mkdir("d", 0755), EEXIST);
    FAILS(chfs_mkdir("no/parent", 0755), ENOENT);
    FAILS(chfs_create("no/parent", 0, 0644), ENOENT);
    FAILS(chfs_open("d", 0), EISDIR);
    FAILS(chfs_open("/", 0), EISDIR);
    FAILS(chfs_create("/", 0, 0644), EINVAL);
    FAILS(chfs_unlink("/"), EINVAL);
    FAILS(chfs_unlink("d"), EISDIR);
    int fd = chfs_create("d/f", 0, 0644);
    CHECK(fd >= 0 && chfs_close(fd) == 0);
    FAILS(chfs_rmdir("d"), ENOTEMPTY);
    FAILS(chfs_rmdir("d/f"), ENOTDIR);
    CHECK(chfs_unlink("d/../d/./f") == 0 && chfs_rmdir("//d/") == 0);
}

static void links(void)
{
    char target[64];
    struct stat status;
    CHECK(chfs_symlink("data", "link") == 0);
    FAILS(chfs_symlink("data", "link"), EEXIST);
    CHECK(chfs_stat("link", &status) == 0 && S_ISLNK(status.st_mode));
    CHECK(chfs_readlink("link", target, sizeof(target)) == 4);
    CHECK(memcmp(target, "data", 4) == 0);
    CHECK(chfs_readlink("link", target, 2) == 2);
    FAILS(chfs_readlink("data", target, sizeof(target)), EINVAL);
    CHECK(chfs_unlink("link") == 0);
}

struct seen {
    char counts[100];
    int total, until;
};

static int fill(void *buffer, const char *name, const struct stat *status, off_t offset)
{
    struct seen *seen = (struct seen *)buffer;
    CHECK(S_ISREG(status->st_mode) && offset == 0);
    seen->counts[atoi(name)] += 1;
    seen->total += 1;
    return seen->total == seen->until;
}

static void lists(void)
{
    char name[32];
    CHECK(chfs_mkdir("list", 0755) == 0);
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof(name), "list/%d", i);
        int fd = chfs_create(name, 0, 0644);
        CHECK(fd >= 0 && chfs_close(fd) == 0);
    }
    struct seen all = {{0}, 0, 0}, parts = {{0}, 0, 0}, some = {{0}, 0, 7};
    CHECK(chfs_readdir("list", &all, fill) == 0 && all.total == 100);
    for (int server = 0; server < chfs_size(); server++)
        CHECK(chfs_readdir_index("list", server, &parts, fill) == 0);
    for (int i = 0; i < 100; i++)
        CHECK(all.counts[i] == 1 && parts.counts[i] == 1);
    CHECK(chfs_readdir("list", &some, fill) == 0 && some.total == 7);
    FAILS(chfs_readdir("missing", &all, fill), ENOENT);
    FAILS(chfs_readdir("data", &all, fill), ENOTDIR);
    FAILS(chfs_readdir_index("list", -1, &all, fill), EINVAL);
}

static void staging(const char *local)
{
    struct stat status;
    char buffer[8];
    CHECK(chfs_stagein(local) == 0);
    CHECK(chfs_stat(local, &status) == 0 && status.st_size == 8);
    int fd = chfs_open(local, 0);
    CHECK(fd >= 0 && chfs_read(fd, buffer, 8) == 8 && chfs_close(fd) == 0);
    CHECK(memcmp(buffer, "staged\0\0", 8) == 0);
    FAILS(chfs_stagein("missing-file"), ENOENT);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    CHECK(!chfs_initialized() && chfs_size() == 0);
    FAILS(chfs_open("data", 0), ENOTCONN);
    FAILS(chfs_close(0), EBADF);
    FAILS(chfs_init("missing.toml"), ENOENT);
    FAILS(chfs_init("local"), EINVAL);
    CHECK(chfs_init(NULL) == 0 && chfs_init(NULL) == 0);
    CHECK(chfs_initialized() == 1 && chfs_size() == 4);
    CHECK(strncmp(chfs_version(), "Futago ", 7) == 0);
    chfs_set_async_access(1);
    chfs_set_rdma_thresh(0);
    chfs_set_node_list_cache_timeout(1);
    chfs_set_stagein_buf_size(1 << 20);
    data();
    sizes();
    chunk_sizes();
    existing_files();
    directories();
    links();
    lists();
    staging(argv[1]);
    chfs_sync();
    /* The end closes what is open, and a second session finds what was written. */
    int fd = chfs_create("last", 0, 0644);
    CHECK(fd == 0 && chfs_write(fd, "last", 4) == 4);
    CHECK(chfs_term() == 0 && !chfs_initialized());
    FAILS(chfs_write(fd, "x", 1), EBADF);
    struct stat status;
    CHECK(chfs_init(getenv("CHFS_SERVER")) == 0);
    CHECK(chfs_stat("last", &status) == 0 && status.st_size == 4);
    return chfs_term_without_sync();
}
