/* The access patterns of IOR and mdtest: a file of each rank, one file of all ranks in strides of
 * 47,008 bytes, and files of all ranks in one directory. Each rank checks what the next one has
 * written. */
#include <sys/types.h>
#include <sys/stat.h>
#include <stdint.h>
#include <mpi.h>
#include <chfs.h>
#include "check.h"

enum { LARGE = 1 << 20, BLOCKS = 16, STRIDE = 47008, STRIDES = 100, FILES = 200 };

static int rank, ranks, next;
static char data[LARGE], back[LARGE];

/* Bytes that tell the writer and the block. */
static const char *filled(int writer, int block, size_t size)
{
    memset(data, 1 + (writer * 31 + block * 7) % 255, size);
    return data;
}

static void barrier(void)
{
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
}

static void check(int fd, int writer, int block, size_t size, off_t offset)
{
    CHECK(chfs_pread(fd, back, size, offset) == (ssize_t)size);
    CHECK(memcmp(filled(writer, block, size), back, size) == 0);
}

static int file_of(int of, int create)
{
    char name[32];
    snprintf(name, sizeof(name), "easy.%d", of);
    int fd = create ? chfs_create(name, 0, 0664) : chfs_open(name, 0);
    CHECK(fd >= 0);
    return fd;
}

static void easy(void)
{
    int fd = file_of(rank, 1);
    for (int i = 0; i < BLOCKS; i++)
        CHECK(chfs_pwrite(fd, filled(rank, i, LARGE), LARGE, (off_t)i * LARGE) == LARGE);
    CHECK(chfs_fsync(fd) == 0 && chfs_close(fd) == 0);
    barrier();
    fd = file_of(next, 0);
    for (int i = 0; i < BLOCKS; i++)
        check(fd, next, i, LARGE, (off_t)i * LARGE);
    CHECK(chfs_close(fd) == 0);
}

static void hard(void)
{
    struct stat status;
    /* All ranks create the file, and some of them when others have written already. */
    int fd = chfs_create("hard", 0, 0664);
    CHECK(fd >= 0);
    for (int i = 0; i < STRIDES; i++) {
        off_t offset = ((off_t)i * ranks + rank) * STRIDE;
        CHECK(chfs_pwrite(fd, filled(rank, i, STRIDE), STRIDE, offset) == STRIDE);
    }
    CHECK(chfs_close(fd) == 0);
    barrier();
    CHECK(chfs_stat("hard", &status) == 0);
    CHECK(status.st_size == (off_t)STRIDES * ranks * STRIDE);
    fd = chfs_open("hard", 0);
    for (int i = 0; i < STRIDES; i++)
        check(fd, next, i, STRIDE, ((off_t)i * ranks + next) * STRIDE);
    CHECK(chfs_close(fd) == 0);
}

static void names(void)
{
    char name[64];
    struct stat status;
    int made = chfs_mkdir("names", 0755);
    CHECK(made == 0 || errno == EEXIST);
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof(name), "names/%d.%d", rank, i);
        int fd = chfs_create(name, 0, 0664);
        CHECK(fd >= 0 && chfs_pwrite(fd, data, 3901, 0) == 3901 && chfs_close(fd) == 0);
    }
    barrier();
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof(name), "names/%d.%d", next, i);
        CHECK(chfs_stat(name, &status) == 0 && status.st_size == 3901);
    }
    barrier();
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof(name), "names/%d.%d", rank, i);
        CHECK(chfs_unlink(name) == 0);
    }
    barrier();
    CHECK(rank != 0 || chfs_rmdir("names") == 0);
}

int main(int argc, char **argv)
{
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    next = (rank + 1) % ranks;
    CHECK(chfs_init(NULL) == 0);
    easy();
    hard();
    barrier();
    names();
    CHECK(chfs_term() == 0);
    return MPI_Finalize();
}
