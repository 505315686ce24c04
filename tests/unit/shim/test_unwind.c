/* Tests of shim/stacks/cfi and unwind, which find the callers on a stack by the tables in .eh_frame. The tests check
 * rules from tables that they make, compare whole stacks with those that libgcc finds, and read tables and stacks
 * with random contents. Memory lies between protected pages, so that a read outside faults. */
#include <alloca.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unwind.h>

#include <cmocka.h>

#include "shim/stacks/unwind.h"

enum { PAGE = 4096, DEEPEST = 200 };

/* Returns `pages` pages of memory, with a protected page before and behind them. */
static uint8_t *fenced(size_t pages)
{
    uint8_t *memory = mmap(NULL, (pages + 2) * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    assert_int_equal(mprotect(memory, PAGE, PROT_NONE), 0);
    assert_int_equal(mprotect(memory + (pages + 1) * PAGE, PAGE, PROT_NONE), 0);
    return memory + PAGE;
}

static void unfence(uint8_t *memory, size_t pages)
{
    munmap(memory - PAGE, (pages + 2) * PAGE);
}

/* --- rules from tables that the test makes ---------------------------------------------------- */

/* A table for one function: .eh_frame_hdr followed by .eh_frame. The function begins at address `code`. */
struct made {
    uint8_t bytes[512];
    size_t size;
    struct cfi_table table;
    uintptr_t code;
};

static void put(struct made *made, const void *bytes, size_t size)
{
    memcpy(made->bytes + made->size, bytes, size);
    made->size += size;
}

static void put_4(struct made *made, uint32_t value)
{
    put(made, &value, sizeof(value));
}

/* Ends an entry: writes its length at its begin. */
static void end_entry(struct made *made, size_t begin)
{
    while (made->size % 4)
        made->bytes[made->size++] = 0;
    uint32_t length = (uint32_t)(made->size - begin - 4);
    memcpy(made->bytes + begin, &length, sizeof(length));
}

#define TEXT(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })

/* The rule at the begin of each function of x86-64. The CFA (canonical frame address) is rsp + 8, and the return
 * address lies directly below it. */
static const uint8_t usual[] = { 0x0c, 7, 8, 0x90, 1 };

static void make(struct made *made, const char *letters, const uint8_t *common, size_t common_size,
                 const uint8_t *instructions, size_t size)
{
    *made = (struct made){ .code = (uintptr_t)made + 100000 };
    uint32_t distance = (uint32_t)(made->code - (uintptr_t)made->bytes);
    put(made, TEXT(1, 0x1b, 0x03, 0x3b));
    put_4(made, 0);
    put_4(made, 1);
    put_4(made, distance);
    put_4(made, 0); /* place of the function's entry, set below */
    size_t cie = made->size;
    put(made, TEXT(0, 0, 0, 0, 0, 0, 0, 0, 1));
    put(made, letters, strlen(letters) + 1);
    put(made, TEXT(1, 0x78, 16, 1, 0x1b)); /* factors 1 and −8, register of the return address, coding of pointers */
    put(made, common, common_size);
    end_entry(made, cie);
    uint32_t fde = (uint32_t)made->size;
    memcpy(made->bytes + 16, &fde, sizeof(fde));
    put_4(made, 0);
    put_4(made, (uint32_t)(made->size - cie));
    put_4(made, (uint32_t)(distance - made->size));
    put_4(made, 100); /* the function has 100 bytes of code */
    put(made, TEXT(0));
    put(made, instructions, size);
    end_entry(made, fde);
    made->table = (struct cfi_table){ made->bytes, made->bytes, made->bytes + made->size };
}

static void check(const struct cfi_rule *rule, enum cfi_frame frame, int32_t offset, enum cfi_bp bp,
                  int32_t bp_offset)
{
    assert_int_equal(rule->frame, frame);
    assert_int_equal(rule->frame_offset, offset);
    assert_int_equal(rule->bp, bp);
    assert_int_equal(rule->bp_offset, bp_offset);
}

static void a_function_has_a_rule_at_each_instruction(void **state)
{
    struct made made;
    (void)state;
    /* The function: push %rbp; sub $200,%rsp; …; pop %rbp; ret; then code with the rule that held before the pop. */
    make(&made, "zR", usual, sizeof(usual),
         TEXT(0x41, 0x0e, 16, 0x86, 2, 0x02, 4, 0x0e, 0xd8, 1, 0x03, 20, 0, 0x0a, 0xc6, 0x0e, 8, 0x41, 0x0b));
    struct cfi_rule rule = cfi_find(&made.table, made.code);
    check(&rule, CFI_FROM_SP, 8, CFI_BP_SAME, 0);
    rule = cfi_find(&made.table, made.code + 1);
    check(&rule, CFI_FROM_SP, 16, CFI_BP_FROM_FRAME, -16);
    rule = cfi_find(&made.table, made.code + 24);
    check(&rule, CFI_FROM_SP, 216, CFI_BP_FROM_FRAME, -16);
    rule = cfi_find(&made.table, made.code + 25);
    check(&rule, CFI_FROM_SP, 8, CFI_BP_SAME, 0);
    rule = cfi_find(&made.table, made.code + 99);
    check(&rule, CFI_FROM_SP, 216, CFI_BP_FROM_FRAME, -16);
    rule = cfi_find(&made.table, made.code + 100); /* an address behind the function */
    assert_int_equal(rule.frame, CFI_UNKNOWN);
    rule = cfi_find(&made.table, made.code - 1);
    assert_int_equal(rule.frame, CFI_UNKNOWN);
}

static void frames_of_special_kinds_have_rules(void **state)
{
    struct made made;
    (void)state;
    make(&made, "zR", usual, sizeof(usual), TEXT(0x0c, 6, 16, 0x86, 2));
    struct cfi_rule rule = cfi_find(&made.table, made.code);
    check(&rule, CFI_FROM_BP, 16, CFI_BP_FROM_FRAME, -16);
    /* A function that realigns its stack: CFA = *(rbp − 8), and the caller's rbp is saved at rbp + 0. */
    make(&made, "zR", usual, sizeof(usual), TEXT(0x10, 6, 2, 0x76, 0, 0x0f, 3, 0x76, 0x78, 6));
    rule = cfi_find(&made.table, made.code);
    check(&rule, CFI_AT_BP, -8, CFI_BP_FROM_BP, 0);
    make(&made, "zR", usual, sizeof(usual), TEXT(0x07, 16));
    assert_int_equal(cfi_find(&made.table, made.code).frame, CFI_OUTERMOST);
    make(&made, "zRS", usual, sizeof(usual), TEXT(0));
    assert_int_equal(cfi_find(&made.table, made.code).frame, CFI_SIGNAL);
    make(&made, "zR", usual, sizeof(usual), TEXT(0x07, 6));
    assert_int_equal(cfi_find(&made.table, made.code).bp, CFI_BP_LOST);
}

static void rules_that_are_not_understood_are_refused(void **state)
{
    struct made made;
    (void)state;
    make(&made, "zR", usual, sizeof(usual), TEXT(0x0c, 3, 16)); /* CFA relative to rbx */
    assert_int_equal(cfi_find(&made.table, made.code).frame, CFI_UNKNOWN);
    /* an expression for the CFA that cfi_find does not know: rsp + 8, as in a PLT */
    make(&made, "zR", usual, sizeof(usual), TEXT(0x0f, 2, 0x77, 8));
    assert_int_equal(cfi_find(&made.table, made.code).frame, CFI_UNKNOWN);
    make(&made, "zR", usual, sizeof(usual), TEXT(0x09, 16, 0)); /* the return address is in a register */
    assert_int_equal(cfi_find(&made.table, made.code).frame, CFI_UNKNOWN);
    make(&made, "zR", usual, sizeof(usual), TEXT(0x3f)); /* a CFA instruction that does not exist */
    assert_int_equal(cfi_find(&made.table, made.code).frame, CFI_UNKNOWN);
    make(&made, "zR", usual, sizeof(usual), TEXT(0x0b)); /* restores a state of rules that was never saved */
    assert_int_equal(cfi_find(&made.table, made.code).frame, CFI_UNKNOWN);
    /* saves as many states of rules as cfi_find allows */
    make(&made, "zR", usual, sizeof(usual), TEXT(10, 10, 10, 10, 10, 10, 10, 10));
    assert_int_equal(cfi_find(&made.table, made.code).frame, CFI_FROM_SP);
    make(&made, "zR", usual, sizeof(usual), TEXT(10, 10, 10, 10, 10, 10, 10, 10, 10));
    assert_int_equal(cfi_find(&made.table, made.code).frame, CFI_UNKNOWN);
    make(&made, "zQ", usual, sizeof(usual), TEXT(0)); /* an augmentation letter that does not exist */
    assert_int_equal(cfi_find(&made.table, made.code).frame, CFI_UNKNOWN);
}

/* --- the modules of this process ------------------------------------------------------------------- */

struct module_search {
    uintptr_t pc, begin;
    struct cfi_table table;
};

static int find_table(struct dl_phdr_info *info, size_t size, void *data)
{
    struct module_search *search = data;
    uintptr_t header = 0;
    bool found = false;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t at = info->dlpi_addr + segment->p_vaddr;
        found |= segment->p_type == PT_LOAD && search->pc >= at && search->pc < at + segment->p_memsz;
        header = segment->p_type == PT_GNU_EH_FRAME ? at : header;
    }
    for (int i = 0; i < info->dlpi_phnum && found && header; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t at = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && header >= at && header < at + segment->p_filesz)
            search->table = (struct cfi_table){ (const uint8_t *)header, (const uint8_t *)at,
                                                (const uint8_t *)at + segment->p_filesz };
    }
    return found;
}

