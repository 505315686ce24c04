/* Tests of the machine code that is copied into programs to start a thread in them. A thread of the test runs this
 * code: the code must make a new thread and change nothing else. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

#include "attach/code.h"

enum { REGISTERS = 15, ZONE = 16 /* ZONE: number of words in the red zone */ };

static void *page_of_code __asm__("page_of_code") __attribute__((used));
static uint64_t seen[REGISTERS] __asm__("seen_registers") __attribute__((used));
static uint64_t seen_flags __asm__("seen_flags") __attribute__((used));
static uint64_t seen_zone[ZONE] __asm__("seen_zone") __attribute__((used));
static uint64_t stack_before __asm__("stack_before") __attribute__((used)), stack_after __asm__("stack_after")
                                                                                __attribute__((used));
static uint8_t vector_before[16] __asm__("vector_before") __attribute__((used)) = "0123456789abcde";
static uint8_t vector_after[16] __asm__("vector_after") __attribute__((used));
extern uint8_t came_back[];

/* Runs the code in page_of_code while the registers hold 1 to 15, the carry and direction flags are set, and the red
 * zone holds -1 to -16. */
__attribute__((naked, noinline)) static void go_through(void)
{
    __asm__("pushq %rbx\n\tpushq %rbp\n\tpushq %r12\n\tpushq %r13\n\tpushq %r14\n\tpushq %r15\n\t"
            "movdqu vector_before(%rip), %xmm13\n\t"
            ".set word, 1\n\t"
            ".rept 16\n\t"
            "movq $-word, -8*word(%rsp)\n\t"
            ".set word, word+1\n\t"
            ".endr\n\t"
            "movq %rsp, stack_before(%rip)\n\t"
            "movl $1, %eax\n\tmovl $2, %ebx\n\tmovl $3, %ecx\n\tmovl $4, %edx\n\tmovl $5, %esi\n\tmovl $6, %edi\n\t"
            "movl $7, %ebp\n\tmovl $8, %r8d\n\tmovl $9, %r9d\n\tmovl $10, %r10d\n\tmovl $11, %r11d\n\t"
            "movl $12, %r12d\n\tmovl $13, %r13d\n\tmovl $14, %r14d\n\tmovl $15, %r15d\n\t"
            "std\n\tstc\n\t"
            "jmpq *page_of_code(%rip)\n\t"
            ".globl came_back\n"
            "came_back:\n\t"
            "movq %rax, seen_registers(%rip)\n\tmovq %rbx, seen_registers+8(%rip)\n\t"
            "movq %rcx, seen_registers+16(%rip)\n\tmovq %rdx, seen_registers+24(%rip)\n\t"
            "movq %rsi, seen_registers+32(%rip)\n\tmovq %rdi, seen_registers+40(%rip)\n\t"
            "movq %rbp, seen_registers+48(%rip)\n\tmovq %r8, seen_registers+56(%rip)\n\t"
            "movq %r9, seen_registers+64(%rip)\n\tmovq %r10, seen_registers+72(%rip)\n\t"
            "movq %r11, seen_registers+80(%rip)\n\tmovq %r12, seen_registers+88(%rip)\n\t"
            "movq %r13, seen_registers+96(%rip)\n\tmovq %r14, seen_registers+104(%rip)\n\t"
            "movq %r15, seen_registers+112(%rip)\n\t"
            "movq %rsp, stack_after(%rip)\n\t"
            ".set word, 1\n\t"
            ".rept 16\n\t"
            "movq -8*word(%rsp), %rax\n\tmovq %rax, seen_zone+8*word-8(%rip)\n\t"
            ".set word, word+1\n\t"
            ".endr\n\t"
            "pushfq\n\tpopq seen_flags(%rip)\n\t"
            "cld\n\t"
            "movdqu %xmm13, vector_after(%rip)\n\t"
            "popq %r15\n\tpopq %r14\n\tpopq %r13\n\tpopq %r12\n\tpopq %rbp\n\tpopq %rbx\n\t"
            "retq\n\t");
}

static struct ws_late_block *block;
static sigset_t mask_of_thread;
static atomic_bool entered;

static void entry(struct ws_late_block *given)
{
    assert_ptr_equal(given, block);
    pthread_sigmask(SIG_SETMASK, NULL, &mask_of_thread);
    entered = true;
}

static int disturbing_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*main)(void *),
                             void *argument)
{
    sigset_t now;
    errno = EINVAL;
    __asm__ volatile("pxor %%xmm13, %%xmm13" ::: "xmm13");
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &now), 0);
    assert_true(sigismember(&now, SIGUSR1));
    assert_int_equal((uintptr_t)__builtin_frame_address(0) % 16, 0);
    return pthread_create(thread, attributes, main, argument);
}

static void prepare(int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))
{
    static uint8_t code[WS_LATE_PAGE];
    uint8_t *page = mmap(NULL, WS_LATE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    size_t main_at = ws_code_copy(code);
    assert_true(main_at && ws_code_fits());
    memcpy(page, code, sizeof(code));
    assert_int_equal(mprotect(page, WS_LATE_PAGE, PROT_READ | PROT_EXEC), 0);
    block = (struct ws_late_block *)(page + WS_LATE_PAGE);
    *block = (struct ws_late_block){ .pthread_create = (uintptr_t)create,
                                     .errno_location = (uintptr_t)__errno_location,
                                     .main = (uintptr_t)page + main_at,
                                     .back = (uintptr_t)came_back,
                                     .pthread_self = (uintptr_t)pthread_self,
                                     .pthread_detach = (uintptr_t)pthread_detach,
                                     .entry = (uintptr_t)entry,
                                     .thread_name = "copied" };
    page_of_code = page;
}

static void all_is_as_before_and_a_thread_is_made(void **state)
{
    (void)state;
    sigset_t mask, after;
    prepare(disturbing_create);
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR2);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    errno = ENOTTY;
    go_through();
    assert_int_equal(errno, ENOTTY);
    for (uint64_t i = 0; i < REGISTERS; i++)
        assert_int_equal(seen[i], i + 1);
    for (int64_t i = 0; i < ZONE; i++)
        assert_int_equal((int64_t)seen_zone[i], -1 - i);
    assert_int_equal(stack_before, stack_after);
    assert_int_equal(seen_flags & 0x401, 0x401); /* the flags carry and direction are still set */
    assert_memory_equal(vector_before, vector_after, sizeof(vector_before));
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    assert_true(sigismember(&after, SIGUSR2) && !sigismember(&after, SIGUSR1));
    assert_int_equal(block->created, 0);
    assert_int_equal(block->called, 1);
    while (atomic_load((_Atomic int32_t *)&block->thread) != WS_LATE_OVER)
        usleep(1000);
    assert_true(entered);
    assert_true(sigismember(&mask_of_thread, SIGUSR1)); /* the new thread takes no signals */
}

static int refusing_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*main)(void *), void *argument)
{
    (void)thread, (void)attributes, (void)main, (void)argument;
    return EAGAIN;
}

static void a_thread_that_cannot_be_made_is_said(void **state)
{
    (void)state;
    prepare(refusing_create);
    go_through();
    assert_int_equal(block->created, EAGAIN);
    assert_int_equal(block->called, 1);
    assert_int_equal(block->thread, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_is_as_before_and_a_thread_is_made),
        cmocka_unit_test(a_thread_that_cannot_be_made_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
