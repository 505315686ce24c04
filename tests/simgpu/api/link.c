/* The linker (cuLink…): makes one cubin from PTX, cubins, fat binaries, objects and libraries. Nothing is compiled:
 * the cubin holds the parts' kernels, the layout of their parameters, and their variables. If several parts define
 * the same name, one definition is kept. Undefined references are not errors. */
#include "api/api.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Values of CUjitInputType. INPUT_LTO is refused. */
enum { INPUT_CUBIN, INPUT_PTX, INPUT_FATBIN, INPUT_OBJECT, INPUT_LIBRARY, INPUT_LTO };

/* Values of CUjit_option. */
enum { JIT_WALL_TIME = 2, JIT_INFO_LOG, JIT_INFO_LOG_BYTES, JIT_ERROR_LOG, JIT_ERROR_LOG_BYTES };

struct sim_link {
    enum sim_magic magic;
    struct sim_module parts;
    unsigned option_count;
    ws_CUenum *options; /* the program's array, which must live as long as the linker */
    void **values;
    void *image;
};

static ws_CUresult link_check(const struct sim_link *link)
{
    return link && link->magic == SIM_LINK ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_INVALID_HANDLE;
}

/* Writes the text into the program's buffer for this log. Writes the text's length into the value of the option that
 * gave the buffer's size. */
static void fill_log(const struct sim_link *link, ws_CUenum log, const char *text)
{
    char *buffer = NULL;
    size_t room = 0, length = strlen(text);
    for (unsigned i = 0; i < link->option_count; i++) {
        if (link->options[i] == log)
            buffer = link->values[i];
        else if (link->options[i] == log + 1)
            room = (uint32_t)(uintptr_t)link->values[i];
    }
    if (!buffer || !room)
        return;
    if (length >= room)
        length = room - 1;
    memcpy(buffer, text, length);
    buffer[length] = '\0';
    for (unsigned i = 0; i < link->option_count; i++)
        if (link->options[i] == log + 1)
            link->values[i] = (void *)length;
}

API(cuLinkCreate_v2, (unsigned count, ws_CUenum *options, void **values, struct sim_link **made),
    (count, options, values, made))
{
    struct sim_context *context;
    NEED(made && (!count || (options && values)));
    TRY(sim_current(&context));
    struct sim_link *link = sim_keep(sizeof(*link));
    if (!link)
        return WS_CUDA_ERROR_OUT_OF_MEMORY;
    link->magic = SIM_LINK;
    link->option_count = count;
    link->options = options;
    link->values = values;
    *made = link;
    return WS_CUDA_SUCCESS;
}

API_SAME(cuLinkCreate, cuLinkCreate_v2, (unsigned count, ws_CUenum *options, void **values, struct sim_link **made),
         (count, options, values, made))

/* Whether the data begin with this magic number and are long enough for an ELF header. */
static bool begins_as(const void *data, size_t bytes, const char *magic)
{
    return bytes >= sizeof(Elf64_Ehdr) && memcmp(data, magic, 4) == 0;
}

/* Adds all fat binaries of a section. They follow one another without gaps. */
static ws_CUresult add_fatbins(struct sim_module *parts, const unsigned char *at, size_t bytes)
{
    while (begins_as(at, bytes, "\x50\xed\x55\xba")) {
        uint64_t inside;
        memcpy(&inside, at + 8, sizeof(inside));
        uint64_t whole = (16 + inside + 7) / 8 * 8;
        if (inside > bytes)
            return WS_CUDA_ERROR_INVALID_IMAGE;
        TRY(sim_image_fatbin(at, parts));
        if (whole >= bytes)
            return WS_CUDA_SUCCESS;
        at += whole;
        bytes -= whole;
    }
    return bytes < sizeof(Elf64_Ehdr) ? WS_CUDA_SUCCESS : WS_CUDA_ERROR_INVALID_IMAGE;
}

/* Adds an object file: either a host object with device code in one of its sections, or a device object, which is
 * itself an image. */
static ws_CUresult add_object(struct sim_module *parts, const unsigned char *data, size_t bytes)
{
    Elf64_Ehdr header;
    if (!begins_as(data, bytes, ELFMAG))
        return add_fatbins(parts, data, bytes);
    memcpy(&header, data, sizeof(header));
    if (header.e_machine != EM_X86_64 && header.e_machine != EM_AARCH64)
        return sim_image_elf(data, parts);
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(data + header.e_shoff);
    if (header.e_shoff > bytes || header.e_shnum > (bytes - header.e_shoff) / sizeof(*sections) ||
        header.e_shstrndx >= header.e_shnum)
        return WS_CUDA_ERROR_INVALID_IMAGE;
    const char *names = (const char *)data + sections[header.e_shstrndx].sh_offset;
    for (unsigned i = 0; i < header.e_shnum; i++) {
        const Elf64_Shdr *section = &sections[i];
        const char *name = names + section->sh_name;
        if (strcmp(name, ".nv_fatbin") != 0 && strcmp(name, "__nv_relfatbin") != 0)
            continue;
        if (section->sh_offset > bytes || section->sh_size > bytes - section->sh_offset)
            return WS_CUDA_ERROR_INVALID_IMAGE;
        TRY(add_fatbins(parts, data + section->sh_offset, section->sh_size));
    }
    return WS_CUDA_SUCCESS;
}

