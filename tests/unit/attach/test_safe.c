/* Tests of the check whether a stopped thread may hold a lock of the C library. The check looks at the words on the
 * thread's stack; the tests make these stacks. Other tests are of the symbols that the check needs. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"

#include "attach/calls.h"
#include "attach/safe.h"

static struct ws_mappings mappings;
static struct ws_remote_library libc;
static struct ws_unsafe_code code;

static int find_all(void **state)
{
    (void)state;
    assert_int_equal(ws_mappings_read(getpid(), &mappings), 0);
    const struct ws_mapping *first = ws_mapping_named(&mappings, "libc.so");
    assert_non_null(first);
    assert_int_equal(ws_remote_library_read(getpid(), first, &libc), 0);
    assert_int_equal(ws_unsafe_code_find(getpid(), &mappings, &libc, &code), 0);
    return 0;
}

static int forget_all(void **state)
{
    (void)state;
    ws_unsafe_code_finish(&code);
    ws_remote_library_finish(&libc);
    ws_mappings_finish(&mappings);
    return 0;
}

static void symbols_are_those_of_the_loader(void **state)
{
    static const char *const names[] = { "malloc",       "dlopen", "pthread_create",
                                         "pthread_self", "dlsym",  "__errno_location" };
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_int_equal(ws_remote_symbol(&libc, names[i]), (uintptr_t)dlsym(RTLD_DEFAULT, names[i]));
    assert_int_equal(ws_remote_symbol(&libc, "no_such_function"), 0);
}

static void a_neighbourhood_is_around_its_functions(void **state)
{
    static const char *const names[] = { "malloc", "free", NULL }, *const none[] = { "no_such_function", NULL };
    uint64_t begin, end;
    (void)state;
    assert_true(ws_remote_neighbourhood(&libc, names, &begin, &end));
    assert_true(begin < (uintptr_t)malloc && begin < (uintptr_t)free && end > (uintptr_t)malloc + 16);
    assert_true(end - begin < 1 << 16);
    assert_false(ws_remote_neighbourhood(&libc, none, &begin, &end));
}

static bool is_safe_at(uint64_t place, uint64_t word)
{
    uint64_t stack[4] = { 1, word, 2, 3 };
    struct ws_stopped stopped = { .thread = getpid(), .registers = { .rsp = (uintptr_t)stack, .rip = place } };
    stopped.registers.fs_base = (uintptr_t)(stack + 4); /* the search on the stack ends here */
    return ws_is_safe(&mappings, &stopped, &code);
}

static bool is_safe_with(uint64_t word)
{
    return is_safe_at(0, word);
}

static void code_with_locks_is_unsafe(void **state)
{
    const struct ws_mapping *loader = NULL;
    (void)state;
    for (size_t i = 0; i < mappings.count; i++)
        if (mappings.list[i].execute && !strncmp(ws_mapping_file(&mappings.list[i]), "ld-linux", 8))
            loader = &mappings.list[i];
    assert_non_null(loader);
    assert_true(is_safe_with(0));
    assert_true(is_safe_with((uintptr_t)code_with_locks_is_unsafe + 20));
    assert_false(is_safe_with((uintptr_t)dlsym(RTLD_DEFAULT, "malloc") + 21));
    assert_false(is_safe_with((uintptr_t)dlsym(RTLD_DEFAULT, "calloc") + 33));
    assert_false(is_safe_with((uintptr_t)dlsym(RTLD_DEFAULT, "pthread_create") + 101));
    assert_false(is_safe_with(loader->begin + 0x2005));
    /* a pointer to a function's first byte is no return address */
    assert_true(is_safe_with((uintptr_t)dlsym(RTLD_DEFAULT, "free")));
    assert_true(is_safe_with((uintptr_t)dlsym(RTLD_DEFAULT, "read") + 10));
    assert_false(is_safe_at((uintptr_t)dlsym(RTLD_DEFAULT, "malloc") + 21, 0));
}

