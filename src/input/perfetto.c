#include "input/perfetto.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yajl/yajl_tree.h>

#include "base/salted.h"
#include "base/vector.h"
#include "input/perfetto_text.h"

/* The largest accepted packet in bytes. A decoded packet takes up to sixty times its size in the file. The largest
 * packets of real traces hold the names of all kernels. */
enum { LARGEST_PACKET = 4 << 20 };

/* The JSON may have WRITTEN_ANYHOW bytes, plus MOST_WRITTEN times the size of the trace. Without a limit, a small
 * malicious trace could fill the disk, because each event in JSON repeats names that the trace holds only once. The
 * JSON of real traces is about ten times as large as the trace. */
enum { MOST_WRITTEN = 200, WRITTEN_ANYHOW = 64 << 20 };

enum { DEEPEST_TRACK = 16 };

struct track {
    uint64_t parent;
    int64_t pid, tid;
    bool is_thread, is_process;
    bool of_device; /* some slices of this track ran on a device */
};

struct slice {
    uint64_t track; /* uuid of the slice's track */
    uint64_t begin, end;
    bool ended, of_device;
};

/* The start or the end of a slice. */
struct mark {
    uint64_t track, time, order;
    size_t slice;
    bool ends;
};

struct perfetto {
    const uint8_t *bytes;
    size_t size, at;
    bool cut;
    FILE *out;
    struct ws_vector tracks; /* elements: struct track */
    struct ws_map track_of;  /* uuid of a track + 1 → index of the track + 1 */
    struct ws_vector slices; /* elements: struct slice, in the order in which the slices start in the file */
    struct ws_vector marks;  /* elements: struct mark */
    struct perfetto_texts texts;
    size_t next;    /* index of the next slice in the second pass over the file, which writes the events */
    size_t written; /* number of events written */
};

/* --- packets ----------------------------------------------------------------------------------- */

/* Reads a varint. Returns its length, or 0 if the varint is cut off. */
static size_t take_varint(const uint8_t *bytes, size_t size, uint64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < size && i < 10; i++) {
        *value |= (uint64_t)(bytes[i] & 0x7f) << (7 * i);
        if (bytes[i] < 0x80)
            return i + 1;
    }
    return 0;
}

bool ws_perfetto_claims(const unsigned char *head, size_t size)
{
    static const uint64_t length_delimited = 2;
    uint64_t length, tag;
    size_t used = size > 4 && head[0] == 0x0a ? take_varint(head + 1, size - 1, &length) : 0;
    if (!used || !length || length > LARGEST_PACKET || !take_varint(head + 1 + used, size - 1 - used, &tag))
        return false;
    /* The numbers of the protobuf fields with which the first packet may begin: a time, a sequence, an event, names,
     * flags, a clock or a track. */
    switch (tag >> 3) {
    case 8:
    case 10:
    case 13:
    case 58:
        tag = (tag & 7) ? 0 : 1;
        break;
    case 6:
    case 11:
    case 12:
    case 59:
    case 60:
        tag = (tag & 7) == length_delimited;
        break;
    default:
        return false;
    }
    size_t next = 1 + used + (size_t)length;
    return tag && (next >= size || head[next] == 0x0a);
}

/* Returns the next packet, or NULL at the end of the trace. A packet that cannot be decoded counts as the end: `cut`
 * is set. */
static Perfetto__TracePacket *next_packet(struct perfetto *perfetto)
{
    uint64_t length = 0;
    size_t left = perfetto->size - perfetto->at;
    if (!left || perfetto->cut)
        return NULL;
    size_t used = perfetto->bytes[perfetto->at] == 0x0a
                      ? take_varint(perfetto->bytes + perfetto->at + 1, left - 1, &length)
                      : 0;
    Perfetto__TracePacket *packet = NULL;
    if (used && length <= left - 1 - used && length <= LARGEST_PACKET)
        packet = perfetto__trace_packet__unpack(NULL, (size_t)length, perfetto->bytes + perfetto->at + 1 + used);
    perfetto->cut = !packet;
    perfetto->at += 1 + used + (size_t)length;
    return packet;
}

