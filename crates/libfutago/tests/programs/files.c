/* Every function of the library does what POSIX says of the one that it is named after. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>
#include <futago.h>
#include "check.h"

static int created(const char *path)
{
    int fd = futago_open(path, O_RDWR | O_CREAT, 0666);
    CHECK(fd >= 0);
    return fd;
}

static struct stat status_of(const char *path)
{
    struct stat status;
    CHECK(futago_lstat(path, &status) == 0);
    return status;
}

static void opening(void)
{
    char buffer[8];
    struct stat status;
    CHECK(futago_umask(027) == 022 && futago_umask(027) == 027);
    int fd = futago_open("/file", O_WRONLY | O_CREAT | O_EXCL, 0666);
    CHECK(fd == 0 && (status_of("/file").st_mode & 07777) == 0640);
    CHECK(futago_umask(022) == 027);
    FAILS(futago_read(fd, buffer, 1), EBADF);
    CHECK(futago_write(fd, "data", 4) == 4 && futago_close(fd) == 0);
    FAILS(futago_close(fd), EBADF);
    FAILS(futago_open("/file", O_RDWR | O_CREAT | O_EXCL, 0666), EEXIST);
    FAILS(futago_open("/missing", O_RDONLY, 0), ENOENT);
    FAILS(futago_open("/", O_RDONLY, 0), EISDIR);
    FAILS(futago_open("/", O_RDONLY | O_DIRECTORY, 0), EISDIR);
    FAILS(futago_open("/file", O_RDONLY | O_DIRECTORY, 0), ENOTDIR);
    FAILS(futago_open("/", O_RDWR | O_TMPFILE, 0600), EOPNOTSUPP);
    FAILS(futago_open(NULL, O_RDONLY, 0), EFAULT);
    fd = futago_open("/file", O_RDONLY | O_CLOEXEC, 0);
    FAILS(futago_write(fd, "x", 1), EBADF);
    FAILS(futago_ftruncate(fd, 0), EINVAL);
    CHECK(futago_read(fd, buffer, 8) == 4 && futago_read(fd, buffer, 8) == 0);
    CHECK(futago_close(fd) == 0);
    fd = futago_open("/file", O_WRONLY | O_TRUNC, 0);
    CHECK(futago_fstat(fd, &status) == 0 && status.st_size == 0 && futago_close(fd) == 0);
}

/* Two descriptors of one open file share its position and its lock. */
static void duplicates(void)
{
    char buffer[4];
    int fd = created("/twice"), other = created("/twice"), twin = futago_dup(fd);
    CHECK(twin > other);
    FAILS(futago_dup(99), EBADF);
    CHECK(futago_write(fd, "data", 4) == 4 && futago_lseek(twin, 0, SEEK_CUR) == 4);
    CHECK(futago_lseek(twin, 0, SEEK_SET) == 0 && futago_lseek(fd, 0, SEEK_CUR) == 0);
    CHECK(futago_flock(fd, LOCK_EX) == 0 && futago_close(fd) == 0);
    FAILS(futago_read(fd, buffer, 4), EBADF);
    FAILS(futago_flock(other, LOCK_EX | LOCK_NB), EWOULDBLOCK);
    CHECK(futago_read(twin, buffer, 4) == 4 && memcmp(buffer, "data", 4) == 0);
    CHECK(futago_dup(twin) == fd && futago_close(fd) == 0 && futago_close(twin) == 0);
    CHECK(futago_flock(other, LOCK_EX | LOCK_NB) == 0 && futago_close(other) == 0);
}

