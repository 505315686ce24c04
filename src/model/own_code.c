#include "model/own_code.h"

#include <string.h>

/* A path that contains one of these parts belongs to an installed package or to generated code. */
static const char *const foreign[] = { "/site-packages/", "/dist-packages/", "/lib/python", "<frozen ", "<string>" };

bool ws_is_own_file(const char *path, size_t length)
{
    static const char torch[] = "torch/"; /* PyTorch's profiler shortens paths of PyTorch's files to this */
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
        if (memmem(path, length, foreign[i], strlen(foreign[i])))
            return false;
    return length < strlen(torch) || memcmp(path, torch, strlen(torch)) != 0;
}
