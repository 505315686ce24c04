/* Tests of what may happen to a patch (a jump that overwrites a function's first instructions): it is prepared or
 * applied twice, it shares a page with other patches, or its page was changed by another tool. After the patches of a
 * page are removed, the page must be mapped from the program's file again. */
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "shim/attach/patch_code.h"

typedef int function(void);

/* The functions return 1, 2 and 3. A patch overwrites five bytes of each. All begin on one page, which has no other
 * code. The first instruction of the third one crosses into the next page. */
__asm__(".pushsection .text.life, \"ax\", @progbits; .p2align 12;"
        "life_one: .globl life_one; mov $1, %eax; ret; .p2align 4;"
        "life_two: .globl life_two; push %rbx; mov $2, %eax; pop %rbx; ret;"
        ".skip 4094 - (. - life_one), 0xcc;"
        "life_three: .globl life_three; mov $3, %eax; ret; .p2align 12; .popsection");
function life_one, life_two, life_three;

static int ten(void)
{
    return 10;
}

static int twenty(void)
{
    return 20;
}

static int call(function *called)
{
    function *volatile opaque = called;
    return opaque();
}

/* Whether the page of the address is mapped from a file in the file system. */
static bool is_of_a_file(const void *address)
{
    char line[512], path[256];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof(line), maps)) {
        unsigned long begin, end;
        path[0] = 0;
        if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %255s", &begin, &end, path) >= 2 && (uintptr_t)address >= begin &&
            (uintptr_t)address < end)
            found = path[0] == '/' && strncmp(path, "/memfd:", 7) != 0;
    }
    if (maps)
        fclose(maps);
    return found;
}

/* Whether /proc/self/maps names the file that this program's code comes from. On some file systems it does not. */
static bool files_are_known(void)
{
    char line[512], path[256];
    struct stat about;
    bool known = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && !known && fgets(line, sizeof(line), maps)) {
        unsigned long begin, end, inode;
        if (sscanf(line, "%lx-%lx %*s %*s %*s %lu %255s", &begin, &end, &inode, path) == 4 &&
            (uintptr_t)ten >= begin && (uintptr_t)ten < end)
            known = !stat(path, &about) && about.st_ino == inode;
    }
    if (maps)
        fclose(maps);
    return known;
}

static void prepare(struct patch *patch, function *patched, function *replacement)
{
    assert_int_equal(patch_prepare(patch, (void *)patched, 0, (void *)replacement), PATCH_OK);
}

static void test_neighbours(void **state)
{
    (void)state;
    struct patch one, two, three, *all[] = { &three, &one, &two };
    prepare(&one, life_one, ten);
    prepare(&two, life_two, twenty);
    prepare(&three, life_three, ten);
    assert_int_equal(patches_apply(all, 3), PATCH_OK);
    assert_false(is_of_a_file((void *)life_one));
    assert_int_equal(call(life_one), 10);
    assert_int_equal(call(life_two), 20);
    assert_int_equal(call(life_three), 10);
    assert_int_equal(call((function *)patch_trampoline(&two)), 2);
    assert_int_equal(patch_remove(&one), PATCH_OK);
    assert_int_equal(call(life_one), 1);
    assert_int_equal(call(life_two), 20);
    assert_int_equal(patches_remove(all, 3), PATCH_OK);
    assert_int_equal(call(life_one) + call(life_two) + call(life_three), 6);
    if (files_are_known()) {
        assert_true(is_of_a_file((void *)life_one));
        assert_true(is_of_a_file((const char *)life_three + 2));
    }
}

static void test_again(void **state)
{
    (void)state;
    struct patch first, second;
    prepare(&first, life_one, ten);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(patch_apply(&first), PATCH_OK);
    assert_int_equal(call(life_one), 10);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(patch_remove(&first), PATCH_OK);
    for (unsigned i = 0; i < 2000; i++) { /* more patches than there are trampolines in a block of memory */
        prepare(&second, life_one, twenty);
        assert_ptr_equal(patch_trampoline(&second), patch_trampoline(&first));
    }
    assert_int_equal(patch_apply(&second), PATCH_OK);
    assert_int_equal(call(life_one), 20);
    assert_int_equal(patch_remove(&second), PATCH_OK);
}

/* A page of code that was written at run time, as by another tool. */
static uint8_t *foreign_page(void)
{
    uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    static const uint8_t code[] = { 0xb8, 7, 0, 0, 0, 0xc3 }; /* the instructions mov $7, %eax; ret */
    assert_true(page != MAP_FAILED);
    memcpy(page, code, sizeof(code));
    assert_int_equal(mprotect(page, 4096, PROT_READ | PROT_EXEC), 0);
    return page;
}