/* --- first pass: tracks, and the end of each slice --------------------------------------------------- */

static struct track *track_at(const struct perfetto *perfetto, uint64_t uuid)
{
    const uint64_t *place = ws_salted_get(&perfetto->track_of, uuid + 1 ? uuid + 1 : 1);
    return place && *place ? (struct track *)perfetto->tracks.data + (*place - 1) : NULL;
}

static int add_track(struct perfetto *perfetto, const Perfetto__TrackDescriptor *descriptor)
{
    uint64_t *place = ws_salted_put(&perfetto->track_of, descriptor->uuid + 1 ? descriptor->uuid + 1 : 1);
    struct track *track = place ? ws_vector_push(&perfetto->tracks) : NULL;
    if (!track)
        return -ENOMEM;
    *place = perfetto->tracks.count;
    track->parent = descriptor->parent_uuid;
    if (descriptor->thread) {
        track->is_thread = true;
        track->pid = descriptor->thread->pid;
        track->tid = descriptor->thread->tid;
    } else if (descriptor->process) {
        track->is_process = true;
        track->pid = descriptor->process->pid;
    }
    return 0;
}

/* Returns the track of the thread or process that a track belongs to, or NULL. */
static struct track *track_owner(const struct perfetto *perfetto, uint64_t uuid)
{
    struct track *track = track_at(perfetto, uuid);
    for (int i = 0; track && !track->is_thread && !track->is_process && i < DEEPEST_TRACK; i++)
        track = track_at(perfetto, track->parent);
    return track && (track->is_thread || track->is_process) ? track : NULL;
}

static int add_mark(struct perfetto *perfetto, const Perfetto__TracePacket *packet)
{
    const Perfetto__TrackEvent *event = packet->track_event;
    bool ends = event->type == PERFETTO__TRACK_EVENT__TYPE__SLICE_END;
    struct mark *mark = ws_vector_push(&perfetto->marks);
    struct slice *slice = !mark || ends ? NULL : ws_vector_push(&perfetto->slices);
    if (!mark || (!ends && !slice))
        return -ENOMEM;
    *mark = (struct mark){ .track = event->track_uuid,
                           .time = packet->timestamp,
                           .order = perfetto->marks.count,
                           .slice = perfetto->slices.count - 1,
                           .ends = ends };
    if (ends)
        return 0;
    char *arguments = perfetto_arguments(&perfetto->texts, packet->trusted_packet_sequence_id, event);
    if (!arguments)
        return -ENOMEM;
    *slice = (struct slice){ .track = event->track_uuid,
                             .begin = packet->timestamp,
                             .of_device = perfetto_is_of_device(arguments) };
    free(arguments);
    return 0;
}

static bool is_json(const char *text)
{
    yajl_val parsed = yajl_tree_parse(text, NULL, 0);
    bool is = parsed != NULL;
    yajl_tree_free(parsed);
    return is;
}

/* Writes facts about the whole trace. The trace holds the facts as instant events whose values are JSON. The list of
 * device properties may lack its brackets. */
static void put_facts(struct perfetto *perfetto, const Perfetto__TrackEvent *event)
{
    const char *name = event->name ? event->name : "";
    bool devices = !strcmp(name, "device_properties");
    if (!devices && strcmp(name, "trace_metadata") != 0)
        return;
    for (size_t i = 0; i < event->n_debug_annotations; i++) {
        const char *key = event->debug_annotations[i]->name, *value = event->debug_annotations[i]->string_value;
        if (!key || !value || !*value)
            continue;
        perfetto_put_text(perfetto->out, devices ? "deviceProperties" : key);
        putc(':', perfetto->out);
        if (devices)
            fprintf(perfetto->out, *value == '[' ? "%s" : "[%s]", value);
        else if (is_json(value))
            fputs(value, perfetto->out);
        else
            perfetto_put_text(perfetto->out, value);
        fputs(",\n", perfetto->out);
    }
}