static void data(void)
{
    char buffer[16], part[2][4];
    int fd = created("/data");
    CHECK(futago_write(fd, "hello", 5) == 5);
    CHECK(futago_pwrite(fd, " world", 6, 5) == 6);
    CHECK(futago_lseek(fd, 0, SEEK_CUR) == 5);
    CHECK(futago_read(fd, buffer, sizeof(buffer)) == 6 && memcmp(buffer, " world", 6) == 0);
    CHECK(futago_lseek(fd, -11, SEEK_END) == 0);
    FAILS(futago_lseek(fd, -1, SEEK_SET), EINVAL);
    FAILS(futago_lseek(fd, 0, 77), EINVAL);
    FAILS(futago_pread(fd, buffer, 5, -1), EINVAL);
    FAILS(futago_pread(fd, NULL, 5, 0), EFAULT);
    FAILS(futago_pwrite(fd, buffer, 5, INT64_MAX), EFBIG);
    CHECK(futago_pwrite(fd, NULL, 0, 0) == 0);

    struct iovec from[3] = {{(void *)"ab", 2}, {NULL, 0}, {(void *)"cdef", 4}};
    struct iovec into[2] = {{part[0], 4}, {part[1], 4}};
    CHECK(futago_pwritev(fd, from, 3, 1) == 6);
    CHECK(futago_preadv(fd, into, 2, 0) == 8 && memcmp(part, "habcdefo", 8) == 0);
    CHECK(futago_lseek(fd, 7, SEEK_SET) == 7 && futago_writev(fd, from, 3) == 6);
    CHECK(futago_lseek(fd, 7, SEEK_SET) == 7 && futago_readv(fd, into, 2) == 6);
    CHECK(memcmp(part, "abcdef", 6) == 0 && futago_lseek(fd, 0, SEEK_CUR) == 13);
    FAILS(futago_readv(fd, into, -1), EINVAL);
    FAILS(futago_readv(fd, into, IOV_MAX + 1), EINVAL);
    FAILS(futago_readv(fd, NULL, 1), EFAULT);
    CHECK(futago_fsync(fd) == 0 && futago_fdatasync(fd) == 0 && futago_close(fd) == 0);
}

static void appending(void)
{
    int fd = futago_open("/append", O_WRONLY | O_CREAT | O_APPEND | O_SYNC, 0600);
    int other = created("/append");
    CHECK(futago_write(other, "12345", 5) == 5);
    CHECK(futago_write(fd, "6", 1) == 1 && futago_lseek(fd, 0, SEEK_CUR) == 6);
    CHECK(futago_pwrite(fd, "7", 1, 0) == 1 && futago_lseek(fd, 0, SEEK_END) == 7);
    CHECK(futago_close(fd) == 0 && futago_close(other) == 0);
}

static void sizes(void)
{
    struct statvfs space;
    int fd = created("/sizes");
    CHECK(futago_pwrite(fd, "data", 4, 1 << 20) == 4 && futago_ftruncate(fd, 3 << 20) == 0);
    CHECK(futago_lseek(fd, 0, SEEK_DATA) == 1 << 20 && futago_lseek(fd, 0, SEEK_HOLE) == 0);
    FAILS(futago_lseek(fd, 2 << 20, SEEK_DATA), ENXIO);
    CHECK(futago_truncate("/sizes", 5) == 0 && status_of("/sizes").st_size == 5);
    FAILS(futago_truncate("/sizes", -1), EINVAL);
    FAILS(futago_truncate("/", 5), EISDIR);
    CHECK(futago_fallocate(fd, 0, 0, 4096) == 0 && status_of("/sizes").st_size == 4096);
    CHECK(futago_fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) == 0);
    FAILS(futago_fallocate(fd, FALLOC_FL_COLLAPSE_RANGE, 0, 4096), EOPNOTSUPP);
    FAILS(futago_fallocate(fd, 0, 0, 0), EINVAL);
    CHECK(futago_close(fd) == 0);
    CHECK(futago_statvfs("/sizes", &space) == 0);
    CHECK(space.f_bfree <= space.f_blocks && space.f_blocks > 0 && space.f_namemax == 255);
    FAILS(futago_statvfs("/missing", &space), ENOENT);
}

static void attributes(void)
{
    struct timespec times[2] = {{77, 5}, {88, 6}}, one[2] = {{0, UTIME_OMIT}, {99, 7}};
    struct timespec bad[2] = {{0, -5}, {0, 0}};
    struct stat status;
    int fd = created("/attributes");
    CHECK(futago_symlink("attributes", "/link") == 0);
    CHECK(futago_chmod("/link", 04711) == 0 && status_of("/attributes").st_mode == (S_IFREG | 04711));
    CHECK(futago_access("/link", X_OK) == 0);
    CHECK(futago_fchmod(fd, 0600) == 0 && futago_fstat(fd, &status) == 0);
    CHECK((status.st_mode & 07777) == 0600 && status.st_uid == geteuid() && status.st_nlink == 1);
    CHECK(futago_access("/attributes", R_OK | W_OK) == 0);
    FAILS(futago_access("/attributes", X_OK), EACCES);
    FAILS(futago_access("/missing", F_OK), ENOENT);
    FAILS(futago_access("/link", 99), EINVAL);
    CHECK(futago_chown("/link", 12, -1) == 0 && futago_fchown(fd, -1, 13) == 0);
    CHECK(status_of("/attributes").st_uid == 12 && status_of("/attributes").st_gid == 13);
    CHECK(futago_lchown("/link", 14, 15) == 0 && status_of("/link").st_uid == 14);
    CHECK(futago_utimens("/link", times, 0) == 0);
    status = status_of("/attributes");
    CHECK(status.st_atim.tv_sec == 77 && status.st_mtim.tv_nsec == 6);
    CHECK(futago_futimens(fd, one) == 0);
    status = status_of("/attributes");
    CHECK(status.st_atim.tv_sec == 77 && status.st_mtim.tv_sec == 99);
    CHECK(futago_utimens("/link", times, AT_SYMLINK_NOFOLLOW) == 0);
    CHECK(status_of("/link").st_mtim.tv_sec == 88);
    CHECK(futago_futimens(fd, NULL) == 0 && status_of("/attributes").st_mtim.tv_sec > 1000);
    FAILS(futago_futimens(fd, bad), EINVAL);
    FAILS(futago_utimens("/link", NULL, 1), EINVAL);
    FAILS(futago_stat("/link", NULL), EFAULT);
    CHECK(futago_stat("/link", &status) == 0 && S_ISREG(status.st_mode));
    CHECK(futago_close(fd) == 0);
}

