/* One program with both libraries: each has a session and descriptors of its own. */
#include <sys/types.h>
#include <sys/stat.h>
#include <stdint.h>
#include <fcntl.h>
#include <chfs.h>
#include <futago.h>
#include "check.h"

int main(void)
{
    char back[4];
    CHECK(chfs_init(NULL) == 0 && futago_connect(NULL) == 0);
    int one = chfs_create("/both", 0, 0644);
    CHECK(one == 0 && chfs_write(one, "data", 4) == 4);
    int other = futago_open("/both", O_RDONLY, 0);
    CHECK(other == 0 && futago_read(other, back, 4) == 4 && memcmp(back, "data", 4) == 0);
    CHECK(futago_unlink("/both") == 0 && chfs_close(one) == 0 && futago_close(other) == 0);
    return futago_disconnect() | chfs_term();
}
