/* The header needs no more than these three before it. */
#include <sys/types.h>
#include <sys/stat.h>
#include <stdint.h>
#include <chfs.h>

int main(void)
{
    return chfs_initialized() + chfs_size();
}