static void write_byte(uint8_t *page, unsigned at, uint8_t byte)
{
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
    page[at] = byte;
    mprotect(page, 4096, PROT_READ | PROT_EXEC);
}

static void test_foreign(void **state)
{
    (void)state;
    struct patch patch;
    uint8_t *page = foreign_page();
    function *foreign = (function *)(uintptr_t)page;
    assert_int_equal(patch_prepare(&patch, page, 6, (void *)ten), PATCH_OK);
    write_byte(page, 1, 8);
    assert_int_equal(patch_apply(&patch), PATCH_NOT_OURS);
    assert_int_equal(call(foreign), 8);
    write_byte(page, 1, 7);
    assert_int_equal(patch_apply(&patch), PATCH_OK);
    assert_int_equal(call(foreign), 10);
    write_byte(page, 0, 0xcc);
    assert_int_equal(patch_remove(&patch), PATCH_NOT_OURS);
    assert_int_equal(page[0], 0xcc);
    write_byte(page, 0, 0xe9);
    assert_int_equal(patch_remove(&patch), PATCH_OK);
    assert_int_equal(call(foreign), 7);
}

static void test_no_code(void **state)
{
    (void)state;
    struct patch patch;
    static uint8_t data[64];
    assert_int_equal(patch_prepare(&patch, data, sizeof(data), (void *)ten), PATCH_MEMORY);
    assert_int_equal(patch_prepare(&patch, NULL, 0, (void *)ten), PATCH_MEMORY);
}

static bool forbid(unsigned call)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof(rules) / sizeof(rules[0]), rules };
    return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* The operating system refuses memory, either for the trampoline or later for the jump. */
static void test_refused(void **state)
{
    (void)state;
    int status;
    pid_t child = fork();
    if (!child) {
        struct patch early, late, applied;
        if (patch_prepare(&early, (void *)life_one, 0, (void *)ten) ||
            patch_prepare(&applied, (void *)life_three, 0, (void *)ten) || patch_apply(&applied) ||
            !forbid(SYS_memfd_create))
            _exit(77);
        /* removing needs no memory if the file with the original code is known */
        bool right = !files_are_known() || !patch_remove(&applied);
        right &= patch_apply(&early) == PATCH_MEMORY && !patch_is_applied(&early) && call(life_one) == 1;
        right &= patch_prepare(&late, (void *)life_two, 0, (void *)twenty) == PATCH_MEMORY;
        _exit(right ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (status == 77 << 8)
        skip();
    assert_int_equal(status, 0);
}

/* The instruction lea 0x7fffffff(%rip), %rax reaches as far up as it can. A copy of it in a trampoline further down
 * could not reach the same address. */
static void test_far(void **state)
{
    (void)state;
    static const uint8_t code[] = { 0x48, 0x8d, 0x05, 0xff, 0xff, 0xff, 0x7f, 0xc3 };
    struct patch_text text = { code, code + sizeof(code) };
    struct patch patch = { 0 };
    struct patch_slot slot, *near_slot = (struct patch_slot *)((uintptr_t)code & ~127ul);
    assert_int_equal(patch_read_head(&patch, code, sizeof(code), &text), PATCH_OK);
    assert_int_equal(patch_fill_slot(&patch, &slot, near_slot + 8, (void *)ten), PATCH_OK);
    assert_int_equal(patch_fill_slot(&patch, &slot, near_slot - 8, (void *)ten), PATCH_RELATIVE_FAR);
}

static void test_range(void **state)
{
    (void)state;
    struct patch patch;
    uintptr_t begin, end;
    prepare(&patch, life_two, ten);
    patch_range(&patch, &begin, &end);
    assert_int_equal(end - begin, 6);
    assert_ptr_equal((void *)begin, (void *)life_two);
}

static void *find_nothing(void *library, const char *name)
{
    (void)library;
    (void)name;
    return NULL;
}

static void test_no_decoder(void **state)
{
    (void)state;
    struct patch patch;
    assert_int_equal(patch_decoder_take(NULL, find_nothing), PATCH_NO_DECODER);
    assert_int_equal(patch_prepare(&patch, (void *)life_one, 0, (void *)ten), PATCH_NO_DECODER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_neighbours), cmocka_unit_test(test_again),      cmocka_unit_test(test_foreign),
        cmocka_unit_test(test_no_code),    cmocka_unit_test(test_far),        cmocka_unit_test(test_range),
        cmocka_unit_test(test_refused),    cmocka_unit_test(test_no_decoder),
    };
    void *zydis = dlopen("libZydis.so.4.0", RTLD_NOW);
    if (!zydis || patch_decoder_take(zydis, dlsym))
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
