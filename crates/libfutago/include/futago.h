/* Files of a Futago cluster, without a mount.
 *
 * Each function does what the one without `futago_` does: a function that fails returns -1 (or
 * NULL) and sets errno. Descriptors are numbers of this library, not of the kernel. Paths begin at
 * the root of the cluster. Any number of threads may call. docs/libfutago.md tells the rest.
 */
#ifndef FUTAGO_H
#define FUTAGO_H

#include <sys/types.h>
#include <sys/stat.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dirent;
struct flock;
struct iovec;
struct statvfs;
struct timespec;

/* Connects the process to the cluster of a cluster file; NULL stands for the one that
 * FUTAGO_CLUSTER names. Does nothing if the process is connected. */
int futago_connect(const char *cluster_file);
/* Closes all files and ends the session. */
int futago_disconnect(void);
const char *futago_version(void);
/* The file mode creation mask; it begins as that of the process. */
mode_t futago_umask(mode_t mask);

/* `mode` counts if O_CREAT makes a file. Directories are opened by futago_opendir. */
int futago_open(const char *path, int flags, mode_t mode);
int futago_close(int fd);
/* The lowest free descriptor for the same open file: both share its position and its locks. */
int futago_dup(int fd);

ssize_t futago_read(int fd, void *buf, size_t size);
ssize_t futago_pread(int fd, void *buf, size_t size, off_t offset);
ssize_t futago_readv(int fd, const struct iovec *iov, int count);
ssize_t futago_preadv(int fd, const struct iovec *iov, int count, off_t offset);
ssize_t futago_write(int fd, const void *buf, size_t size);
ssize_t futago_pwrite(int fd, const void *buf, size_t size, off_t offset);
ssize_t futago_writev(int fd, const struct iovec *iov, int count);
ssize_t futago_pwritev(int fd, const struct iovec *iov, int count, off_t offset);
/* Also with SEEK_DATA and SEEK_HOLE. */
off_t futago_lseek(int fd, off_t offset, int whence);

int futago_fsync(int fd);
int futago_fdatasync(int fd);
void futago_sync(void);
int futago_ftruncate(int fd, off_t size);
int futago_truncate(const char *path, off_t size);
int futago_fallocate(int fd, int mode, off_t offset, off_t size);

int futago_stat(const char *path, struct stat *status);
int futago_lstat(const char *path, struct stat *status);
int futago_fstat(int fd, struct stat *status);
/* Finds out whether the path exists; with X_OK also whether anybody may execute it. */
int futago_access(const char *path, int mode);
int futago_chmod(const char *path, mode_t mode);
int futago_fchmod(int fd, mode_t mode);
int futago_chown(const char *path, uid_t owner, gid_t group);
int futago_lchown(const char *path, uid_t owner, gid_t group);
int futago_fchown(int fd, uid_t owner, gid_t group);
/* As utimensat: two times, or NULL for now; flags are 0 or AT_SYMLINK_NOFOLLOW. */
int futago_utimens(const char *path, const struct timespec *times, int flags);
int futago_futimens(int fd, const struct timespec *times);
int futago_statvfs(const char *path, struct statvfs *space);

int futago_rename(const char *path, const char *new_path);
int futago_link(const char *path, const char *new_path);
int futago_symlink(const char *target, const char *path);
ssize_t futago_readlink(const char *path, char *buf, size_t size);
int futago_unlink(const char *path);
int futago_mkdir(const char *path, mode_t mode);
int futago_rmdir(const char *path);

/* One thread at a time may use a directory. */
typedef struct futago_dir futago_dir;
futago_dir *futago_opendir(const char *path);
struct dirent *futago_readdir(futago_dir *dir);
long futago_telldir(futago_dir *dir);
void futago_seekdir(futago_dir *dir, long position);
void futago_rewinddir(futago_dir *dir);
int futago_closedir(futago_dir *dir);

ssize_t futago_getxattr(const char *path, const char *name, void *value, size_t size);
ssize_t futago_lgetxattr(const char *path, const char *name, void *value, size_t size);
ssize_t futago_fgetxattr(int fd, const char *name, void *value, size_t size);
int futago_setxattr(const char *path, const char *name, const void *value, size_t size, int flags);
int futago_lsetxattr(const char *path, const char *name, const void *value, size_t size, int flags);
int futago_fsetxattr(int fd, const char *name, const void *value, size_t size, int flags);
ssize_t futago_listxattr(const char *path, char *list, size_t size);
ssize_t futago_llistxattr(const char *path, char *list, size_t size);
ssize_t futago_flistxattr(int fd, char *list, size_t size);
int futago_removexattr(const char *path, const char *name);
int futago_lremovexattr(const char *path, const char *name);
int futago_fremovexattr(int fd, const char *name);

int futago_flock(int fd, int operation);
/* F_GETLK, F_SETLK, F_SETLKW and F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW. */
int futago_fcntl(int fd, int command, struct flock *lock);

/* Operations that do not block: they are submitted to a queue, and the queue hands over each when
 * it has ended, in any order. */
typedef struct futago_queue futago_queue;
struct futago_completion {
    void *data;     /* as it was submitted */
    ssize_t result; /* of the function of the same name */
    int error;      /* errno if the result is -1 */
};
futago_queue *futago_queue_create(void);
/* Waits for what is under way, and frees the queue. */
int futago_queue_destroy(futago_queue *queue);
/* The memory stays the library's until the read has ended. */
int futago_submit_pread(futago_queue *queue, int fd, void *buf, size_t size, off_t offset,
                        void *data);
/* The data is copied: the memory may be used again at once. */
int futago_submit_pwrite(futago_queue *queue, int fd, const void *buf, size_t size, off_t offset,
                         void *data);
int futago_submit_fsync(futago_queue *queue, int fd, void *data);
/* Waits for at least one completion and takes up to `count`. Returns how many; 0 after the timeout
 * in milliseconds (-1 is none), and if nothing is under way. */
int futago_queue_wait(futago_queue *queue, struct futago_completion *completions, int count,
                      int timeout_ms);
/* A descriptor of the kernel that poll finds readable while completions wait. */
int futago_queue_fd(futago_queue *queue);

#ifdef __cplusplus
}
#endif

#endif
