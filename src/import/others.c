#include "import/others.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { HEAD = 512 };

struct other {
    const char *end; /* of its name; NULL: any */
    const char *begin;
    unsigned length, at; /* of begin; where it is in the file */
    const char *text;
};

#define NSYS_EXPORT "nsys export --type sqlite"
#define NAMED(end) end, NULL, 0, 0
#define BEGINS(bytes) NULL, bytes, sizeof(bytes) - 1, 0

/* The first that fits counts. */
static const struct other others[] = {
    { NULL, "ustar", 5, 257, "a tar archive: unpack it first" },
    { BEGINS("PK\3\4"), "a zip archive: unpack it first" },
    { BEGINS("\x28\xb5\x2f\xfd"), "packed by zstd: unpack it first, with zstd -d" },
    { BEGINS("\xfd\x37zXZ"), "packed by xz: unpack it first, with xz -d" },
    { BEGINS("BZh"), "packed by bzip2: unpack it first, with bzip2 -d" },
    { BEGINS("\xff\xfe"), "text in UTF-16: make it UTF-8 first, with iconv -f UTF-16 -t UTF-8" },
    { BEGINS("\xfe\xff"), "text in UTF-16: make it UTF-8 first, with iconv -f UTF-16 -t UTF-8" },
    { NAMED(".nsys-rep"), "a report of Nsight Systems: export it first, with " NSYS_EXPORT },
    { NAMED(".qdrep"), "a report of Nsight Systems: export it first, with " NSYS_EXPORT },
    { NAMED(".qdstrm"),
      "a report that Nsight Systems did not finish: make it one with QdstrmImporter, then export it "
      "with " NSYS_EXPORT },
    { NAMED(".ncu-rep"),
      "a report of Nsight Compute, which runs kernels one by one: what a program waits for is in a "
      "trace of wallshim record, of Nsight Systems or of the PyTorch profiler" },
    { BEGINS("PAR1"), "Parquet: of Nsight Systems' exports SQLite is read, from " NSYS_EXPORT },
    { BEGINS("ARROW1"), "Arrow: of Nsight Systems' exports SQLite is read, from " NSYS_EXPORT },
    { BEGINS("\x89HDF\r\n"), "HDF5: of Nsight Systems' exports SQLite is read, from " NSYS_EXPORT },
    { NAMED(".xplane.pb"), "a profile of XLA (JAX, TensorFlow), which is not read: record the program with wallshim "
                           "record or Nsight Systems" },
    { NAMED(".pftrace"), "a trace of Perfetto's, which is not read: wanted is the PyTorch profiler's JSON" },
    { NAMED(".perfetto-trace"), "a trace of Perfetto's, which is not read: wanted is the PyTorch profiler's JSON" },
    { NAMED(".pickle"),
      "a pickle of Python's, as of a snapshot of memory: wanted is what export_chrome_trace writes" },
    { NAMED(".csv"), "a table, without what happened when: wanted is the trace it was made from" },
};

static bool fits(const struct other *other, const char *path, const char *head, size_t size)
{
    size_t length = strlen(path), end = other->end ? strlen(other->end) : 0;
    if (other->end && (length < end || strcmp(path + length - end, other->end) != 0))
        return false;
    return size >= other->at + other->length &&
           (!other->length || !memcmp(head + other->at, other->begin, other->length));
}

const char *ws_others_say(const char *path)
{
    char head[HEAD];
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t size = file < 0 ? -1 : read(file, head, sizeof(head));
    if (file >= 0)
        close(file);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]) && size > 0; i++)
        if (fits(&others[i], path, head, (size_t)size))
            return others[i].text;
    return NULL;
}