static struct cfi_table table_of(uintptr_t pc)
{
    struct module_search search = { .pc = pc };
    dl_iterate_phdr(find_table, &search);
    return search.table;
}

static struct unwind_memory own_memory(uintptr_t sp)
{
    pthread_attr_t attributes;
    void *low;
    size_t size;
    assert_int_equal(pthread_getattr_np(pthread_self(), &attributes), 0);
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
    return (struct unwind_memory){ .low = sp, .high = (uintptr_t)low + size };
}

struct walk {
    uintptr_t pcs[DEEPEST];
    unsigned count;
};

static _Unwind_Reason_Code note_pc(struct _Unwind_Context *context, void *data)
{
    struct walk *walk = data;
    if (walk->count < DEEPEST)
        walk->pcs[walk->count++] = _Unwind_GetIP(context);
    return _URC_NO_REASON;
}

static unsigned walks;

/* Reads the same stack by our code and by libgcc. The innermost frame differs, since our code and libgcc are called
 * at different places. */
__attribute__((noipa)) static void compare_walks(void)
{
    static struct walk theirs;
    struct unwind_at at = { .has_bp = true };
    __asm__ volatile("leaq 0(%%rip), %0\n\tmovq %%rsp, %1\n\tmovq %%rbp, %2"
                     : "=&r"(at.pc), "=&r"(at.sp), "=&r"(at.bp));
    struct unwind_memory memory = own_memory(at.sp);
    theirs.count = 0;
    _Unwind_Backtrace(note_pc, &theirs);
    assert_in_range(theirs.count, 5, DEEPEST - 1);
    for (unsigned i = 1;; i++) {
        struct cfi_table table = table_of(unwind_instruction(&at));
        struct cfi_rule rule = cfi_find(&table, unwind_instruction(&at));
        enum unwind_result result = unwind_step(&rule, &memory, &at);
        if (result != UNWIND_STEPPED) {
            assert_int_equal(result, UNWIND_OUTERMOST);
            /* libgcc may add a last frame, for the function that has no caller. */
            assert_in_range(i, theirs.count - 1, theirs.count + 1);
            break;
        }
        if (i < theirs.count && theirs.pcs[i])
            assert_int_equal(at.pc, theirs.pcs[i]);
    }
    walks++;
}

