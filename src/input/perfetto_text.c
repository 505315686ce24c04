#include "input/perfetto_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/salted.h"

/* Limits against malicious files: the nesting of an event's arguments, and their size in bytes. Arguments may repeat
 * a long interned text many times. */
enum { DEEPEST = 16, LARGEST_ARGUMENTS = 16 << 20 };

/* --- interned texts ------------------------------------------------------------------------------ */

static uint64_t interned_key(uint32_t sequence, enum perfetto_interned kind, uint64_t iid)
{
    const uint64_t parts[3] = { sequence, kind, iid };
    return ws_salted_key(parts, sizeof(parts));
}

static int keep_texts(struct perfetto_texts *texts, uint32_t sequence, enum perfetto_interned kind,
                      Perfetto__Interned **list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *text = list[i]->text ? list[i]->text : "";
        char *copy = ws_arena_copy(&texts->arena, text, strlen(text));
        uint64_t *place = copy ? ws_map_put(&texts->places, interned_key(sequence, kind, list[i]->iid)) : NULL;
        if (!place)
            return -ENOMEM;
        *place = (uintptr_t)copy;
    }
    return 0;
}

int perfetto_texts_add(struct perfetto_texts *texts, const Perfetto__TracePacket *packet)
{
    const Perfetto__InternedData *data = packet->interned_data;
    uint32_t sequence = packet->trusted_packet_sequence_id;
    int status = 0;
    if (!data)
        return 0;
    status |= keep_texts(texts, sequence, PERFETTO_CATEGORY, data->event_categories, data->n_event_categories);
    status |= keep_texts(texts, sequence, PERFETTO_EVENT_NAME, data->event_names, data->n_event_names);
    status |= keep_texts(texts, sequence, PERFETTO_ANNOTATION_NAME, data->debug_annotation_names,
                         data->n_debug_annotation_names);
    status |= keep_texts(texts, sequence, PERFETTO_STRING_VALUE, data->debug_annotation_string_values,
                         data->n_debug_annotation_string_values);
    return status ? -ENOMEM : 0;
}

const char *perfetto_text(const struct perfetto_texts *texts, uint32_t sequence, enum perfetto_interned kind,
                          const char *text, uint64_t iid)
{
    const uint64_t *place = text ? NULL : ws_map_get(&texts->places, interned_key(sequence, kind, iid));
    return text ? text : place ? (const char *)(uintptr_t)*place : "";
}

void perfetto_texts_finish(struct perfetto_texts *texts)
{
    ws_map_finish(&texts->places);
    ws_arena_finish(&texts->arena);
}

/* --- JSON --------------------------------------------------------------------------------------- */

void perfetto_put_text(FILE *out, const char *text)
{
    putc('"', out);
    while (*text) {
        size_t plain = 0;
        while ((unsigned char)text[plain] >= 0x20 && text[plain] != '"' && text[plain] != '\\')
            plain++;
        fwrite(text, 1, plain, out);
        text += plain;
        if (*text)
            fprintf(out, "\\u%04x", (unsigned char)*text++);
    }
    putc('"', out);
}

static void put_annotation(const struct perfetto_texts *texts, uint32_t sequence,
                           const Perfetto__Annotation *annotation, FILE *out, bool named, unsigned depth);

/* Writes the elements of a JSON list, or the members of a JSON object. */
static void put_parts(const struct perfetto_texts *texts, uint32_t sequence, const ProtobufCBinaryData *parts,
                      size_t count, FILE *out, bool named, unsigned depth)
{
    putc(named ? '{' : '[', out);
    for (size_t i = 0, put = 0; i < count && depth < DEEPEST; i++) {
        Perfetto__Annotation *part = perfetto__annotation__unpack(NULL, parts[i].len, parts[i].data);
        if (!part)
            continue;
        fputs(put++ ? "," : "", out);
        put_annotation(texts, sequence, part, out, named, depth + 1);
        perfetto__annotation__free_unpacked(part, NULL);
    }
    putc(named ? '}' : ']', out);
}

