/* Writes a module as a cubin: an ELF image with everything that image_elf.c reads, but without code. */
#include "engine/engine.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRY = 0x10, ELF_MACHINE_CUDA = 190 };
enum { SECTION_NAMES = 1, STRINGS, SYMBOLS, INFO, GLOBALS, GLOBALS_INIT, FIXED_SECTIONS };

/* A buffer that grows. After an allocation has failed, nothing more is added. */
struct bytes {
    char *data;
    size_t size, capacity;
    bool failed;
};

static size_t add(struct bytes *to, const void *from, size_t size)
{
    size_t at = to->size;
    if (to->failed || !size)
        return at;
    if (at + size > to->capacity) {
        size_t capacity = (at + size) * 2;
        char *larger = realloc(to->data, capacity);
        if (!larger) {
            to->failed = true;
            return 0;
        }
        to->data = larger;
        to->capacity = capacity;
    }
    memcpy(to->data + at, from, size);
    to->size += size;
    return at;
}

static size_t add_text(struct bytes *to, const char *prefix, const char *text)
{
    size_t at = add(to, prefix, strlen(prefix));
    add(to, text, strlen(text) + 1);
    return at;
}

static void align(struct bytes *to, size_t boundary)
{
    static const char zeros[8];
    add(to, zeros, (boundary - to->size % boundary) % boundary);
}

struct writer {
    struct bytes image, section_names, strings, symbols, info, initial, sections;
    unsigned section_count;
};

/* Adds a section and returns its index. If data is NULL, the section has no bytes in the file (SHT_NOBITS). */
static unsigned add_section(struct writer *writer, const char *prefix, const char *name, unsigned type,
                            const void *data, size_t size)
{
    Elf64_Shdr section = { .sh_type = type, .sh_size = size };
    section.sh_name = (Elf64_Word)add_text(&writer->section_names, prefix, name);
    align(&writer->image, sizeof(uint64_t));
    section.sh_offset = data ? add(&writer->image, data, size) : writer->image.size;
    section.sh_link = type == SHT_SYMTAB ? STRINGS : 0;
    section.sh_entsize = type == SHT_SYMTAB ? sizeof(Elf64_Sym) : 0;
    add(&writer->sections, &section, sizeof(section));
    return writer->section_count++;
}

static uint32_t add_symbol(struct writer *writer, const char *name, unsigned type, unsigned char other,
                           unsigned section, uint64_t value, uint64_t size)
{
    Elf64_Sym symbol = {
        .st_info = ELF64_ST_INFO(STB_GLOBAL, type), .st_other = other, .st_value = value, .st_size = size
    };
    symbol.st_name = (Elf64_Word)add_text(&writer->strings, "", name);
    symbol.st_shndx = (Elf64_Section)section;
    return (uint32_t)(add(&writer->symbols, &symbol, sizeof(symbol)) / sizeof(symbol));
}

static void add_globals(struct writer *writer, const struct sim_module *module, size_t *plain)
{
    *plain = 0;
    for (const struct sim_global *global = module->globals; global; global = global->next) {
        size_t at = *plain;
        if (global->initial)
            at = add(&writer->initial, global->initial, global->bytes);
        else
            *plain += global->bytes;
        add_symbol(writer, global->name, STT_OBJECT, 0, global->initial ? GLOBALS_INIT : GLOBALS, at, global->bytes);
    }
}

/* Adds what describes a kernel: its symbol, its registers, its parameters (index, ordinal and offset, size), its
 * shared memory. */
static void add_function(struct writer *writer, const struct sim_function *function, unsigned info_section)
{
    uint32_t symbol = add_symbol(writer, function->name, STT_FUNC, ENTRY, info_section, 0, 0);
    const uint32_t registers[] = { 0x00082f04, symbol, (uint32_t)function->attributes[SIM_ATTRIBUTE_REGISTERS] };
    add(&writer->info, registers, sizeof(registers));
}

/* Whether no earlier function has the same name. Names are interned, so equal names have equal pointers. */
static bool is_first_of_name(const struct sim_module *module, const struct sim_function *function)
{
    const struct sim_function *first = module->functions;
    while (first->name != function->name)
        first = first->next;
    return first == function;
}

