/* Tests of patching (overwriting a function's first instructions with a jump) for functions of every kind. The
 * patcher must refuse some of them. Each function is called in four ways: unpatched, patched, through its trampoline
 * (a copy of the overwritten instructions that then jumps to the rest), and after the patch was removed. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "check_patch.h"
#include "shim/attach/patch.h"

/* Each row is a function of two numbers: its name, what patch_prepare must return for it, and its assembly code. */
#define CET "endbr64; "
#define FUNCTIONS(ROW)                                                                                               \
    ROW(plain, PATCH_OK, "push %rbp; mov %rsp, %rbp; lea (%rdi,%rsi), %rax; pop %rbp; ret")                          \
    ROW(marked, PATCH_OK, CET "push %rbp; mov %rsp, %rbp; lea (%rdi,%rsi), %rax; pop %rbp; ret")                     \
    ROW(pushes, PATCH_OK, "push %rbx; push %r12; push %r13; mov %rdi, %rax; pop %r13; pop %r12; pop %rbx; ret")      \
    ROW(five, PATCH_OK, "mov $77, %eax; ret")                                                                        \
    ROW(marked_five, PATCH_OK, CET "mov $77, %eax; ret")                                                             \
    ROW(long_immediate, PATCH_OK, "movabs $0x123456789abcdef, %rax; add %rdi, %rax; ret")                            \
    ROW(ends_at_five, PATCH_OK, "xor %eax, %eax; inc %eax; ret")                                                     \
    ROW(load, PATCH_OK, "mov patch_data(%rip), %rax; add %rdi, %rax; ret")                                           \
    ROW(load_address, PATCH_OK, "lea patch_data(%rip), %rax; mov (%rax), %rax; ret")                                 \
    ROW(compare, PATCH_OK, "cmpl $5, patch_data(%rip); setne %al; movzx %al, %eax; ret")                             \
    ROW(compare_second, PATCH_OK, "push %rbx; cmpb $5, patch_data(%rip); pop %rbx; setne %al; movzx %al, %eax; ret") \
    ROW(tail_jump, PATCH_OK, "jmp patch_sum")                                                                        \
    ROW(marked_tail_jump, PATCH_OK, CET "jmp patch_sum")                                                             \
    ROW(tail_behind, PATCH_OK, "inc %rdi; jmp patch_sum")                                                            \
    ROW(linkage, PATCH_OK, "jmp *patch_pointer(%rip)")                                                               \
    ROW(linkage_bound, PATCH_OK, CET "bnd jmp *patch_pointer(%rip)")                                                 \
    ROW(call_second, PATCH_OK, "push %rbx; call patch_sum; pop %rbx; inc %rax; ret")                                 \
    ROW(call_first, PATCH_OK, "call patch_leaf; add %rdi, %rax; ret")                                                \
    ROW(call_pointer, PATCH_OK, "sub $8, %rsp; call *patch_pointer(%rip); add $8, %rsp; ret")                        \
    ROW(call_register, PATCH_OK,                                                                                     \
        "push %rbx; lea 1(%rdi), %rdi; mov patch_pointer(%rip), %rax; call *%rax; pop %rbx; ret")                    \
    ROW(call_register_last, PATCH_OK,                                                                                \
        CET "lea patch_leaf(%rip), %rax; jmp 1f; 1: mov %rax, %rdx; push %rbx; call *%rdx; pop %rbx; ret")           \
    ROW(call_not_last, PATCH_CALL, "mov %edi, %eax; call *%rax; ret")                                                \
    ROW(call_early, PATCH_CALL, "call *%rsi; nop; nop; nop; ret")                                                    \
    ROW(call_stack, PATCH_CALL, "push %rdi; call *8(%rsp); pop %rdi; ret")                                           \
    ROW(short_condition, PATCH_OK, "test %rdi, %rdi; je 1f; mov %rsi, %rax; ret; 1: mov $3, %eax; ret")              \
    ROW(short_conditions, PATCH_OK,                                                                                  \
        "test %edi, %edi; jg 1f; jl 2f; mov $9, %eax; ret; 1: mov %rsi, %rax; ret; 2: mov $3, %eax; ret")            \
    ROW(near_condition, PATCH_OK,                                                                                    \
        "test %rdi, %rdi; jne 1f; xor %eax, %eax; ret; .fill 200, 1, 0x90; 1: mov %rsi, %rax; ret")                  \
    ROW(short_jump, PATCH_OK, "push %rbx; mov %rdi, %rax; jmp 1f; ud2; 1: pop %rbx; ret")                            \
    ROW(count_zero, PATCH_OK, "mov %rdi, %rcx; jrcxz 1f; mov %rsi, %rax; ret; 1: mov $3, %eax; ret")                 \
    ROW(count_zero_half, PATCH_OK, "mov %rdi, %rcx; jecxz 1f; mov %rsi, %rax; ret; 1: mov $3, %eax; ret")            \
    ROW(loop_forward, PATCH_OK, "mov %rdi, %rcx; loop 1f; mov %rsi, %rax; ret; 1: mov %rcx, %rax; ret")              \
    ROW(loop_equal, PATCH_OK,                                                                                        \
        "mov %edi, %ecx; cmp %esi, %edi; loope 1f; mov %rsi, %rax; ret; 1: mov %rcx, %rax; ret")                     \
    ROW(loop_behind, PATCH_OK,                                                                                       \
        "xor %eax, %eax; lea 3(%rdi), %rcx; and $7, %ecx; inc %ecx; 1: inc %rax; loop 1b; ret")                      \
    ROW(vex, PATCH_OK, "vmovq %rdi, %xmm0; vpaddq %xmm0, %xmm0, %xmm1; vmovq %xmm1, %rax; ret")                      \
    ROW(vex_relative, PATCH_OK, "vmovq patch_data(%rip), %xmm0; vmovq %xmm0, %rax; ret")                             \
    ROW(evex_relative, PATCH_OK, "vpaddq patch_data(%rip){1to8}, %zmm17, %zmm17; mov %rdi, %rax; vzeroupper; ret")   \
    ROW(thread_local, PATCH_OK, "mov %fs:0, %rax; sub %rax, %rax; add %rdi, %rax; ret")                              \
    ROW(lock_prefix, PATCH_OK, "lock addq $0, patch_data(%rip); mov %rdi, %rax; ret")                                \
    ROW(recursive, PATCH_OK,                                                                                         \
        "test %rdi, %rdi; jle 1f; push %rbx; and $7, %edi; dec %rdi; call patch_recursive; pop %rbx; inc %rax; "     \
        "ret; "                                                                                                      \
        "1: xor %eax, %eax; ret")                                                                                    \
    ROW(own_address, PATCH_OK, "lea patch_own_address(%rip), %rax; sub %rax, %rax; ret")                             \
    ROW(loop_to_entry, PATCH_JUMP_INTO, "dec %rdi; test %rdi, %rdi; jg patch_loop_to_entry; mov %rsi, %rax; ret")    \
    ROW(loop_to_mark, PATCH_JUMP_INTO, CET "dec %rdi; test %rdi, %rdi; jg patch_loop_to_mark; mov %rsi, %rax; ret")  \
    ROW(loop_into, PATCH_JUMP_INTO, "xor %eax, %eax; 1: inc %eax; dec %rdi; nop; nop; jg 1b; ret")                   \
    ROW(loop_far_back, PATCH_JUMP_INTO,                                                                              \
        "xor %eax, %eax; 1: inc %eax; dec %rdi; .fill 3000, 1, 0x90; test %rdi, %rdi; jg 1b; ret")                   \
    ROW(loop_behind_head, PATCH_OK, "mov $0, %eax; 1: inc %eax; dec %rdi; test %rdi, %rdi; jg 1b; ret")              \
    ROW(own_loop, PATCH_JUMP_INTO, "mov %edi, %ecx; 1: loop 1b; mov %rsi, %rax; ret")                                \
    ROW(address_inside, PATCH_JUMP_INTO,                                                                             \
        "xor %eax, %eax; 1: nop; nop; nop; lea 1b(%rip), %rdx; mov %rdi, %rax; ret")                                 \
    ROW(marked_inside, PATCH_JUMP_INTO, "nop; endbr64; mov %rdi, %rax; ret")                                         \
    ROW(back_from_cold, PATCH_JUMP_INTO,                                                                             \
        "xor %eax, %eax; 1: inc %eax; nop; test %edi, %edi; jz patch_cold_part; ret; "                               \
        ".pushsection .text.unlikely; patch_cold_part: inc %edi; jmp 1b; .popsection")                               \
    ROW(overlap, PATCH_OVERLAP, "mov %rdi, %rax; mov %rdi, %rax; jmp 1f + 1; 1: mov $0x90909090, %eax; ret")         \
    ROW(breakpoint, PATCH_FIXED_INSTRUCTION, "int3; mov %rdi, %rax; ret; nop; nop")                                  \
    ROW(system_call, PATCH_FIXED_INSTRUCTION, "mov %edi, %eax; syscall; nop; ret")                                   \
    ROW(transaction, PATCH_FIXED_INSTRUCTION, "xbegin 1f; xend; 1: mov %rdi, %rax; ret")                             \
    ROW(undefined, PATCH_FIXED_INSTRUCTION, "ud2; mov %rdi, %rax; ret")                                              \
    ROW(cut_address, PATCH_FIXED_INSTRUCTION, ".byte 0x67; mov patch_data(%rip), %rax; ret")                         \
    ROW(cut_jump, PATCH_FIXED_INSTRUCTION, ".byte 0x66, 0xe9, 0, 0, 0, 0; ret")                                      \
    ROW(unknown, PATCH_UNKNOWN_INSTRUCTION, ".byte 0x06; mov %rdi, %rax; ret; nop; nop")                             \
    ROW(unknown_later, PATCH_UNKNOWN_INSTRUCTION, "mov %rdi, %rax; test %eax, %eax; ret; .byte 0x06, 0x06")          \
    ROW(long_body, PATCH_TOO_LONG, "test %rdi, %rdi; jz 1f; ret; .fill 70000, 1, 0x90; 1: ret")                      \
    ROW(only_return, PATCH_TOO_SHORT, "ret")                                                                         \
    ROW(marked_return, PATCH_TOO_SHORT, CET "ret")                                                                   \
    ROW(zero, PATCH_TOO_SHORT, "xor %eax, %eax; ret")                                                                \
    ROW(first, PATCH_TOO_SHORT, "mov %rdi, %rax; ret")                                                               \
    ROW(zero_padded, PATCH_TOO_SHORT, "xor %eax, %eax; ret; nop; nop; nop; nop")                                     \
    ROW(short_tail, PATCH_TOO_SHORT, "jmp 1f; 1: nop; nop; nop; mov %rdi, %rax; ret")

