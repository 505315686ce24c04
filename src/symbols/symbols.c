#include "symbols/symbols.h"

#ifdef WS_HAVE_ELFUTILS
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbols/demangle.h"

enum { PAGE = 4096, NESTED_MOST = 64, ID_MOST = 64 };

struct ws_symbols {
    Dwfl *dwfl;
    Dwfl_Module *module;
    uint64_t low; /* lowest page that is loaded: its address according to the file's program headers */
};

/* --- files --------------------------------------------------------------------------------------- */

/* Finds separate debugging information by build id only. elfutils' default function would also ask debuginfod
 * servers. */
static char *debug_path = (char[]){ ":.debug:/usr/lib/debug" };
static const Dwfl_Callbacks callbacks = {
    .find_debuginfo = dwfl_build_id_find_debuginfo,
    .section_address = dwfl_offline_section_address,
    .debuginfo_path = &debug_path,
};

/* Opens regular files only. The path comes from the trace, so it may name a pipe or a device, and reading those could
 * block forever. */
static int open_plain(const char *path)
{
    struct stat status;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file >= 0 && (fstat(file, &status) || !S_ISREG(status.st_mode))) {
        close(file);
        return -1;
    }
    return file;
}

static bool lowest_address(Elf *elf, uint64_t *low)
{
    size_t count;
    bool found = false;
    if (elf_getphdrnum(elf, &count))
        return false;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;
        if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_LOAD || (found && header.p_vaddr >= *low))
            continue;
        *low = header.p_vaddr & ~(uint64_t)(PAGE - 1);
        found = true;
    }
    return found;
}

/* Gives the open file to libdwfl, which closes the file later. If libdwfl refuses the file, this function closes it.
 */
static bool report(struct ws_symbols *symbols, const char *path, int file)
{
    GElf_Addr bias;
    dwfl_report_begin(symbols->dwfl);
    symbols->module = dwfl_report_elf(symbols->dwfl, "module", path, file, 0, true);
    if (!symbols->module)
        close(file);
    if (dwfl_report_end(symbols->dwfl, NULL, NULL) || !symbols->module)
        return false;
    Elf *elf = dwfl_module_getelf(symbols->module, &bias);
    return elf && !bias && lowest_address(elf, &symbols->low);
}

static enum ws_symbols_lack try_file(struct ws_symbols *symbols, const char *path, const void *id, size_t id_size)
{
    GElf_Addr bias;
    const void *found;
    int file = open_plain(path);
    if (file < 0 || !report(symbols, path, file))
        return WS_SYMBOLS_NO_FILE;
    ssize_t size = dwelf_elf_gnu_build_id(dwfl_module_getelf(symbols->module, &bias), &found);
    return size == (ssize_t)id_size && !memcmp(found, id, id_size) ? WS_SYMBOLS_FOUND : WS_SYMBOLS_OTHER_FILE;
}

static void debug_file(const unsigned char *id, size_t size, char *path, size_t capacity)
{
    size_t used = (size_t)snprintf(path, capacity, "/usr/lib/debug/.build-id/%02x/", id[0]);
    for (size_t i = 1; i < size; i++)
        used += (size_t)snprintf(path + used, capacity - used, "%02x", id[i]);
    snprintf(path + used, capacity - used, ".debug");
}

struct ws_symbols *ws_symbols_open(const char *path, const void *id, size_t id_size, enum ws_symbols_lack *lack)
{
    char debug[64 + 2 * ID_MOST];
    *lack = WS_SYMBOLS_NO_ID;
    if (!id_size || id_size > ID_MOST)
        return NULL;
    *lack = WS_SYMBOLS_NO_FILE;
    struct ws_symbols *symbols = calloc(1, sizeof(*symbols));
    if (!symbols || !(symbols->dwfl = dwfl_begin(&callbacks))) {
        free(symbols);
        return NULL;
    }
    *lack = try_file(symbols, path, id, id_size);
    debug_file(id, id_size, debug, sizeof(debug));
    if (*lack && !try_file(symbols, debug, id, id_size))
        *lack = WS_SYMBOLS_FOUND;
    if (*lack) {
        ws_symbols_close(symbols);
        return NULL;
    }
    return symbols;
}

void ws_symbols_close(struct ws_symbols *symbols)
{
    if (symbols)
        dwfl_end(symbols->dwfl);
    free(symbols);
}

/* --- symbol tables ------------------------------------------------------------------------------- */

/* Demangles the name, or cuts its suffix. Compilers name parts of a function f "f.cold", "f.part.0" and so on. A
 * symbol's version follows an "@". */
static void set_name(struct ws_symbol *symbol, const char *name)
{
    if (ws_demangle_function(symbol->name, sizeof(symbol->name), name))
        return;
    size_t length = name[0] == '.' ? strlen(name) : strcspn(name, ".@");
    snprintf(symbol->name, sizeof(symbol->name), "%.*s", (int)length, name);
}

/* libdwfl returns the nearest symbol before the address. The symbol's function contains the address only if the
 * address lies within the symbol's size. */
static bool by_symbol(struct ws_symbols *symbols, uint64_t address, struct ws_symbol *found)
{
    GElf_Off offset;
    GElf_Sym symbol;
    const char *name = dwfl_module_addrinfo(symbols->module, address, &offset, &symbol, NULL, NULL, NULL);
    if (!name || !*name || offset >= symbol.st_size)
        return false;
    *found = (struct ws_symbol){ 0 };
    set_name(found, name);
    return true;
}

/* --- debugging information ----------------------------------------------------------------------- */