static int mark_order(const void *a, const void *b)
{
    const struct mark *x = a, *y = b;
    if (x->track != y->track)
        return x->track < y->track ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Finds the ends of a track's slices. If the marks (starts and ends of slices) are in order of time, the slices nest,
 * and an end belongs to the latest open begin. PyTorch instead writes many begins first and then their ends in the
 * same order. */
static void match_track(struct slice *slices, const struct mark *marks, size_t count, size_t *open)
{
    bool in_order = true;
    size_t first = 0, last = 0;
    for (size_t i = 1; i < count; i++)
        in_order &= marks[i].time >= marks[i - 1].time;
    for (size_t i = 0; i < count; i++) {
        if (!marks[i].ends) {
            open[last++] = marks[i].slice;
        } else if (first < last) {
            struct slice *slice = &slices[in_order ? open[--last] : open[first++]];
            slice->end = marks[i].time;
            slice->ended = slice->end >= slice->begin;
        }
    }
}

static int match_marks(struct perfetto *perfetto)
{
    struct mark *marks = perfetto->marks.data;
    size_t count = perfetto->marks.count, last;
    size_t *open = malloc((count + 1) * sizeof(*open));
    if (!open)
        return -ENOMEM;
    if (count)
        qsort(marks, count, sizeof(*marks), mark_order);
    for (size_t first = 0; first < count; first = last) {
        for (last = first; last < count && marks[last].track == marks[first].track; last++)
            ;
        match_track(perfetto->slices.data, marks + first, last - first, open);
    }
    free(open);
    return 0;
}

static int first_pass(struct perfetto *perfetto)
{
    Perfetto__TracePacket *packet;
    int status = 0;
    while (!status && (packet = next_packet(perfetto))) {
        const Perfetto__TrackEvent *event = packet->track_event;
        status = perfetto_texts_add(&perfetto->texts, packet);
        if (!status && packet->track_descriptor)
            status = add_track(perfetto, packet->track_descriptor);
        if (!status && event &&
            (event->type == PERFETTO__TRACK_EVENT__TYPE__SLICE_BEGIN ||
             event->type == PERFETTO__TRACK_EVENT__TYPE__SLICE_END))
            status = add_mark(perfetto, packet);
        else if (!status && event)
            put_facts(perfetto, event);
        perfetto__trace_packet__free_unpacked(packet, NULL);
    }
    if (!status)
        status = match_marks(perfetto);
    const struct slice *slices = perfetto->slices.data;
    for (size_t i = 0; i < perfetto->slices.count && !status; i++) {
        struct track *owner = slices[i].of_device ? track_owner(perfetto, slices[i].track) : NULL;
        if (owner)
            owner->of_device = true;
    }
    return status;
}

/* --- second pass: events ------------------------------------------------------------------------- */

static int put_event(struct perfetto *perfetto, const Perfetto__TracePacket *packet, const struct slice *slice)
{
    const Perfetto__TrackEvent *event = packet->track_event;
    uint32_t sequence = packet->trusted_packet_sequence_id;
    const struct track *owner = track_owner(perfetto, event->track_uuid);
    const char *name = perfetto_text(&perfetto->texts, sequence, PERFETTO_EVENT_NAME, event->name, event->name_iid),
               *category = "";
    if (!slice->ended || !owner)
        return 0;
    if (event->n_categories)
        category = event->categories[0];
    else if (event->n_category_iids)
        category = perfetto_text(&perfetto->texts, sequence, PERFETTO_CATEGORY, NULL, event->category_iids[0]);
    char *arguments = perfetto_arguments(&perfetto->texts, sequence, event);
    if (!arguments)
        return -ENOMEM;
    if (!*category) /* a slice that belongs to no thread describes the whole trace */
        category = owner->is_thread ? perfetto_category(name, arguments, owner->of_device) : "Trace";
    uint64_t length = slice->end - slice->begin;
    perfetto->written++;
    fprintf(perfetto->out, ",\n{\"ph\":\"%s\",\"cat\":", strcmp(category, "cpu_instant_event") ? "X" : "i");
    perfetto_put_text(perfetto->out, category);
    fputs(",\"name\":", perfetto->out);
    perfetto_put_text(perfetto->out, name);
    fprintf(perfetto->out,
            ",\"pid\":%" PRId64 ",\"tid\":%" PRId64 ",\"ts\":%" PRIu64 ".%03u,\"dur\":%" PRIu64 ".%03u,\"args\":%s}",
            owner->pid, owner->tid, slice->begin / 1000, (unsigned)(slice->begin % 1000), length / 1000,
            (unsigned)(length % 1000), arguments);
    free(arguments);
    return 0;
}

static void put_thread_name(struct perfetto *perfetto, const Perfetto__TrackDescriptor *descriptor)
{
    const Perfetto__Thread *thread = descriptor->thread;
    if (!thread || !thread->thread_name)
        return;
    fprintf(perfetto->out,
            ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":", thread->pid,
            thread->tid);
    perfetto_put_text(perfetto->out, thread->thread_name);
    fputs("}}", perfetto->out);
}

static int second_pass(struct perfetto *perfetto)
{
    Perfetto__TracePacket *packet;
    int status = 0;
    perfetto->at = 0;
    perfetto->cut = false;
    fputs("\"traceEvents\":[{}", perfetto->out);
    while (!status && (packet = next_packet(perfetto))) {
        status = perfetto_texts_add(&perfetto->texts, packet);
        if (!status && packet->track_descriptor)
            put_thread_name(perfetto, packet->track_descriptor);
        if (!status && packet->track_event && packet->track_event->type == PERFETTO__TRACK_EVENT__TYPE__SLICE_BEGIN)
            status = put_event(perfetto, packet, (struct slice *)perfetto->slices.data + perfetto->next++);
        if (!status && (uint64_t)ftello(perfetto->out) > WRITTEN_ANYHOW + MOST_WRITTEN * (uint64_t)perfetto->size)
            status = -E2BIG;
        perfetto__trace_packet__free_unpacked(packet, NULL);
    }
    if (!perfetto->cut)
        fputs("\n]}\n", perfetto->out);
    return status ? status : perfetto->written ? 0 : -ENODATA;
}

int ws_perfetto_to_json(const char *path, FILE *out, char *message, size_t capacity)
{
    struct perfetto perfetto = { .out = out,
                                 .tracks = WS_VECTOR(struct track),
                                 .slices = WS_VECTOR(struct slice),
                                 .marks = WS_VECTOR(struct mark) };
    struct stat about;
    int file = open(path, O_RDONLY | O_CLOEXEC), status = 0;
    void *bytes = MAP_FAILED;
    if (file >= 0 && !fstat(file, &about))
        bytes = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes == MAP_FAILED) {
        status = -errno;
    } else {
        perfetto.bytes = bytes;
        perfetto.size = (size_t)about.st_size;
        fputs("{\"schemaVersion\":1,\n", out);
        status = first_pass(&perfetto);
        status = status ? status : second_pass(&perfetto);
        munmap(bytes, perfetto.size);
    }
    if (!status && (fflush(out) || ferror(out)))
        status = -errno;
    if (status == -E2BIG)
        snprintf(message, capacity, "names of its events take more than %d times its size, which is so of no trace",
                 MOST_WRITTEN);
    else if (status == -ENODATA)
        snprintf(message, capacity, "a Perfetto trace without events of the PyTorch profiler%s",
                 perfetto.cut ? ", or cut before them" : "");
    else if (status)
        snprintf(message, capacity, "cannot be read: %s", strerror(-status));
    if (file >= 0)
        close(file);
    ws_vector_finish(&perfetto.tracks);
    ws_vector_finish(&perfetto.slices);
    ws_vector_finish(&perfetto.marks);
    ws_map_finish(&perfetto.track_of);
    perfetto_texts_finish(&perfetto.texts);
    return status;
}