static void add_function_sections(struct writer *writer, const struct sim_function *function)
{
    struct bytes info = { .data = NULL };
    for (uint32_t i = 0; i < function->parameter_count; i++) {
        const struct sim_parameter *parameter = &function->parameters[i];
        const uint32_t item[] = { 0x000c1704, 0, i | parameter->offset << 16, parameter->size << 18 };
        add(&info, item, sizeof(item));
    }
    if (function->layout_known)
        add_section(writer, ".nv.info.", function->name, SHT_LOPROC, info.data ? info.data : "", info.size);
    size_t shared = (size_t)function->attributes[SIM_ATTRIBUTE_SHARED_BYTES];
    if (shared)
        add_section(writer, ".nv.shared.", function->name, SHT_NOBITS, NULL, shared);
    writer->image.failed |= info.failed;
    free(info.data);
}

static bool end_image(struct writer *writer)
{
    Elf64_Ehdr header = { .e_type = ET_EXEC, .e_machine = ELF_MACHINE_CUDA, .e_version = EV_CURRENT };
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_ehsize = sizeof(header);
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = (Elf64_Half)writer->section_count;
    header.e_shstrndx = SECTION_NAMES;
    align(&writer->image, sizeof(uint64_t));
    header.e_shoff = writer->image.size;
    add(&writer->image, writer->sections.data, writer->sections.size);
    if (writer->image.failed || writer->sections.failed || writer->section_names.failed || writer->strings.failed ||
        writer->symbols.failed || writer->info.failed || writer->initial.failed ||
        writer->section_count >= SHN_LORESERVE)
        return false;
    memcpy(writer->image.data, &header, sizeof(header));
    return true;
}

/* The table of section names is complete only when all sections have been added, so the section that holds the table
 * is filled in last. */
static void add_section_names(struct writer *writer)
{
    Elf64_Shdr *section = (Elf64_Shdr *)(writer->sections.data + SECTION_NAMES * sizeof(*section));
    if (writer->sections.failed)
        return;
    section->sh_offset = add(&writer->image, writer->section_names.data, writer->section_names.size);
    section->sh_size = writer->section_names.size;
}

ws_CUresult sim_image_write(const struct sim_module *module, void **image, size_t *size)
{
    static const char zeros[sizeof(Elf64_Ehdr)];
    struct writer writer = { .section_count = 0 };
    size_t plain;
    add(&writer.image, zeros, sizeof(Elf64_Ehdr));
    add_text(&writer.strings, "", "");
    add(&writer.symbols, zeros, sizeof(Elf64_Sym));
    add_globals(&writer, module, &plain);
    for (const struct sim_function *function = module->functions; function; function = function->next)
        if (is_first_of_name(module, function))
            add_function(&writer, function, INFO);
    add_section(&writer, "", "", SHT_NULL, NULL, 0);
    add_section(&writer, "", ".shstrtab", SHT_STRTAB, NULL, 0);
    add_section(&writer, "", ".strtab", SHT_STRTAB, writer.strings.data, writer.strings.size);
    add_section(&writer, "", ".symtab", SHT_SYMTAB, writer.symbols.data, writer.symbols.size);
    add_section(&writer, "", ".nv.info", SHT_LOPROC, writer.info.data ? writer.info.data : "", writer.info.size);
    add_section(&writer, "", ".nv.global", SHT_NOBITS, NULL, plain);
    add_section(&writer, "", ".nv.global.init", SHT_PROGBITS, writer.initial.data ? writer.initial.data : "",
                writer.initial.size);
    for (const struct sim_function *function = module->functions; function; function = function->next)
        if (is_first_of_name(module, function))
            add_function_sections(&writer, function);
    add_section_names(&writer);
    bool done = end_image(&writer);
    *image = writer.image.data;
    *size = writer.image.size;
    struct bytes *const used[] = { &writer.section_names, &writer.strings, &writer.symbols,
                                   &writer.info,          &writer.initial, &writer.sections };
    for (size_t i = 0; i < sizeof(used) / sizeof(used[0]); i++)
        free(used[i]->data);
    if (done)
        return WS_CUDA_SUCCESS;
    free(writer.image.data);
    *image = NULL;
    return WS_CUDA_ERROR_OUT_OF_MEMORY;
}
