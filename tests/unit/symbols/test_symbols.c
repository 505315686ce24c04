/* Tests of src/symbols, which finds functions and lines for addresses, here of this program and of libc, and
 * demangles names of C++ and Rust. */
#include <dlfcn.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "symbols/demangle.h"
#include "symbols/symbols.h"

struct loaded {
    const void *address; /* the address that is looked up */
    uintptr_t low;
    unsigned char id[64];
    size_t id_size;
};

static void find_id(const char *notes, size_t size, struct loaded *loaded)
{
    for (size_t at = 0; at + sizeof(ElfW(Nhdr)) < size;) {
        const ElfW(Nhdr) *note = (const void *)(notes + at);
        size_t id = at + sizeof(*note) + ((note->n_namesz + 3u) & ~3u);
        if (note->n_type == NT_GNU_BUILD_ID && note->n_descsz <= sizeof(loaded->id))
            memcpy(loaded->id, notes + id, loaded->id_size = note->n_descsz);
        at = id + ((note->n_descsz + 3u) & ~3u);
    }
}

static int find_module(struct dl_phdr_info *info, size_t size, void *data)
{
    struct loaded *loaded = data;
    uintptr_t low = UINTPTR_MAX, high = 0;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t at = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        if (info->dlpi_phdr[i].p_type != PT_LOAD)
            continue;
        low = at < low ? at & ~(uintptr_t)4095 : low;
        high = at + info->dlpi_phdr[i].p_memsz > high ? at + info->dlpi_phdr[i].p_memsz : high;
    }
    if ((uintptr_t)loaded->address < low || (uintptr_t)loaded->address >= high)
        return 0;
    loaded->low = low;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_NOTE)
            find_id((const char *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr), info->dlpi_phdr[i].p_memsz, loaded);
    return 1;
}

static struct loaded module_of(const void *address)
{
    struct loaded loaded = { .address = address };
    assert_int_equal(dl_iterate_phdr(find_module, &loaded), 1);
    return loaded;
}

/* Opens the symbols of this program. If the program has none, skips the test. */
static struct ws_symbols *open_self(struct loaded *loaded)
{
    enum ws_symbols_lack lack;
    *loaded = module_of((const void *)(uintptr_t)find_id);
    if (!loaded->id_size)
        skip();
    struct ws_symbols *symbols = ws_symbols_open("/proc/self/exe", loaded->id, loaded->id_size, &lack);
    if (lack == WS_SYMBOLS_NOT_BUILT)
        skip();
    assert_int_equal(lack, WS_SYMBOLS_FOUND);
    return symbols;
}

enum { PLAIN_LINE = __LINE__ + 1 };
__attribute__((noipa)) static void plain(void)
{
    __asm__ volatile("" ::: "memory");
}

static uintptr_t here;
static inline __attribute__((always_inline)) void note_here(void)
{
    here = ({
        __label__ label;
    label:
        (uintptr_t) && label;
    });
    __asm__ volatile("" ::: "memory");
}

enum { INLINED_LINE = __LINE__ + 4 };
__attribute__((noipa)) static void calls_inlined(void)
{
    __asm__ volatile("" ::: "memory");
    note_here();
    __asm__ volatile("" ::: "memory");
}

static void functions_have_names_and_lines(void **state)
{
    struct loaded loaded;
    struct ws_symbol found[WS_SYMBOLS_INLINED_MOST];
    (void)state;
    struct ws_symbols *symbols = open_self(&loaded);
    uintptr_t address = (uintptr_t)plain;
    assert_int_equal(ws_symbols_at(symbols, address - loaded.low, true, found), 1);
    assert_string_equal(found[0].name, "plain");
    assert_non_null(strstr(found[0].file, "test_symbols.c"));
    assert_in_range(found[0].line, PLAIN_LINE, PLAIN_LINE + 3);
    assert_int_equal(found[0].first_line, PLAIN_LINE);
    assert_int_equal(ws_symbols_at(symbols, address - loaded.low, false, found), 1);
    assert_string_equal(found[0].name, "plain");
    assert_null(found[0].file);
    assert_int_equal(found[0].line, 0);
    ws_symbols_close(symbols);
}

static void inlined_functions_come_before_their_callers(void **state)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* sanitizers put code between the inlined function and its label */
#endif
    struct loaded loaded;
    struct ws_symbol found[WS_SYMBOLS_INLINED_MOST];
    (void)state;
    struct ws_symbols *symbols = open_self(&loaded);
    calls_inlined();
    assert_int_equal(ws_symbols_at(symbols, here - loaded.low, true, found), 2);
    assert_string_equal(found[0].name, "note_here");
    assert_string_equal(found[1].name, "calls_inlined");
    assert_int_equal(found[1].line, INLINED_LINE);
    assert_non_null(strstr(found[1].file, "test_symbols.c"));
    ws_symbols_close(symbols);
}

