/* Tests of the images that the simulated driver can load apart from plain PTX: ELF and fat binaries. The test builds
 * them byte by byte. */
#include <elf.h>

#include "simgpu.h"

/* An ELF image of one kernel "scale" with parameters of 8 and 4 bytes, 24 registers, a global of 40 bytes, and a
 * global of 8 bytes with the initial values 1 and 2. */
enum { SECTION_NAMES = 1, STRINGS, SYMBOLS, INFO, KERNEL_INFO, GLOBALS, GLOBALS_INIT, SECTIONS };

struct image {
    Elf64_Ehdr header;
    char section_names[96], strings[32];
    Elf64_Sym symbols[4];
    uint32_t info[3];
    uint32_t globals[3];
    uint32_t kernel_info[9];
    Elf64_Shdr sections[SECTIONS];
};

static unsigned add_name(char *table, unsigned *end, const char *name)
{
    unsigned at = *end;
    memcpy(table + at, name, strlen(name) + 1);
    *end += (unsigned)strlen(name) + 1;
    return at;
}

static void section(struct image *image, int index, const char *name, unsigned *end, unsigned type, void *data,
                    size_t bytes)
{
    image->sections[index] = (Elf64_Shdr){ .sh_name = add_name(image->section_names, end, name),
                                           .sh_type = type,
                                           .sh_offset = (size_t)((char *)data - (char *)image),
                                           .sh_size = bytes };
}

static struct image *make_elf(void)
{
    static struct image image;
    unsigned names = 1, strings = 1;
    memset(&image, 0, sizeof(image));
    memcpy(image.header.e_ident, ELFMAG, SELFMAG);
    image.header.e_ident[EI_CLASS] = ELFCLASS64;
    image.header.e_shoff = offsetof(struct image, sections);
    image.header.e_shentsize = sizeof(Elf64_Shdr);
    image.header.e_shnum = SECTIONS;
    image.header.e_shstrndx = SECTION_NAMES;
    image.symbols[1] = (Elf64_Sym){ .st_name = add_name(image.strings, &strings, "scale"),
                                    .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                                    .st_other = 0x10,
                                    .st_shndx = KERNEL_INFO };
    image.symbols[2] = (Elf64_Sym){ .st_name = add_name(image.strings, &strings, "table"),
                                    .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
                                    .st_shndx = GLOBALS,
                                    .st_size = 40 };
    image.symbols[3] = (Elf64_Sym){ .st_name = add_name(image.strings, &strings, "begun"),
                                    .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
                                    .st_shndx = GLOBALS_INIT,
                                    .st_value = 4,
                                    .st_size = 8 };
    memcpy(image.globals, (uint32_t[]){ 0, 1, 2 }, sizeof(image.globals));
    /* an item with the registers (24) of symbol 1 */
    memcpy(image.info, (uint32_t[]){ 0x00082f04, 1, 24 }, sizeof(image.info));
    /* an item to skip, then parameter 1 (4 bytes at offset 8) and parameter 0 (8 bytes at offset 0) */
    memcpy(image.kernel_info,
           (uint32_t[]){ 0x01015f03, 0x000c1704, 0, 1 | 8 << 16, 4u << 18, 0x000c1704, 0, 0, 8u << 18 },
           sizeof(image.kernel_info));
    section(&image, SECTION_NAMES, ".shstrtab", &names, SHT_STRTAB, image.section_names, sizeof(image.section_names));
    section(&image, STRINGS, ".strtab", &names, SHT_STRTAB, image.strings, sizeof(image.strings));
    section(&image, SYMBOLS, ".symtab", &names, SHT_SYMTAB, image.symbols, sizeof(image.symbols));
    section(&image, INFO, ".nv.info", &names, SHT_LOPROC, image.info, sizeof(image.info));
    section(&image, KERNEL_INFO, ".nv.info.scale", &names, SHT_LOPROC, image.kernel_info, sizeof(image.kernel_info));
    section(&image, GLOBALS, ".nv.global", &names, SHT_NOBITS, image.info, 40);
    section(&image, GLOBALS_INIT, ".nv.global.init", &names, SHT_PROGBITS, image.globals, sizeof(image.globals));
    image.sections[SYMBOLS].sh_link = STRINGS;
    return &image;
}

