#include "model/own_code.h"

#include <string.h>

/* A path that contains one of these parts belongs to an installed package or to generated code. */
static const char *const foreign[] = { "/site-packages/", "/dist-packages/", "/lib/python", "<frozen ", "<string>" };

/* A path of native code that begins with one of these texts belongs to the system, to a package, to CUDA or to Rust.
 */
static const char *const foreign_folders[] = {
    "/usr/lib",     "/usr/include",  "/usr/local/lib", "/usr/local/include", "/usr/local/cuda",
    "/lib",         "/opt/nvidia/",  "/opt/cuda",      "/opt/conda",         "/rustc/",
    "library/std/", "library/core/", "linux-vdso",
};

/* A path of native code that contains one of these parts belongs to a compiler or to a package. */
static const char *const foreign_parts[] = { "/include/c++/", "/.cargo/registry/" };

/* A file of native code whose name begins with one of these texts is a well-known library. */
static const char *const foreign_files[] = {
    "libcuda.",    "libcudart",   "libcublas", "libcudnn", "libcufft",    "libcupti",  "libcurand",
    "libcusolver", "libcusparse", "libnccl",   "libnvrtc", "libnvJit",    "libnvidia", "libtorch",
    "libc10",      "libc.so",     "libm.so",   "libdl.so", "libpthread",  "libstdc++", "libgcc_s",
    "libc++",      "ld-linux",    "libasan",   "libtsan",  "libwallshim", "libpython", "python",
};

static bool contains_any(const char *path, size_t length, const char *const *parts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (memmem(path, length, parts[i], strlen(parts[i])))
            return true;
    return false;
}

static bool begins_with_any(const char *path, size_t length, const char *const *parts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (length >= strlen(parts[i]) && !memcmp(path, parts[i], strlen(parts[i])))
            return true;
    return false;
}

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

bool ws_is_own_file(const char *path, size_t length)
{
    /* PyTorch's profiler shortens the paths of PyTorch's own files: the short paths begin with "torch/". */
    static const char torch[] = "torch/";
    if (contains_any(path, length, foreign, COUNT(foreign)))
        return false;
    return length < strlen(torch) || memcmp(path, torch, strlen(torch)) != 0;
}

bool ws_is_own_module(const char *path, size_t length)
{
    const char *slash = memrchr(path, '/', length);
    const char *file = slash ? slash + 1 : path;
    return ws_is_own_file(path, length) && !contains_any(path, length, foreign_parts, COUNT(foreign_parts)) &&
           !begins_with_any(path, length, foreign_folders, COUNT(foreign_folders)) &&
           !begins_with_any(file, (size_t)(path + length - file), foreign_files, COUNT(foreign_files));
}
