/* The interface of CHFS (https://github.com/otatebe/chfs) on a Futago cluster.
 *
 * Include <sys/types.h>, <sys/stat.h> and <stdint.h> first. A function that fails returns -1 and
 * sets errno. docs/chfs.md tells where Futago differs from CHFS.
 */
#ifndef FUTAGO_CHFS_H
#define FUTAGO_CHFS_H

#ifdef __cplusplus
extern "C" {
#endif

struct stat;

/* Hands over one entry of a directory; a value that is not 0 ends the list. */
typedef int (*chfs_filler_t)(void *, const char *, const struct stat *, off_t);

/* The file is a copy of one in the backing store. */
#define CHFS_O_CACHE (1 << 28)
/* The entry is a replica of another server's. No entry of Futago is. */
#define CHFS_S_IFREP (4 << 28)

/* Connects to the cluster of a cluster file; NULL stands for the one in CHFS_SERVER. */
int chfs_init(const char *server);
int chfs_initialized(void);
/* Closes all files and ends the session. */
int chfs_term(void);
int chfs_term_without_sync(void);
/* The number of servers. */
int chfs_size(void);
const char *chfs_version(void);

/* The chunk size of files created from now on, in bytes. */
void chfs_set_chunk_size(int chunk_size);
/* Small writes are buffered if the size is above 0 when chfs_init is called. */
void chfs_set_buf_size(int buf_size);
void chfs_set_async_access(int enable);
void chfs_set_rdma_thresh(size_t thresh);
/* How long a silent server is waited for; 0 stands for ever. Counts from the next chfs_init. */
void chfs_set_rpc_timeout_msec(int timeout);
void chfs_set_node_list_cache_timeout(int timeout);

int chfs_create(const char *path, int32_t flags, mode_t mode);
int chfs_create_chunk_size(const char *path, int32_t flags, mode_t mode, int chunk_size);
int chfs_open(const char *path, int32_t flags);
int chfs_close(int fd);
int chfs_fsync(int fd);
ssize_t chfs_pwrite(int fd, const void *buf, size_t size, off_t offset);
ssize_t chfs_write(int fd, const void *buf, size_t size);
ssize_t chfs_pread(int fd, void *buf, size_t size, off_t offset);
ssize_t chfs_read(int fd, void *buf, size_t size);
off_t chfs_seek(int fd, off_t off, int whence);

int chfs_truncate(const char *path, off_t len);
int chfs_unlink(const char *path);
int chfs_mkdir(const char *path, mode_t mode);
int chfs_rmdir(const char *path);
/* The attributes of the path itself: symbolic links are not followed. */
int chfs_stat(const char *path, struct stat *st);
int chfs_symlink(const char *target, const char *path);
int chfs_readlink(const char *path, char *buf, size_t size);
int chfs_readdir(const char *path, void *buf, chfs_filler_t filler);
/* The entries that server `index` holds. Each entry is held by one server. */
int chfs_readdir_index(const char *path, int index, void *buf, chfs_filler_t filler);

void chfs_sync(void);
void chfs_set_stagein_buf_size(int buf_size);
/* Copies a local file, directory or symbolic link to the same path of the cluster. */
int chfs_stagein(const char *path);

#ifdef __cplusplus
}
#endif

#endif