static void names(void)
{
    char target[16];
    CHECK(futago_close(created("/name")) == 0 && futago_mkdir("/d", 0777) == 0);
    CHECK((status_of("/d").st_mode & 07777) == 0755);
    FAILS(futago_mkdir("/d", 0777), EEXIST);
    CHECK(futago_link("/name", "/d/other") == 0 && status_of("/name").st_nlink == 2);
    CHECK(futago_rename("/name", "/d/renamed") == 0);
    FAILS(futago_unlink("/name"), ENOENT);
    FAILS(futago_unlink("/d"), EISDIR);
    FAILS(futago_rmdir("/d"), ENOTEMPTY);
    CHECK(futago_symlink("/d/renamed", "/d/link") == 0);
    CHECK(futago_readlink("/d/link", target, sizeof(target)) == 10);
    CHECK(futago_readlink("/d/link", target, 2) == 2 && memcmp(target, "/d", 2) == 0);
    FAILS(futago_readlink("/d", target, 2), EINVAL);
    FAILS(futago_open("/d/link", O_RDONLY | O_NOFOLLOW, 0), ELOOP);
    CHECK(futago_unlink("/d/link") == 0 && futago_unlink("/d/other") == 0);
    CHECK(futago_unlink("/d/renamed") == 0 && futago_rmdir("/d") == 0);
}

static void directories(void)
{
    enum { ENTRIES = 1500 };
    static char seen[ENTRIES];
    char name[32], middle[256];
    long position = 0;
    struct dirent *entry;
    CHECK(futago_mkdir("/list", 0755) == 0);
    for (int i = 0; i < ENTRIES; i++) {
        snprintf(name, sizeof(name), "/list/%d", i);
        CHECK(futago_close(created(name)) == 0);
    }
    futago_dir *dir = futago_opendir("/list");
    CHECK(dir != NULL && futago_telldir(dir) == 0);
    CHECK(strcmp(futago_readdir(dir)->d_name, ".") == 0);
    CHECK(strcmp(futago_readdir(dir)->d_name, "..") == 0);
    for (int count = 0; (entry = futago_readdir(dir)) != NULL; count++) {
        CHECK(entry->d_type == DT_REG && entry->d_ino != 0);
        CHECK(entry->d_off == futago_telldir(dir));
        seen[atoi(entry->d_name)]++;
        if (count == 1100)
            position = entry->d_off;
        if (count == 1101)
            strcpy(middle, entry->d_name);
    }
    for (int i = 0; i < ENTRIES; i++)
        CHECK(seen[i] == 1);
    futago_seekdir(dir, position);
    CHECK(strcmp(futago_readdir(dir)->d_name, middle) == 0);
    futago_rewinddir(dir);
    CHECK(strcmp(futago_readdir(dir)->d_name, ".") == 0);
    CHECK(futago_closedir(dir) == 0);
    errno = 0;
    CHECK(futago_opendir("/missing") == NULL && errno == ENOENT);
    CHECK(futago_opendir("/data") == NULL && errno == ENOTDIR);
    FAILS(futago_closedir(NULL), EBADF);
}

