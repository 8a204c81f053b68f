/* The header needs nothing before it. */
#include <futago.h>

int main(void)
{
    struct futago_completion completion = {NULL, 0, 0};
    futago_queue *queue = NULL;
    return futago_queue_wait(queue, &completion, 1, 0) == -1 && futago_version() ? 0 : 1;
}
