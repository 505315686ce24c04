/* Streams a trace to a collector as fast as possible, from many processes:
 *
 *   collector_load SOCKET TRACE PRODUCERS TIMES
 *
 * Each of the PRODUCERS processes sends the trace TIMES times, as one recording after the other. The collector
 * accepts at most 16 recordings of one process. Once the collector has received all recordings, the program prints
 * how many seconds that took, and ends with status 0. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/minmax.h"
#include "wire/channel.h"

static uint8_t *trace;
static uint64_t trace_size;

static void fail(const char *what)
{
    perror(what);
    _exit(1);
}

static void load_trace(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct stat about;
    if (!file || fstat(fileno(file), &about))
        fail(path);
    trace_size = (uint64_t)about.st_size;
    trace = malloc(trace_size);
    if (!trace || fread(trace, 1, trace_size, file) != trace_size)
        fail(path);
    fclose(file);
}

static int load_connect(const char *path, uint64_t stream)
{
    uint8_t bytes[WS_CHANNEL_HELLO_SIZE];
    struct ws_channel_hello hello = { .stream = stream, .pid = (uint32_t)getpid(), .file = "load.wst" };
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)))
        fail(path);
    ws_channel_write_hello(bytes, &hello);
    if (send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL) < 0)
        fail("HELLO");
    return fd;
}

/* Reads an answer of the collector. Returns how many bytes of the trace the collector has received; 0: there is no
 * answer yet (only if the flags are MSG_DONTWAIT). */
static uint64_t read_answer(int fd, int flags)
{
    uint8_t bytes[WS_CHANNEL_START_SIZE + 1];
    struct ws_channel_message answer;
    ssize_t size = recv(fd, bytes, sizeof(bytes), flags);
    if (size < 0 && flags)
        return 0;
    if (size <= 0 || ws_channel_read(bytes, (size_t)size, &answer) ||
        (answer.kind != WS_CHANNEL_WELCOME && answer.kind != WS_CHANNEL_TAKEN))
        fail("the collector has not taken it all");
    return answer.number;
}

static void send_trace(const char *path, uint64_t stream)
{
    uint8_t start[WS_CHANNEL_START_SIZE];
    int fd = load_connect(path, stream);
    uint64_t taken = read_answer(fd, 0);
    for (uint64_t at = 0; at < trace_size;) {
        size_t size = (size_t)ws_min(trace_size - at, (uint64_t)WS_CHANNEL_DATA_MAX);
        struct iovec parts[] = { { start, sizeof(start) }, { trace + at, size } };
        struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
        ws_channel_write(start, WS_CHANNEL_DATA, at, size);
        if (sendmsg(fd, &message, MSG_NOSIGNAL) < 0)
            fail("DATA");
        at += size;
        for (uint64_t answer; (answer = read_answer(fd, MSG_DONTWAIT));)
            taken = answer;
    }
    while (taken < trace_size)
        taken = read_answer(fd, 0);
    ws_channel_write(start, WS_CHANNEL_GOODBYE, trace_size, 0);
    if (send(fd, start, sizeof(start), MSG_NOSIGNAL) < 0)
        fail("GOODBYE");
    close(fd);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int count, char **words)
{
    if (count != 5) {
        fprintf(stderr, "usage: collector_load SOCKET TRACE PRODUCERS TIMES\n");
        return 2;
    }
    int producers = atoi(words[3]), times = atoi(words[4]), failed = 0, status;
    load_trace(words[2]);
    double begin = seconds();
    for (int i = 0; i < producers; i++) {
        if (fork())
            continue;
        for (int time = 0; time < times; time++)
            send_trace(words[1], (uint64_t)time + 1);
        _exit(0);
    }
    while (wait(&status) > 0)
        failed |= status;
    printf("%.6f\n", seconds() - begin);
    return failed ? 1 : 0;
}
