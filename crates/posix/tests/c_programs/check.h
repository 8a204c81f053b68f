/* Ends a test program at the first statement that is false. */
#ifndef CHECK_H
#define CHECK_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(statement)                                                                     \
    do {                                                                                     \
        if (!(statement)) {                                                                  \
            fprintf(stderr, "%s:%d: %s is false (errno: %s)\n", __FILE__, __LINE__,         \
                    #statement, strerror(errno));                                            \
            exit(1);                                                                         \
        }                                                                                    \
    } while (0)

/* The call fails with this reason. */
#define FAILS(call, reason) \
    do {                    \
        errno = 0;          \
        CHECK((call) == -1); \
        CHECK(errno == (reason)); \
    } while (0)

#endif
