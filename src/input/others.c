#include "input/others.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { HEAD = 512 };

struct other {
    const char *end; /* suffix of the file's name; NULL: any name */
    const char *begin;
    unsigned length, at; /* length of `begin` in bytes; offset of `begin` in the file */
    const char *text;
};

#define NSYS_EXPORT "nsys export --type sqlite"
#define PERFETTO                                                                                            \
    "a Perfetto trace by its name only, or this wallshim was built without libprotobuf-c: use the PyTorch " \
    "profiler's JSON"
#define NAMED(end) end, NULL, 0, 0
#define BEGINS(bytes) NULL, bytes, sizeof(bytes) - 1, 0

/* The first row that matches a file gives the text about the file. */
static const struct other others[] = {
    { BEGINS("\xff\xfe"), "text in UTF-16: convert it first, with iconv -f UTF-16 -t UTF-8" },
    { BEGINS("\xfe\xff"), "text in UTF-16: convert it first, with iconv -f UTF-16 -t UTF-8" },
    { NAMED(".nsys-rep"), "a report of Nsight Systems: export it first, with " NSYS_EXPORT },
    { NAMED(".qdrep"), "a report of Nsight Systems: export it first, with " NSYS_EXPORT },
    { NAMED(".qdstrm"), "an unfinished report of Nsight Systems: convert it with QdstrmImporter, then export it "
                        "with " NSYS_EXPORT },
    { NAMED(".ncu-rep"), "a report of Nsight Compute, which runs kernels one by one and records no waits: use a "
                         "trace of wallshim record, Nsight Systems or the PyTorch profiler" },
    { BEGINS("PAR1"), "Parquet: only SQLite exports of Nsight Systems can be read: " NSYS_EXPORT },
    { BEGINS("ARROW1"), "Arrow: only SQLite exports of Nsight Systems can be read: " NSYS_EXPORT },
    { BEGINS("\x89HDF\r\n"), "HDF5: only SQLite exports of Nsight Systems can be read: " NSYS_EXPORT },
    { NAMED(".xplane.pb"), "a profile of XLA (JAX, TensorFlow), which is not supported: record the program with "
                           "wallshim record or Nsight Systems" },
    { NAMED(".pftrace"), PERFETTO },
    { NAMED(".perfetto-trace"), PERFETTO },
    { NAMED(".pickle"), "a Python pickle, such as a memory snapshot: use what export_chrome_trace writes" },
    { NAMED(".csv"), "a table without times of events: use the trace that it was made from" },
};

static bool fits(const struct other *other, const char *name, const char *head, size_t size)
{
    size_t length = strlen(name), end = other->end ? strlen(other->end) : 0;
    if (other->end && (length < end || strcmp(name + length - end, other->end) != 0))
        return false;
    return size >= other->at + other->length &&
           (!other->length || !memcmp(head + other->at, other->begin, other->length));
}

const char *ws_others_say(const char *name, const char *path)
{
    char head[HEAD];
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t size = file < 0 ? -1 : read(file, head, sizeof(head));
    if (file >= 0)
        close(file);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]) && size > 0; i++)
        if (fits(&others[i], name, head, (size_t)size))
            return others[i].text;
    return NULL;
}