static void *look_at_itself(void *more)
{
    struct ws_stopped stopped = { .thread = gettid() };
    uint64_t words[4] = { 0, *(uint64_t *)more, 0, 0 };
    struct ws_mappings now;
    bool safe = false;
    stopped.registers.rsp = (uintptr_t)words;
    stopped.registers.fs_base = (uintptr_t)pthread_self();
    /* All words above this frame belong to the thread's start; no earlier call has left any there. */
    if (!ws_mappings_read(getpid(), &now))
        safe = ws_is_safe(&now, &stopped, &code);
    ws_mappings_finish(&now);
    return safe ? more : NULL;
}

/* The stack of a running thread ends with the return address into the C library's code that called the thread's
 * function. That code is next to pthread_create, but holds no lock. */
static void a_thread_that_runs_its_function_is_safe(void **state)
{
    uint64_t words[] = { 0, (uintptr_t)dlsym(RTLD_DEFAULT, "malloc") + 21,
                         (uintptr_t)dlsym(RTLD_DEFAULT, "pthread_create") + 101 };
    (void)state;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        pthread_t thread;
        void *safe;
        assert_int_equal(pthread_create(&thread, NULL, look_at_itself, &words[i]), 0);
        pthread_join(thread, &safe);
        assert_int_equal(safe != NULL, i == 0);
    }
}

/* Two stacks are refused, because code may find no room on them: a stack that is not the thread's own (a fiber's),
 * and a thread's stack of which only the last page is free. */
static void small_stacks_are_unsafe(void **state)
{
    enum { SIZE = 256 << 10, NEAR_END = 200 << 10 };
    (void)state;
    uint64_t begin = (uintptr_t)mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct ws_mapping mapping = { .begin = begin, .end = begin + SIZE };
    struct ws_mappings only = { .list = &mapping, .count = 1 };
    struct ws_stopped stopped = { .thread = getpid(), .registers = { .rsp = begin + NEAR_END } };
    stopped.registers.fs_base = (uintptr_t)&mapping;
    assert_false(ws_is_safe(&only, &stopped, &code));
    stopped.registers.fs_base = mapping.end - 64;
    assert_true(ws_is_safe(&only, &stopped, &code));
    stopped.registers.rsp = begin + 4096;
    assert_false(ws_is_safe(&only, &stopped, &code));
    munmap((void *)(uintptr_t)begin, SIZE);
}

static void calls_are_harmless_if_they_hold_no_lock(void **state)
{
    (void)state;
    assert_true(ws_is_harmless_call(SYS_read) && ws_is_harmless_call(SYS_futex));
    assert_false(ws_is_harmless_call(SYS_mmap) || ws_is_harmless_call(SYS_clone) || ws_is_harmless_call(SYS_openat) ||
                 ws_is_harmless_call(SYS_exit) || ws_is_harmless_call(-1));
}

static void bad_addresses_are_refused(void **state)
{
    char byte;
    (void)state;
    assert_int_equal(ws_remote_read(getpid(), 16, &byte, 1), -EFAULT);
    struct ws_mapping nothing = { .begin = (uintptr_t)&mappings & ~(uint64_t)4095 };
    struct ws_remote_library library;
    assert_int_equal(ws_remote_library_read(getpid(), &nothing, &library), -ENOEXEC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(symbols_are_those_of_the_loader), cmocka_unit_test(a_neighbourhood_is_around_its_functions),
        cmocka_unit_test(code_with_locks_is_unsafe),       cmocka_unit_test(calls_are_harmless_if_they_hold_no_lock),
        cmocka_unit_test(small_stacks_are_unsafe),         cmocka_unit_test(a_thread_that_runs_its_function_is_safe),
        cmocka_unit_test(bad_addresses_are_refused),
    };
    return cmocka_run_group_tests(tests, find_all, forget_all);
}