/* Adds the members of an archive. Each member is copied first: it may lie at any even offset, but ELF's structures
 * need a larger alignment. */
static ws_CUresult add_library(struct sim_module *parts, const char *data, size_t bytes)
{
    enum { MAGIC = 8, HEADER = 60, SIZE = 48 };
    if (bytes < MAGIC || memcmp(data, "!<arch>\n", MAGIC) != 0)
        return WS_CUDA_ERROR_INVALID_IMAGE;
    for (size_t at = MAGIC; bytes - at > HEADER;) {
        size_t size = strtoul(data + at + SIZE, NULL, 10);
        bool is_index = data[at] == '/';
        at += HEADER;
        if (size > bytes - at)
            return WS_CUDA_ERROR_INVALID_IMAGE;
        unsigned char *member = is_index ? NULL : malloc(size + 1);
        if (member) {
            memcpy(member, data + at, size);
            ws_CUresult result = add_object(parts, member, size);
            free(member);
            TRY(result);
        }
        at += size + size % 2;
        if (at > bytes)
            break;
    }
    return WS_CUDA_SUCCESS;
}

static ws_CUresult add_part(struct sim_module *parts, ws_CUenum type, const void *data, size_t bytes)
{
    switch (type) {
    case INPUT_PTX:
        return sim_image_ptx(data, strnlen(data, bytes), parts);
    case INPUT_CUBIN:
        return begins_as(data, bytes, ELFMAG) ? sim_image_elf(data, parts) : WS_CUDA_ERROR_INVALID_IMAGE;
    case INPUT_FATBIN:
        return begins_as(data, bytes, "\x50\xed\x55\xba") ? sim_image_fatbin(data, parts)
                                                          : WS_CUDA_ERROR_INVALID_IMAGE;
    case INPUT_OBJECT:
        return add_object(parts, data, bytes);
    default:
        return add_library(parts, data, bytes);
    }
}

static ws_CUresult add_data(struct sim_link *link, ws_CUenum type, const void *data, size_t bytes)
{
    ws_CUresult result = add_part(&link->parts, type, data, bytes);
    if (result != WS_CUDA_SUCCESS)
        fill_log(link, JIT_ERROR_LOG, "simgpu: this part cannot be read\n");
    return result;
}

API(cuLinkAddData_v2,
    (struct sim_link * link, ws_CUenum type, const void *data, size_t bytes, const char *name, unsigned count,
     ws_CUenum *options, void **values),
    (link, type, data, bytes, name, count, options, values))
{
    (void)name;
    TRY(link_check(link));
    NEED(data && bytes && type >= INPUT_CUBIN && type <= INPUT_LTO && (!count || (options && values)));
    if (type == INPUT_LTO)
        return WS_CUDA_ERROR_NOT_SUPPORTED;
    return add_data(link, type, data, bytes);
}

API_SAME(cuLinkAddData, cuLinkAddData_v2,
         (struct sim_link * link, ws_CUenum type, const void *data, size_t bytes, const char *name, unsigned count,
          ws_CUenum *options, void **values),
         (link, type, data, bytes, name, count, options, values))

API(cuLinkAddFile_v2,
    (struct sim_link * link, ws_CUenum type, const char *path, unsigned count, ws_CUenum *options, void **values),
    (link, type, path, count, options, values))
{
    void *data;
    size_t bytes;
    TRY(link_check(link));
    NEED(path && type >= INPUT_CUBIN && type <= INPUT_LTO && (!count || (options && values)));
    if (type == INPUT_LTO)
        return WS_CUDA_ERROR_NOT_SUPPORTED;
    TRY(sim_image_read_file(path, &data, &bytes));
    ws_CUresult result = add_data(link, type, data, bytes);
    free(data);
    return result;
}

API_SAME(cuLinkAddFile, cuLinkAddFile_v2,
         (struct sim_link * link, ws_CUenum type, const char *path, unsigned count, ws_CUenum *options,
          void **values),
         (link, type, path, count, options, values))

/* The image belongs to the linker, and is freed with it. */
API(cuLinkComplete, (struct sim_link * link, void **image, size_t *bytes), (link, image, bytes))
{
    void *made;
    size_t size;
    TRY(link_check(link));
    NEED(image);
    TRY(sim_image_write(&link->parts, &made, &size));
    free(link->image);
    link->image = *image = made;
    if (bytes)
        *bytes = size;
    fill_log(link, JIT_INFO_LOG, "");
    for (unsigned i = 0; i < link->option_count; i++)
        if (link->options[i] == JIT_WALL_TIME)
            memset(&link->values[i], 0, sizeof(float));
    sim_pay(sim_config.module_ns);
    return WS_CUDA_SUCCESS;
}

API(cuLinkDestroy, (struct sim_link * link), (link))
{
    TRY(link_check(link));
    link->magic = 0;
    sim_module_free(&link->parts);
    free(link->image);
    link->image = NULL;
    return WS_CUDA_SUCCESS;
}