__attribute__((noipa)) static void with_alloca(size_t size)
{
    volatile char *memory = alloca(size);
    memory[0] = 1;
    compare_walks();
    memory[size - 1] = 1;
}

__attribute__((noipa)) static void aligned(size_t size)
{
    _Alignas(256) volatile char memory[256];
    memory[size] = 1;
    with_alloca(size);
    memory[0] = memory[size];
}

__attribute__((noipa)) static unsigned recurse(unsigned depth)
{
    if (depth)
        return recurse(depth - 1) + 1;
    aligned(100);
    return 0;
}

static int compare_callback(const void *a, const void *b)
{
    compare_walks();
    return *(const int *)a - *(const int *)b;
}

static void *in_thread(void *unused)
{
    int values[] = { 2, 1 };
    recurse(50);
    qsort(values, 2, sizeof(values[0]), compare_callback);
    return unused;
}

static void walks_are_those_of_libgcc(void **state)
{
    pthread_t thread;
    (void)state;
    recurse(0);
    in_thread(NULL);
    assert_int_equal(pthread_create(&thread, NULL, in_thread, NULL), 0);
    pthread_join(thread, NULL);
    assert_true(walks >= 5);
}

/* --- random contents --------------------------------------------------------------------------------- */

static uint64_t random_state = 88172645463325252u;
static uint64_t random_word(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Reads copies of libc's table in which some bytes are wrong. No read may go outside of the copy. */
static void damaged_tables_are_not_read_outside(void **state)
{
    struct cfi_table table = table_of((uintptr_t)qsort);
    (void)state;
    assert_non_null(table.header);
    size_t size = (size_t)(table.high - table.low), pages = (size + PAGE - 1) / PAGE;
    /* the copy ends directly before the protected page */
    uint8_t *copy = fenced(pages), *begin = copy + pages * PAGE - size;
    struct cfi_table damaged = { begin + (table.header - table.low), begin, begin + size };
    uint32_t count;
    memcpy(&count, table.header + 8, sizeof(count));
    unsigned known = 0;
    for (unsigned round = 0; round < 20000; round++) {
        if (round % 500 == 0)
            memcpy(begin, table.low, size);
        int32_t row[2];
        uint32_t number = (uint32_t)(random_word() % count);
        memcpy(row, table.header + 12 + 8 * number, sizeof(row));
        /* Puts wrong bytes into the function's entry, or into its row in the header, or into the header itself. */
        uint8_t *where = begin + (table.header - table.low) + row[1] + (random_word() % 40);
        if (round % 3 == 1)
            where = begin + (table.header - table.low) + 12 + 8 * number + random_word() % 8;
        if (round % 50 == 2)
            where = begin + (table.header - table.low) + random_word() % 12;
        if (round % 500 > 5 && where < begin + size)
            *where = (uint8_t)random_word();
        struct cfi_rule rule =
            cfi_find(&damaged, (uintptr_t)damaged.header + (uintptr_t)(intptr_t)row[0] + random_word() % 32);
        known += rule.frame != CFI_UNKNOWN;
    }
    assert_true(known > 1000); /* with fewer known rules the test shows nothing */
    unfence(copy, pages);
}

static struct cfi_rule random_rule(void)
{
    uint64_t word = random_word();
    struct cfi_rule rule = { .frame = (uint8_t)(word % 6), .bp = (uint8_t)(word >> 8) % 4 };
    rule.frame_offset = word >> 16 & 1 ? (int32_t)random_word() : (int32_t)(word >> 20 & 0x1f8) - 64;
    rule.bp_offset = word >> 17 & 1 ? (int32_t)random_word() : (int32_t)(word >> 32 & 0x1f8) - 256;
    return rule;
}

/* A word that looks like an address in the stack, or any number. */
static uintptr_t random_address(const uint8_t *stack, size_t size)
{
    uint64_t word = random_word();
    if (word % 4 == 0)
        return word;
    if (word % 4 == 1)
        return (word >> 8) % 64 - 32;
    uintptr_t address = (uintptr_t)stack + (word >> 8) % (size + 512) - 256;
    return word % 32 < 4 ? address : address & ~(uintptr_t)7;
}

static void stacks_are_not_read_outside(void **state)
{
    enum { PAGES = 2, SIZE = PAGES * PAGE, WORDS = SIZE / sizeof(uintptr_t) };
    uint8_t *stack = fenced(PAGES);
    unsigned steps = 0;
    (void)state;
    for (unsigned round = 0; round < 20000; round++) {
        uintptr_t *words = (uintptr_t *)stack;
        for (unsigned i = 0; i < 64; i++)
            words[random_word() % WORDS] = random_address(stack, SIZE);
        struct unwind_memory memory = { .low = (uintptr_t)stack, .high = (uintptr_t)stack + SIZE };
        struct unwind_at at = {
            .pc = random_word(), .sp = random_address(stack, SIZE), .bp = random_address(stack, SIZE), .has_bp = true
        };
        for (unsigned i = 0; i < 50; i++) {
            struct cfi_rule rule = random_rule();
            struct unwind_at before = at;
            if (unwind_step(&rule, &memory, &at) != UNWIND_STEPPED)
                break;
            assert_true(rule.frame == CFI_SIGNAL || at.sp > before.sp);
            steps++;
        }
    }
    assert_true(steps > 1000);
    unfence(stack, PAGES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_function_has_a_rule_at_each_instruction),
        cmocka_unit_test(frames_of_special_kinds_have_rules),
        cmocka_unit_test(rules_that_are_not_understood_are_refused),
        cmocka_unit_test(walks_are_those_of_libgcc),
        cmocka_unit_test(damaged_tables_are_not_read_outside),
        cmocka_unit_test(stacks_are_not_read_outside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