/* The functions that contain an address, outermost first: a function, and the functions inlined into it. */
struct chain {
    Dwarf_Die dies[WS_SYMBOLS_INLINED_MOST];
    unsigned count;
};

static bool holds_functions(int tag)
{
    return tag == DW_TAG_namespace || tag == DW_TAG_class_type || tag == DW_TAG_structure_type ||
           tag == DW_TAG_module;
}

static bool is_function(int tag)
{
    return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

/* Appends to the chain the functions below this DIE (a node of the debugging information) that contain the address.
 * Returns whether a child of the DIE contains the address. */
static bool descend(Dwarf_Die *parent, Dwarf_Addr address, unsigned depth, struct chain *chain)
{
    Dwarf_Die child;
    if (depth == NESTED_MOST || dwarf_child(parent, &child))
        return false;
    do {
        int tag = dwarf_tag(&child);
        if (holds_functions(tag)) {
            if (descend(&child, address, depth + 1, chain))
                return true;
        } else if ((is_function(tag) || tag == DW_TAG_lexical_block) && dwarf_haspc(&child, address) == 1) {
            if (is_function(tag) && chain->count < WS_SYMBOLS_INLINED_MOST)
                chain->dies[chain->count++] = child;
            descend(&child, address, depth + 1, chain);
            return true;
        }
    } while (!dwarf_siblingof(&child, &child));
    return false;
}

/* Finds the compilation unit that contains the address. If the compiler wrote no index of addresses, every unit is
 * tried. */
static bool find_unit(struct ws_symbols *symbols, uint64_t address, Dwarf_Die *unit, Dwarf_Addr *bias)
{
    Dwarf_Die *found = dwfl_module_addrdie(symbols->module, address, bias);
    Dwarf_Die *next = found ? NULL : dwfl_module_nextcu(symbols->module, NULL, bias);
    for (; next && !found; next = dwfl_module_nextcu(symbols->module, next, bias))
        if (dwarf_haspc(next, address - *bias) == 1)
            found = next;
    if (found)
        *unit = *found;
    return found != NULL;
}

static void name_die(Dwarf_Die *die, struct ws_symbol *symbol)
{
    Dwarf_Attribute attribute;
    const char *linkage = NULL;
    if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
        dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
        linkage = dwarf_formstring(&attribute);
    const char *name = dwarf_diename(die);
    int line = 0;
    if (!linkage || !ws_demangle_function(symbol->name, sizeof(symbol->name), linkage))
        snprintf(symbol->name, sizeof(symbol->name), "%s", name ? name : "?");
    dwarf_decl_line(die, &line);
    symbol->first_line = line > 0 ? (uint32_t)line : 0;
}

/* Sets file and line to the place where the inlined function `die` was called. */
static void find_call(Dwarf_Die *unit, Dwarf_Die *die, struct ws_symbol *symbol)
{
    Dwarf_Attribute attribute;
    Dwarf_Word line = 0, file = 0;
    Dwarf_Files *files;
    size_t count;
    if (dwarf_attr(die, DW_AT_call_line, &attribute))
        dwarf_formudata(&attribute, &line);
    if (dwarf_attr(die, DW_AT_call_file, &attribute))
        dwarf_formudata(&attribute, &file);
    symbol->line = line <= INT32_MAX ? (uint32_t)line : 0;
    if (!dwarf_getsrcfiles(unit, &files, &count) && file < count)
        symbol->file = dwarf_filesrc(files, file, NULL, NULL);
}

/* Sets file and line of the symbol to the source line of the address. */
static void find_line(Dwarf_Die *unit, Dwarf_Addr address, struct ws_symbol *symbol)
{
    Dwarf_Line *line = dwarf_getsrc_die(unit, address);
    int number = 0;
    if (line && !dwarf_lineno(line, &number))
        symbol->line = number > 0 ? (uint32_t)number : 0;
    symbol->file = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
}

static unsigned by_debugging(struct ws_symbols *symbols, uint64_t address, struct ws_symbol *found)
{
    Dwarf_Die unit;
    Dwarf_Addr bias;
    struct chain chain = { .count = 0 };
    if (!find_unit(symbols, address, &unit, &bias) || !descend(&unit, address - bias, 0, &chain))
        return 0;
    for (unsigned i = 0; i < chain.count; i++) {
        unsigned inner = chain.count - i; /* number of functions in the chain from index i to the innermost one */
        struct ws_symbol *symbol = &found[inner - 1];
        *symbol = (struct ws_symbol){ 0 };
        name_die(&chain.dies[i], symbol);
        if (i + 1 < chain.count)
            find_call(&unit, &chain.dies[i + 1], symbol);
        else
            find_line(&unit, address - bias, symbol);
    }
    return chain.count;
}

unsigned ws_symbols_at(struct ws_symbols *symbols, uint64_t offset, bool with_lines, struct ws_symbol *found)
{
    uint64_t address = symbols->low + offset;
    unsigned count = with_lines ? by_debugging(symbols, address, found) : 0;
    return count ? count : by_symbol(symbols, address, found);
}
#else
struct ws_symbols *ws_symbols_open(const char *path, const void *id, size_t id_size, enum ws_symbols_lack *lack)
{
    (void)path;
    (void)id;
    (void)id_size;
    *lack = WS_SYMBOLS_NOT_BUILT;
    return NULL;
}

void ws_symbols_close(struct ws_symbols *symbols)
{
    (void)symbols;
}

unsigned ws_symbols_at(struct ws_symbols *symbols, uint64_t offset, bool with_lines, struct ws_symbol *found)
{
    (void)symbols;
    (void)offset;
    (void)with_lines;
    (void)found;
    return 0;
}
#endif