/* Code whose symbol has no size. This code may or may not belong to the function before it. */
__asm__(".text\n.balign 16\nwithout_size:\n.skip 64, 0x90\n");
extern const char without_size[] __attribute__((visibility("hidden")));

static void what_is_between_functions_has_no_name(void **state)
{
    struct loaded loaded;
    struct ws_symbol found[WS_SYMBOLS_INLINED_MOST];
    static int variable;
    (void)state;
    struct ws_symbols *symbols = open_self(&loaded);
    assert_int_equal(ws_symbols_at(symbols, 0, true, found), 0);
    assert_int_equal(ws_symbols_at(symbols, (uintptr_t)without_size + 32 - loaded.low, true, found), 0);
    assert_int_equal(ws_symbols_at(symbols, UINT64_MAX / 2, true, found), 0);
    /* the address of a variable: any result is right */
    ws_symbols_at(symbols, (uintptr_t)&variable - loaded.low, true, found);
    ws_symbols_close(symbols);
}

static void libraries_are_named_by_their_symbols(void **state)
{
    struct ws_symbol found[WS_SYMBOLS_INLINED_MOST];
    struct loaded loaded;
    enum ws_symbols_lack lack;
    Dl_info info;
    (void)state;
    ws_symbols_close(open_self(&loaded));
    void *function = dlsym(RTLD_NEXT, "lfind");
    assert_int_not_equal(dladdr(function, &info), 0);
    loaded = module_of(function);
    struct ws_symbols *symbols = ws_symbols_open(info.dli_fname, loaded.id, loaded.id_size, &lack);
    assert_non_null(symbols);
    assert_int_equal(ws_symbols_at(symbols, (uintptr_t)function + 4 - loaded.low, false, found), 1);
    assert_string_equal(found[0].name, "lfind");
    ws_symbols_close(symbols);
}

static void check_lack(const char *path, const void *id, size_t size, enum ws_symbols_lack expected)
{
    enum ws_symbols_lack lack;
    assert_null(ws_symbols_open(path, id, size, &lack));
    assert_int_equal(lack, expected);
}

static void files_that_do_not_fit_are_refused(void **state)
{
    struct loaded loaded;
    char folder[] = "/tmp/symbols-XXXXXX", path[64];
    (void)state;
    ws_symbols_close(open_self(&loaded));
    assert_non_null(mkdtemp(folder));
    loaded.id[0] ^= 1;
    check_lack("/proc/self/exe", loaded.id, loaded.id_size, WS_SYMBOLS_OTHER_FILE);
    loaded.id[0] ^= 1;
    check_lack("/proc/self/exe", loaded.id, loaded.id_size - 1, WS_SYMBOLS_OTHER_FILE);
    check_lack("/proc/self/exe", loaded.id, 0, WS_SYMBOLS_NO_ID);
    snprintf(path, sizeof(path), "%s/pipe", folder);
    check_lack(path, loaded.id, loaded.id_size, WS_SYMBOLS_NO_FILE);
    assert_int_equal(mkfifo(path, 0600), 0);
    check_lack(path, loaded.id, loaded.id_size, WS_SYMBOLS_NO_FILE); /* a pipe that nobody writes into */
    unlink(path);
    check_lack(folder, loaded.id, loaded.id_size, WS_SYMBOLS_NO_FILE);
    check_lack("/dev/zero", loaded.id, loaded.id_size, WS_SYMBOLS_NO_FILE);
    check_lack("/etc/passwd", loaded.id, loaded.id_size, WS_SYMBOLS_NO_FILE);
    rmdir(folder);
}

static void names_are_demangled_without_parameters(void **state)
{
    static const char *const names[][2] = {
        { "_ZN7Trainer4stepEif", "Trainer::step" },
        { "_Z3addIfET_S0_S0_", "add<float>" },
        { "_ZN4data6Loader4nextEv", "data::Loader::next" },
        { "_ZN5model4main17h0123456789abcdefE", "model::main" },
        { "_RNvCs1234_7mycrate3foo", "mycrate::foo" },
        { "_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()" },
    };
    char text[128];
    (void)state;
    if (!ws_demangle_function(text, sizeof(text), "_Z1fv"))
        skip();
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_true(ws_demangle_function(text, sizeof(text), names[i][0]));
        assert_string_equal(text, names[i][1]);
    }
    assert_false(ws_demangle_function(text, sizeof(text), "main"));
    assert_false(ws_demangle_function(text, sizeof(text), ""));
    assert_false(ws_demangle_function(text, 8, "_ZN7Trainer4stepEif"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_have_names_and_lines),
        cmocka_unit_test(inlined_functions_come_before_their_callers),
        cmocka_unit_test(what_is_between_functions_has_no_name),
        cmocka_unit_test(libraries_are_named_by_their_symbols),
        cmocka_unit_test(files_that_do_not_fit_are_refused),
        cmocka_unit_test(names_are_demangled_without_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
