/* Tests of shim/stacks/stack_memory, which finds the memory of the thread's own stack, and which reads other stacks
 * safely. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "shim/stacks/stack_memory.h"

enum { PAGE = 4096 };

static uintptr_t stack_pointer(void)
{
    return (uintptr_t)__builtin_frame_address(0);
}

/* The bounds of the thread's stack, as libc knows them. */
static void find_stack(uintptr_t *low, uintptr_t *high)
{
    pthread_attr_t attributes;
    void *begin;
    size_t size;
    assert_int_equal(pthread_getattr_np(pthread_self(), &attributes), 0);
    pthread_attr_getstack(&attributes, &begin, &size);
    pthread_attr_destroy(&attributes);
    *low = (uintptr_t)begin;
    *high = (uintptr_t)begin + size;
}

static void check_own_stack(void)
{
    struct own_stack own = { 0 };
    uintptr_t low, high, sp = stack_pointer();
    find_stack(&low, &high);
    struct unwind_memory memory = stack_memory(&own, sp);
    assert_int_equal(memory.low, sp);
    /* The end of the stack differs a little: libc does not count the program's arguments, but it counts the thread's
     * own variables. */
    assert_in_range(memory.high, high - 65536, high + 65536);
    assert_true(memory.high > sp);
    assert_null(memory.more);
    assert_false(own.is_whole);
}

static void *in_thread(void *unused)
{
    check_own_stack();
    return unused;
}

static void a_thread_knows_its_own_stack(void **state)
{
    pthread_t thread;
    (void)state;
    assert_true(stack_memory_works());
    check_own_stack();
    assert_int_equal(pthread_create(&thread, NULL, in_thread, NULL), 0);
    pthread_join(thread, NULL);
}

/* The bounds of a deep stack are found in several calls, a part in each. */
__attribute__((noipa)) static void check_deep(struct own_stack *own)
{
    volatile char memory[3 << 20];
    memory[0] = 1;
    unsigned calls = 1;
    while (stack_memory(own, stack_pointer() - sizeof(memory)).more && calls < 100)
        calls++;
    assert_in_range(calls, 2, 10);
}

static void a_deep_stack_is_learned_piece_by_piece(void **state)
{
    struct own_stack own = { 0 };
    (void)state;
    check_deep(&own);
    assert_false(own.is_whole);
}

static void another_stack_is_read_page_by_page(void **state)
{
    struct own_stack own = { 0 };
    (void)state;
    uint8_t *pages = mmap(NULL, 5 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    assert_int_equal(mprotect(pages + 4 * PAGE, PAGE, PROT_NONE), 0);
    uintptr_t sp = (uintptr_t)pages + PAGE + 64;
    struct unwind_memory memory = stack_memory(&own, sp);
    assert_int_equal(memory.low, sp);
    assert_non_null(memory.more);
    assert_true(memory.high <= sp);
    assert_true(memory.more(&memory, sp));
    assert_int_equal(memory.high, (uintptr_t)pages + 2 * PAGE);
    assert_true(memory.more(&memory, (uintptr_t)pages + 4 * PAGE - 8));
    assert_false(memory.more(&memory, (uintptr_t)pages + 4 * PAGE));
    assert_int_equal(memory.high, (uintptr_t)pages + 4 * PAGE);
    munmap(pages, 5 * PAGE);
}

static void few_pages_of_another_stack_are_asked_about(void **state)
{
    struct own_stack own = { 0 };
    size_t size = 4 << 20;
    (void)state;
    uint8_t *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    struct unwind_memory memory = stack_memory(&own, (uintptr_t)pages);
    assert_non_null(memory.more);
    assert_false(memory.more(&memory, (uintptr_t)pages + size - 8));
    assert_true(memory.high <= (uintptr_t)pages + (64 << 10) * 4);
    munmap(pages, size);
}

/* Checks addresses directly below a thread's stack, behind the page that guards it. */
static void *below_a_stack(void *stack)
{
    struct own_stack own = { 0 };
    for (int i = 0; i < 20; i++)
        assert_non_null(stack_memory(&own, (uintptr_t)stack - 3 * PAGE).more);
    assert_true(own.is_whole);
    assert_int_equal(own.low, (uintptr_t)stack);
    assert_null(stack_memory(&own, stack_pointer()).more);
    return NULL;
}

static void a_stack_ends_at_what_cannot_be_read(void **state)
{
    enum { SIZE = 512 * PAGE /* ThreadSanitizer needs a stack of 1 MB */, BELOW = 8 * PAGE };
    pthread_t thread;
    pthread_attr_t attributes;
    (void)state;
    uint8_t *memory = mmap(NULL, BELOW + SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    assert_int_equal(mprotect(memory + BELOW - PAGE, PAGE, PROT_NONE), 0);
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, memory + BELOW, SIZE);
    assert_int_equal(pthread_create(&thread, &attributes, below_a_stack, memory + BELOW), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    munmap(memory, BELOW + SIZE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_knows_its_own_stack),
        cmocka_unit_test(a_deep_stack_is_learned_piece_by_piece),
        cmocka_unit_test(another_stack_is_read_page_by_page),
        cmocka_unit_test(few_pages_of_another_stack_are_asked_about),
        cmocka_unit_test(a_stack_ends_at_what_cannot_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