#define DEFINE(name, refusal, code)                                                                                \
    __asm__(".text; .p2align 4; .globl patch_" #name "; .type patch_" #name ", @function; patch_" #name ": " code  \
            "; .size patch_" #name ", . - patch_" #name "; patch_end_" #name ": .globl patch_end_" #name "; ret"); \
    long patch_##name(long, long);                                                                                 \
    extern const char patch_end_##name[];
FUNCTIONS(DEFINE)

typedef long function(long, long);

long patch_data = 0x1122334455667788;
long patch_sum(long one, long other);
function *patch_pointer = patch_sum;
long patch_leaf(long one, long other);

long patch_sum(long one, long other)
{
    return one + 2 * other;
}

__asm__(".text; .globl patch_leaf; patch_leaf: mov $17, %eax; ret");

static const struct row {
    const char *name;
    function *run;
    const char *end;
    enum patch_refusal refusal;
} rows[] = {
#define LIST(name, refusal, code) { #name, patch_##name, patch_end_##name, refusal },
    FUNCTIONS(LIST)
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static const long arguments[][2] = { { 5, 7 }, { 0, 4 }, { -3, 11 }, { 1, 1 }, { 2, 2 } };
enum { ARGUMENTS = sizeof(arguments) / sizeof(arguments[0]) };

static struct patch patch;
static unsigned replaced;

static long replacement(long one, long other)
{
    replaced++;
    return ((function *)patch_trampoline(&patch))(one, other);
}

static const struct patch_slot *slot_of(const struct patch *of)
{
    return (const struct patch_slot *)(of->trampoline - offsetof(struct patch_slot, trampoline));
}

static void results_of(function *run, long *results)
{
    for (unsigned i = 0; i < ARGUMENTS; i++)
        results[i] = run(arguments[i][0], arguments[i][1]);
}

static void expect_results(const struct row *row, function *run, const long *expected, unsigned replacements)
{
    long results[ARGUMENTS];
    replaced = 0;
    results_of(run, results);
    for (unsigned i = 0; i < ARGUMENTS; i++)
        if (results[i] != expected[i])
            fail_msg("%s(%ld, %ld) is %ld, not %ld", row->name, arguments[i][0], arguments[i][1], results[i],
                     expected[i]);
    if (!replacements != !replaced)
        fail_msg("%s: %u calls of the replacement", row->name, replaced);
}

static void patch_row(const struct row *row, size_t size)
{
    uint8_t before[64];
    long expected[ARGUMENTS];
    memcpy(before, (const void *)row->run, sizeof(before));
    enum patch_refusal refusal = patch_prepare(&patch, (void *)row->run, size, (void *)replacement);
    if (refusal != row->refusal)
        fail_msg("%s: %s", row->name, patch_reason(refusal));
    assert_memory_equal(before, row->run, sizeof(before));
    if (refusal)
        return;
    const char *wrong = check_patch(&patch, slot_of(&patch), slot_of(&patch));
    wrong =
        wrong ? wrong : check_jumps(&patch, (const uint8_t *)row->run, (size_t)(row->end - (const char *)row->run));
    if (wrong)
        fail_msg("%s: %s", row->name, wrong);
    results_of(row->run, expected);
    assert_int_equal(patch_apply(&patch), PATCH_OK);
    assert_true(patch_is_applied(&patch));
    expect_results(row, row->run, expected, ARGUMENTS);
    expect_results(row, (function *)patch_trampoline(&patch), expected, !strcmp(row->name, "recursive"));
    struct patch second;
    assert_int_equal(patch_prepare(&second, (void *)row->run, size, (void *)replacement), PATCH_ALREADY);
    assert_int_equal(patch_remove(&patch), PATCH_OK);
    assert_memory_equal(before, row->run, sizeof(before));
    expect_results(row, row->run, expected, 0);
}

static bool processor_runs(const struct row *row)
{
    return (strncmp(row->name, "vex", 3) || __builtin_cpu_supports("avx")) &&
           (strncmp(row->name, "evex", 4) || __builtin_cpu_supports("avx512f"));
}

static void test_functions(void **state)
{
    (void)state;
    unsigned counts[PATCH_REFUSALS] = { 0 };
    for (unsigned i = 0; i < ROWS; i++) {
        if (!processor_runs(&rows[i]))
            continue;
        patch_row(&rows[i], (size_t)(rows[i].end - (const char *)rows[i].run));
        counts[rows[i].refusal]++;
    }
    for (unsigned i = 0; i < PATCH_REFUSALS; i++)
        if (counts[i])
            print_message("%3u %s\n", counts[i], patch_reason(i));
}

/* If the test does not give the size, patch_prepare finds the function's end. The rows named "tail" are left out:
 * they end with a jump forwards, behind which the function seems to go on. */
static void test_unsized(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ROWS; i++)
        if (processor_runs(&rows[i]) && rows[i].refusal != PATCH_TOO_SHORT &&
            rows[i].refusal != PATCH_UNKNOWN_INSTRUCTION && !strstr(rows[i].name, "tail"))
            patch_row(&rows[i], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_unsized),
    };
    void *zydis = dlopen("libZydis.so.4.0", RTLD_NOW);
    if (!zydis || patch_decoder_take(zydis, dlsym))
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