/* A fat binary with one entry, which contains the data. */
struct fatbin {
    struct {
        uint32_t magic;
        uint16_t version, header_bytes;
        uint64_t bytes;
    } header;
    struct {
        uint16_t kind, version;
        uint32_t header_bytes;
        uint64_t bytes;
        uint32_t compressed, options, number, architecture, name, name_bytes;
        uint64_t flags, unused, plain;
    } entry;
    unsigned char data[8192];
};

static struct fatbin *make_fatbin(int kind, uint64_t flags, const void *data, size_t bytes, size_t plain)
{
    static struct fatbin fatbin;
    assert_true(bytes <= sizeof(fatbin.data));
    memset(&fatbin, 0, sizeof(fatbin));
    fatbin.header.magic = 0xba55ed50;
    fatbin.header.header_bytes = sizeof(fatbin.header);
    fatbin.header.bytes = sizeof(fatbin.entry) + bytes;
    fatbin.entry.kind = (uint16_t)kind;
    fatbin.entry.header_bytes = sizeof(fatbin.entry);
    fatbin.entry.bytes = bytes;
    fatbin.entry.compressed = (uint32_t)bytes;
    fatbin.entry.flags = flags;
    fatbin.entry.plain = plain;
    memcpy(fatbin.data, data, bytes);
    return &fatbin;
}

/* Writes an LZ4 block: the text as literals, then one match that repeats the text's last `again` bytes, then a
 * newline. */
static size_t pack(const char *text, size_t length, size_t again, unsigned char *to)
{
    unsigned char *at = to;
    size_t literals = length, match = again - 4;
    *at++ = 0xff;
    for (literals -= 15; literals >= 255; literals -= 255)
        *at++ = 255;
    *at++ = (unsigned char)literals;
    memcpy(at, text, length);
    at += length;
    *at++ = (unsigned char)(again & 255);
    *at++ = (unsigned char)(again >> 8);
    for (match -= 15; match >= 255; match -= 255)
        *at++ = 255;
    *at++ = (unsigned char)match;
    *at++ = 0x10;
    *at++ = '\n';
    return (size_t)(at - to);
}

static void holds_scale(const void *data)
{
    ws_CUmodule module;
    ws_CUfunction function;
    ws_CUdeviceptr address;
    size_t offset, size;
    succeeds(cuModuleLoadData(&module, data));
    succeeds(cuModuleGetFunction(&function, module, "scale"));
    succeeds(cuFuncGetParamInfo(function, 0, &offset, &size));
    assert_int_equal(offset, 0);
    assert_int_equal(size, 8);
    succeeds(cuFuncGetParamInfo(function, 1, &offset, &size));
    assert_int_equal(offset, 8);
    assert_int_equal(size, 4);
    fails(cuFuncGetParamInfo(function, 2, &offset, &size), INVALID_VALUE);
    succeeds(cuModuleGetGlobal_v2(&address, &size, module, "table"));
    assert_int_equal(size, 40);
    succeeds(cuModuleUnload(module));
}

static void elf_gives_names_and_layouts(void **state)
{
    (void)state;
    holds_scale(make_elf());
    holds_scale(make_fatbin(2, 0x11, make_elf(), sizeof(struct image), 0));
}

/* Global variables begin with the values in the image. clang's OpenMP runtime reads such globals to learn how to run
 * a kernel. */
