/* Device code in ELF: the kernels, the layout of their parameters (.nv.info.NAME), registers and shared memory. */
#include "engine/engine.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRY = 0x10 }; /* this bit in a symbol's st_other: the function is a kernel */

/* Codes in .nv.info sections. An item is a format (8 bits), an attribute (8 bits), and 16 bits, which hold a value or
 * the size of the data that follows. */
enum { FORMAT_SIZED = 4, KPARAM_INFO = 0x17, REGCOUNT = 0x2f };

struct elf {
    const unsigned char *image;
    const Elf64_Shdr *sections;
    unsigned count;
    const char *names;
};

static const char *section_name(const struct elf *elf, unsigned index)
{
    return elf->names + elf->sections[index].sh_name;
}

/* The section called prefix + name, or NULL. */
static const Elf64_Shdr *section_of(const struct elf *elf, const char *prefix, const char *name)
{
    size_t length = strlen(prefix);
    for (unsigned i = 1; i < elf->count; i++) {
        const char *other = section_name(elf, i);
        if (strncmp(other, prefix, length) == 0 && strcmp(other + length, name) == 0)
            return &elf->sections[i];
    }
    return NULL;
}

struct item {
    unsigned format, attribute, size;
    const unsigned char *data;
};

static bool next_item(const unsigned char **at, const unsigned char *end, struct item *item)
{
    if (end - *at < 4)
        return false;
    *item = (struct item){ (*at)[0], (*at)[1], 0, *at + 4 };
    if (item->format == FORMAT_SIZED)
        item->size = (*at)[2] | (unsigned)(*at)[3] << 8;
    if (end - item->data < (ptrdiff_t)item->size)
        return false;
    *at = item->data + item->size;
    return true;
}

/* Adds a parameter. data: an index (32 bits), the ordinal and offset (16 bits each), and 32 bits, of which the upper
 * 14 are the size in bytes. */
static bool add_parameter(struct sim_function *function, const unsigned char *data)
{
    uint16_t ordinal, offset;
    uint32_t word;
    memcpy(&ordinal, data + 4, sizeof(ordinal));
    memcpy(&offset, data + 6, sizeof(offset));
    memcpy(&word, data + 8, sizeof(word));
    if (ordinal >= function->parameter_count) {
        struct sim_parameter *larger = realloc(function->parameters, (ordinal + 1u) * sizeof(*larger));
        if (!larger)
            return false;
        memset(larger + function->parameter_count, 0, (ordinal + 1u - function->parameter_count) * sizeof(*larger));
        function->parameters = larger;
        function->parameter_count = ordinal + 1u;
    }
    uint32_t size = word >> 18;
    function->parameters[ordinal] = (struct sim_parameter){ offset, size };
    if (function->parameter_bytes < offset + size)
        function->parameter_bytes = offset + size;
    return true;
}

static void read_parameters(const struct elf *elf, struct sim_function *function)
{
    const Elf64_Shdr *section = section_of(elf, ".nv.info.", function->name);
    if (!section)
        return;
    const unsigned char *at = elf->image + section->sh_offset, *end = at + section->sh_size;
    struct item item;
    function->layout_known = true;
    while (next_item(&at, end, &item))
        if (item.attribute == KPARAM_INFO && item.size >= 12 && !add_parameter(function, item.data))
            function->layout_known = false;
}

static int registers_of(const struct elf *elf, uint32_t symbol)
{
    const Elf64_Shdr *section = section_of(elf, ".nv.info", "");
    if (!section)
        return 32;
    const unsigned char *at = elf->image + section->sh_offset, *end = at + section->sh_size;
    struct item item;
    while (next_item(&at, end, &item)) {
        uint32_t pair[2];
        if (item.attribute != REGCOUNT || item.size < sizeof(pair))
            continue;
        memcpy(pair, item.data, sizeof(pair));
        if (pair[0] == symbol)
            return (int)pair[1];
    }
    return 32;
}

/* A variable's initial value is in its section, unless the section has no bytes in the file (SHT_NOBITS). */
static bool read_global(const struct elf *elf, const Elf64_Sym *symbol, const char *name, struct sim_module *into)
{
    const Elf64_Shdr *section = symbol->st_shndx < elf->count ? &elf->sections[symbol->st_shndx] : NULL;
    const void *initial = NULL;
    if (section && section->sh_type == SHT_PROGBITS) {
        if (symbol->st_size > section->sh_size || symbol->st_value > section->sh_size - symbol->st_size)
            return false;
        initial = elf->image + section->sh_offset + symbol->st_value;
    }
    sim_module_add_global(into, name, symbol->st_size, initial);
    return true;
}

static ws_CUresult read_symbols(const struct elf *elf, const Elf64_Shdr *table, struct sim_module *into)
{
    const Elf64_Sym *symbols = (const Elf64_Sym *)(elf->image + table->sh_offset);
    if (table->sh_link >= elf->count)
        return WS_CUDA_ERROR_INVALID_IMAGE;
    const char *names = (const char *)elf->image + elf->sections[table->sh_link].sh_offset;
    for (uint32_t i = 0; i < table->sh_size / sizeof(*symbols); i++) {
        const Elf64_Sym *symbol = &symbols[i];
        const char *name = names + symbol->st_name;
        unsigned type = ELF64_ST_TYPE(symbol->st_info);
        if (type == STT_OBJECT && symbol->st_shndx != SHN_UNDEF && symbol->st_size) {
            if (!read_global(elf, symbol, name, into))
                return WS_CUDA_ERROR_INVALID_IMAGE;
        } else if (type == STT_FUNC && symbol->st_other & ENTRY) {
            struct sim_function *function = sim_module_add(into, name);
            if (!function)
                return WS_CUDA_ERROR_OUT_OF_MEMORY;
            read_parameters(elf, function);
            function->attributes[SIM_ATTRIBUTE_REGISTERS] = registers_of(elf, i);
            const Elf64_Shdr *shared = section_of(elf, ".nv.shared.", name);
            function->attributes[SIM_ATTRIBUTE_SHARED_BYTES] = shared ? (int)shared->sh_size : 0;
        }
    }
    return WS_CUDA_SUCCESS;
}

ws_CUresult sim_image_elf(const unsigned char *image, struct sim_module *into)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)image;
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_shentsize != sizeof(Elf64_Shdr) || !header->e_shoff ||
        header->e_shstrndx >= header->e_shnum)
        return WS_CUDA_ERROR_INVALID_IMAGE;
    struct elf elf = { .image = image,
                       .sections = (const Elf64_Shdr *)(image + header->e_shoff),
                       .count = header->e_shnum };
    elf.names = (const char *)image + elf.sections[header->e_shstrndx].sh_offset;
    for (unsigned i = 0; i < elf.count; i++)
        if (elf.sections[i].sh_type == SHT_SYMTAB)
            return read_symbols(&elf, &elf.sections[i], into);
    return WS_CUDA_ERROR_INVALID_IMAGE;
}