/* Writes the value of an annotation, or "name": value if `named` is set. */
static void put_annotation(const struct perfetto_texts *texts, uint32_t sequence,
                           const Perfetto__Annotation *annotation, FILE *out, bool named, unsigned depth)
{
    if (ftello(out) > LARGEST_ARGUMENTS) {
        fputs(named ? "\"\":null" : "null", out);
        return;
    }
    if (named) {
        perfetto_put_text(
            out, perfetto_text(texts, sequence, PERFETTO_ANNOTATION_NAME, annotation->name, annotation->name_iid));
        putc(':', out);
    }
    if (annotation->has_bool_value)
        fputs(annotation->bool_value ? "true" : "false", out);
    else if (annotation->has_uint_value)
        fprintf(out, "%" PRIu64, annotation->uint_value);
    else if (annotation->has_int_value)
        fprintf(out, "%" PRId64, annotation->int_value);
    else if (annotation->has_double_value && annotation->double_value - annotation->double_value == 0)
        fprintf(out, "%.17g", annotation->double_value);
    else if (annotation->string_value || annotation->has_string_value_iid)
        perfetto_put_text(out, perfetto_text(texts, sequence, PERFETTO_STRING_VALUE, annotation->string_value,
                                             annotation->string_value_iid));
    else if (annotation->n_dict_entries)
        put_parts(texts, sequence, annotation->dict_entries, annotation->n_dict_entries, out, true, depth);
    else if (annotation->n_array_values)
        put_parts(texts, sequence, annotation->array_values, annotation->n_array_values, out, false, depth);
    else
        fputs("null", out);
}

/* Kineto's annotation "metadata" already holds all arguments as JSON, but without braces. */
char *perfetto_arguments(const struct perfetto_texts *texts, uint32_t sequence, const Perfetto__TrackEvent *event)
{
    char *text = NULL;
    size_t size, put = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    putc('{', out);
    for (size_t i = 0; i < event->n_debug_annotations; i++) {
        const Perfetto__Annotation *annotation = event->debug_annotations[i];
        const char *name =
            perfetto_text(texts, sequence, PERFETTO_ANNOTATION_NAME, annotation->name, annotation->name_iid);
        if (!strcmp(name, "metadata") && annotation->string_value &&
            !annotation->string_value[strspn(annotation->string_value, " \t\r\n")])
            continue;
        fputs(put++ ? "," : "", out);
        if (!strcmp(name, "metadata") && annotation->string_value)
            fputs(annotation->string_value, out);
        else
            put_annotation(texts, sequence, annotation, out, true, 0);
    }
    putc('}', out);
    if (!fclose(out))
        return text;
    free(text);
    return NULL;
}

/* --- the category of an event --------------------------------------------------------------------- */

static bool has_key(const char *arguments, const char *key)
{
    size_t length = strlen(key);
    for (const char *at = arguments; (at = strstr(at, key)); at += length)
        if (at > arguments && at[-1] == '"' && at[length] == '"')
            return true;
    return false;
}

bool perfetto_is_of_device(const char *arguments)
{
    return has_key(arguments, "device") && has_key(arguments, "stream") && has_key(arguments, "correlation") &&
           !has_key(arguments, "cbid") && !has_key(arguments, "cid");
}

static bool name_begins(const char *name, const char *with)
{
    return !strncmp(name, with, strlen(with));
}

/* Operators and annotations have the same arguments. An operator is named "NAMESPACE::NAME", or it has inputs or
 * autograd's sequence number. An annotation with inputs is named "nccl:NAME". */
static bool is_operator(const char *name, const char *arguments)
{
    return strstr(name, "::") ||
           (!strchr(name, ':') && (has_key(arguments, "Input Dims") || has_key(arguments, "Input dims") ||
                                   has_key(arguments, "Sequence number")));
}

const char *perfetto_category(const char *name, const char *arguments, bool of_device)
{
    if (has_key(arguments, "cbid") || has_key(arguments, "cid")) /* calls of CUDA have a cbid, calls of HIP a cid */
        return "cuda_runtime";
    if (has_key(arguments, "cuda_sync_kind"))
        return "cuda_sync";
    if (perfetto_is_of_device(arguments))
        return name_begins(name, "Memcpy") ? "gpu_memcpy" : name_begins(name, "Memset") ? "gpu_memset" : "kernel";
    if (has_key(arguments, "Python id") || has_key(arguments, "Python parent id"))
        return "python_function";
    if (!strcmp(name, "[memory]"))
        return "cpu_instant_event";
    if (of_device)
        return "gpu_user_annotation";
    return is_operator(name, arguments) ? "cpu_op" : "user_annotation";
}