static void globals_begin_as_the_image_says(void **state)
{
    (void)state;
    ws_CUmodule module;
    ws_CUlibrary library;
    ws_CUkernel kernel;
    ws_CUfunction function;
    ws_CUdeviceptr address;
    uint32_t found[10];
    size_t size;
    succeeds(cuModuleLoadData(&module, make_elf()));
    succeeds(cuModuleGetGlobal_v2(&address, &size, module, "begun"));
    assert_int_equal(size, 8);
    succeeds(cuMemcpyDtoH_v2(found, address, size));
    assert_int_equal(found[0], 1);
    assert_int_equal(found[1], 2);
    succeeds(cuMemsetD32_v2(address, 9, 2));
    succeeds(cuModuleGetGlobal_v2(&address, &size, module, "table"));
    memset(found, 0xff, sizeof(found));
    succeeds(cuMemcpyDtoH_v2(found, address, size));
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(found[i], 0);
    succeeds(cuModuleUnload(module));
    /* Another module of the same image has globals of its own: it does not see the first module's writes. */
    succeeds(cuLibraryLoadData(&library, make_elf(), NULL, NULL, 0, NULL, NULL, 0));
    succeeds(cuLibraryGetKernel(&kernel, library, "scale"));
    succeeds(cuKernelGetFunction(&function, kernel));
    succeeds(cuLibraryGetGlobal(&address, &size, library, "begun"));
    succeeds(cuMemcpyDtoH_v2(found, address, size));
    assert_int_equal(found[0], 1);
    assert_int_equal(found[1], 2);
    succeeds(cuLibraryUnload(library));
}

static void ptx_inside_is_found_packed_or_not(void **state)
{
    (void)state;
    static const char ptx[] = "//////////////////////////////\n//////////////////////////////\n"
                              ".version 8.0\n.visible .global .b8 table[40];\n"
                              ".visible .entry scale(.param .u64 a, .param .u32 b) { ret; }\n";
    static unsigned char packed[4096];
    static char comment[600];
    size_t length = sizeof(ptx) - 1;
    holds_scale(make_fatbin(1, 0x11, ptx, sizeof(ptx), 0));
    /* The text begins with a comment. The comment is moved to the end, where an LZ4 match repeats it. */
    enum { AGAIN = 62 };
    memcpy(comment, ptx, length);
    memmove(comment, ptx + AGAIN, length - AGAIN);
    memcpy(comment + length - AGAIN, ptx, AGAIN);
    size_t bytes = pack(comment, length, AGAIN, packed);
    holds_scale(make_fatbin(1, 0x2011, packed, bytes, length + AGAIN + 1));
}

static void damage_is_refused(void **state)
{
    (void)state;
    ws_CUmodule module;
    static const unsigned char far[] = { 0x14, 'x', 9, 0, 0x10, 'y' }; /* an LZ4 match that begins before the text */
    fails(cuModuleLoadData(&module, make_fatbin(1, 0x2011, far, sizeof(far), 10)), INVALID_IMAGE);
    fails(cuModuleLoadData(&module, make_fatbin(1, 0x2011, far, 2, 10)), INVALID_IMAGE);
    struct fatbin *fatbin = make_fatbin(1, 0x11, "x", 1, 0);
    fatbin->entry.bytes = 1 << 20;
    fails(cuModuleLoadData(&module, fatbin), INVALID_IMAGE);
    struct image *image = make_elf();
    image->header.e_shstrndx = SECTIONS;
    fails(cuModuleLoadData(&module, image), INVALID_IMAGE);
    image = make_elf();
    image->symbols[3].st_value = 8; /* the symbol reaches beyond its section */
    fails(cuModuleLoadData(&module, image), INVALID_IMAGE);
    fails(cuModuleLoadData(&module, ".version 8.0\n.entry"), INVALID_PTX);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, simgpu_setup, simgpu_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(elf_gives_names_and_layouts),
        TEST(globals_begin_as_the_image_says),
        TEST(ptx_inside_is_found_packed_or_not),
        TEST(damage_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
