#include <sys/random.h>
#include <time.h>

#include "base/salted.h"

uint64_t ws_salt = 1;

__attribute__((constructor)) static void choose(void)
{
    struct timespec now;
    if (getrandom(&ws_salt, sizeof(ws_salt), GRND_NONBLOCK) != (ssize_t)sizeof(ws_salt)) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        ws_salt = (uint64_t)now.tv_nsec * 0x9e3779b97f4a7c15u;
    }
    ws_salt |= 1;
}