static void xattrs(void)
{
    char value[16], list[64];
    int fd = created("/xattrs");
    CHECK(futago_symlink("/xattrs", "/xlink") == 0);
    CHECK(futago_setxattr("/xlink", "user.a", "12345", 5, XATTR_CREATE) == 0);
    FAILS(futago_fsetxattr(fd, "user.a", "1", 1, XATTR_CREATE), EEXIST);
    FAILS(futago_fsetxattr(fd, "user.b", "1", 1, XATTR_REPLACE), ENODATA);
    FAILS(futago_fsetxattr(fd, "user.b", "1", 1, 77), EINVAL);
    FAILS(futago_fsetxattr(fd, "user.b", "1", 1 << 20, 0), E2BIG);
    FAILS(futago_lsetxattr("/xlink", "user.a", "1", 1, 0), EPERM);
    FAILS(futago_setxattr("/xlink", "system.posix_acl_access", "1", 1, 0), EOPNOTSUPP);
    CHECK(futago_fsetxattr(fd, "user.b", NULL, 0, 0) == 0);
    CHECK(futago_getxattr("/xlink", "user.a", NULL, 0) == 5);
    CHECK(futago_fgetxattr(fd, "user.a", value, sizeof(value)) == 5);
    CHECK(memcmp(value, "12345", 5) == 0);
    FAILS(futago_getxattr("/xattrs", "user.a", value, 4), ERANGE);
    FAILS(futago_lgetxattr("/xlink", "user.a", value, 4), ENODATA);
    CHECK(futago_listxattr("/xlink", NULL, 0) == 14 && futago_flistxattr(fd, list, 64) == 14);
    CHECK(memcmp(list, "user.a\0user.b\0", 14) == 0);
    CHECK(futago_llistxattr("/xlink", list, 64) == 0);
    CHECK(futago_removexattr("/xlink", "user.a") == 0 && futago_fremovexattr(fd, "user.b") == 0);
    FAILS(futago_fremovexattr(fd, "user.b"), ENODATA);
    FAILS(futago_lremovexattr("/xlink", "user.a"), EPERM);
    CHECK(futago_close(fd) == 0);
}

static void locks(void)
{
    struct flock lock = {F_WRLCK, SEEK_SET, 10, 5, 0}, whole = {F_RDLCK, SEEK_SET, 0, 0, 0};
    int fd = created("/locks"), other = created("/locks");
    CHECK(futago_flock(fd, LOCK_EX) == 0);
    FAILS(futago_flock(other, LOCK_SH | LOCK_NB), EWOULDBLOCK);
    CHECK(futago_flock(fd, LOCK_UN) == 0 && futago_flock(other, LOCK_SH | LOCK_NB) == 0);
    FAILS(futago_flock(fd, 77), EINVAL);

    CHECK(futago_fcntl(fd, F_SETLKW, &lock) == 0 && futago_fcntl(other, F_SETLK, &lock) == 0);
    FAILS(futago_fcntl(other, F_OFD_SETLK, &whole), EAGAIN);
    CHECK(futago_fcntl(other, F_OFD_GETLK, &whole) == 0);
    CHECK(whole.l_type == F_WRLCK && whole.l_start == 10 && whole.l_len == 5);
    CHECK(whole.l_pid == getpid());
    lock.l_type = F_UNLCK;
    CHECK(futago_fcntl(other, F_SETLK, &lock) == 0);
    whole = (struct flock){F_RDLCK, SEEK_END, 0, 0, 0};
    CHECK(futago_fcntl(fd, F_OFD_GETLK, &whole) == 0 && whole.l_type == F_UNLCK);
    FAILS(futago_fcntl(fd, F_GETFL, &lock), EINVAL);
    FAILS(futago_fcntl(fd, F_SETLK, NULL), EFAULT);
    CHECK(futago_close(fd) == 0 && futago_close(other) == 0);
}

int main(void)
{
    struct stat status;
    FAILS(futago_open("/data", O_RDONLY, 0), ENOTCONN);
    FAILS(futago_close(0), EBADF);
    FAILS(futago_connect("missing.toml"), ENOENT);
    CHECK(futago_connect(NULL) == 0 && futago_connect(NULL) == 0);
    CHECK(strlen(futago_version()) >= 5);
    opening();
    duplicates();
    data();
    appending();
    sizes();
    attributes();
    names();
    directories();
    xattrs();
    locks();
    /* The end closes what is open, and a second session finds what was written. */
    int fd = created("/last");
    CHECK(futago_write(fd, "last", 4) == 4);
    futago_sync();
    CHECK(futago_disconnect() == 0);
    FAILS(futago_write(fd, "x", 1), EBADF);
    CHECK(futago_connect(getenv("FUTAGO_CLUSTER")) == 0);
    CHECK(futago_stat("/last", &status) == 0 && status.st_size == 4);
    return futago_disconnect();
}
