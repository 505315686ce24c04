/* The machine code for x86-64 that `wallshim attach` copies into the process it attaches to. The code for the
 * stopped thread and the code for the new thread are in two sections of their own. The code finds everything outside
 * of its section through the block: the struct ws_late_block (wire/late.h), which `wallshim attach` writes into the
 * process after the page of code. */
#include <cpuid.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "attach/code.h"

/* The copied code must not call functions outside of the copy. The compiler would add such calls: calls of the stack
 * protector, and calls of memset in place of some loops. These attributes prevent that. */
#define COPIED(name)                                                                          \
    __attribute__((section(name), used, noinline, no_stack_protector, no_instrument_function, \
                   target("general-regs-only"), optimize("no-tree-loop-distribute-patterns", "no-jump-tables")))
#define WITHIN static inline __attribute__((always_inline))

/* LOOK_NS: ns between two checks of block->state. LOOKS: number of checks before the new thread gives up. */
enum { LOOK_NS = 500000, LOOKS = 10000 /* five seconds */, CLOSE_ON_EXEC = 1, RTLD_NOW_LOCAL = 2 };

extern const uint8_t __start_ws_late_call[], __stop_ws_late_call[], __start_ws_late_main[], __stop_ws_late_main[];

/* --- in the stopped thread ------------------------------------------------------------------------ */

/* The code at the start of the page; the block is in the pages after this page. Register rbx holds the address of the
 * block, rbp the stack pointer to restore. The red zone (128 bytes below the program's stack pointer) is left
 * unchanged. The thread's signals are blocked while this code runs, because a signal handler must not leave
 * pthread_create by longjmp while pthread_create holds locks. XSAVE saves the vector and floating-point registers:
 * the thread was about to make a system call, and the program may rely on system calls to leave these registers
 * unchanged. */
__attribute__((naked, used, no_stack_protector, no_instrument_function, section("ws_late_call"))) static void
late_call(void)
{
    __asm__("leaq -128(%%rsp), %%rsp\n\t"
            "pushfq\n\t"
            "pushq %%rax\n\tpushq %%rbx\n\tpushq %%rcx\n\tpushq %%rdx\n\tpushq %%rsi\n\tpushq %%rdi\n\t"
            "pushq %%rbp\n\tpushq %%r8\n\tpushq %%r9\n\tpushq %%r10\n\tpushq %%r11\n\tpushq %%r12\n\t"
            "pushq %%r13\n\tpushq %%r14\n\tpushq %%r15\n\t"
            "movq %%rsp, %%rbp\n\t"
            "leaq 0(%%rip), %%rbx\n\t"
            "andq $-%c[page], %%rbx\n\t"
            "addq $%c[page], %%rbx\n\t"
            "andq $-64, %%rsp\n\t"
            "cld\n\t"
            "movl $-1, %%eax\n\tmovl $-1, %%edx\n\t"
            "xsave64 (%%rbx)\n\t"
            "pushq $-1\n\tpushq $-1\n\t" /* rt_sigprocmask(SIG_SETMASK, all, &mask, 8) */
            "movl $14, %%eax\n\tmovl $2, %%edi\n\tmovq %%rsp, %%rsi\n\t"
            "leaq %c[mask](%%rbx), %%rdx\n\tmovl $8, %%r10d\n\tsyscall\n\t"
            "addq $16, %%rsp\n\t"
            "call *%c[errno_location](%%rbx)\n\t"
            "movq %%rax, %%r12\n\tmovl (%%rax), %%r13d\n\t"
            "leaq %c[created_thread](%%rbx), %%rdi\n\txorl %%esi, %%esi\n\t"
            "movq %c[main](%%rbx), %%rdx\n\tmovq %%rbx, %%rcx\n\t"
            "call *%c[pthread_create](%%rbx)\n\t"
            "movl %%eax, %c[created](%%rbx)\n\t"
            "movl %%r13d, (%%r12)\n\t"
            "movl $14, %%eax\n\tmovl $2, %%edi\n\tleaq %c[mask](%%rbx), %%rsi\n\t"
            "xorl %%edx, %%edx\n\tmovl $8, %%r10d\n\tsyscall\n\t"
            "movl $-1, %%eax\n\tmovl $-1, %%edx\n\t"
            "xrstor64 (%%rbx)\n\t"
            "movl $1, %c[called](%%rbx)\n\t"
            "movq %%rbp, %%rsp\n\t"
            "popq %%r15\n\tpopq %%r14\n\tpopq %%r13\n\tpopq %%r12\n\tpopq %%r11\n\tpopq %%r10\n\tpopq %%r9\n\t"
            "popq %%r8\n\tpopq %%rbp\n\tpopq %%rdi\n\tpopq %%rsi\n\tpopq %%rdx\n\tpopq %%rcx\n\tpopq %%rbx\n\t"
            "popq %%rax\n\t"
            "popfq\n\t"
            "leaq 128(%%rsp), %%rsp\n\t"
            "jmpq *__start_ws_late_call+%c[page]+%c[back](%%rip)\n\t"
            :
            : [page] "i"(WS_LATE_PAGE), [mask] "i"(offsetof(struct ws_late_block, mask)),
              [errno_location] "i"(offsetof(struct ws_late_block, errno_location)),
              [created_thread] "i"(offsetof(struct ws_late_block, created_thread)),
              [main] "i"(offsetof(struct ws_late_block, main)), [back] "i"(offsetof(struct ws_late_block, back)),
              [pthread_create] "i"(offsetof(struct ws_late_block, pthread_create)),
              [created] "i"(offsetof(struct ws_late_block, created)),
              [called] "i"(offsetof(struct ws_late_block, called)));
}
_Static_assert(offsetof(struct ws_late_block, registers) == 0, "XSAVE is given the block");

/* --- in the new thread ---------------------------------------------------------------------------- */

WITHIN long call_system(long number, long a, long b, long c)
{
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}

WITHIN void append(char **at, uint32_t number)
{
    uint32_t divisor = 1;
    while (number / divisor >= 10)
        divisor *= 10;
    for (; divisor; divisor /= 10)
        *(*at)++ = (char)('0' + number / divisor % 10);
}

WITHIN void write_path(struct ws_late_block *block, int32_t file)
{
    char *at = block->path + block->path_tail;
    append(&at, (uint32_t)file);
    *at = 0;
}

WITHIN bool wait_for(struct ws_late_block *block, uint32_t state)
{
    struct timespec pause = { 0, LOOK_NS };
    for (int look = 0; look < LOOKS; look++) {
        if (atomic_load(&block->state) == state)
            return true;
        call_system(SYS_nanosleep, (long)&pause, 0, 0);
    }
    return false;
}

WITHIN bool load(struct ws_late_block *block)
{
    void *(*open_library)(const char *, int) = (void *(*)(const char *, int))block->dlopen;
    void *(*find)(void *, const char *) = (void *(*)(void *, const char *))block->dlsym;
    for (int i = 0; i < WS_LATE_LIBRARIES; i++) {
        write_path(block, block->files[i]);
        block->libraries[i] = (uint64_t)open_library(block->path, RTLD_NOW_LOCAL);
        if (!block->libraries[i])
            return false;
    }
    block->entry = (uint64_t)find((void *)block->libraries[WS_LATE_SHIM], block->entry_name);
    return block->entry != 0;
}

COPIED("ws_late_main") static void *late_main(void *memory)
{
    struct ws_late_block *block = memory;
    unsigned long (*self)(void) = (unsigned long (*)(void))block->pthread_self;
    int (*detach)(unsigned long) = (int (*)(unsigned long))block->pthread_detach;
    bool loaded = block->entry != 0;
    detach(self());
    block->thread = (int32_t)call_system(SYS_gettid, 0, 0, 0);
    call_system(SYS_prctl, PR_SET_NAME, (long)block->thread_name, 0);
    for (int i = 0; i < WS_LATE_LIBRARIES && !loaded; i++)
        block->files[i] = (int32_t)call_system(SYS_memfd_create, (long)block->file_name, CLOSE_ON_EXEC, 0);
    if (!loaded) {
        atomic_store(&block->state, WS_LATE_FILES);
        loaded = wait_for(block, WS_LATE_FILLED) && load(block);
        for (int i = 0; i < WS_LATE_LIBRARIES; i++)
            if (block->files[i] >= 0)
                call_system(SYS_close, block->files[i], 0, 0);
    }
    if (loaded)
        ((void (*)(struct ws_late_block *))block->entry)(block);
    else
        atomic_store(&block->state, WS_LATE_FAILED);
    atomic_store((_Atomic int32_t *)&block->thread, WS_LATE_OVER);
    return NULL;
}

/* --- for the command ------------------------------------------------------------------------------ */

enum { MAIN_AT = 1024 };

size_t ws_code_copy(uint8_t page[WS_LATE_PAGE])
{
    size_t call = (size_t)(__stop_ws_late_call - __start_ws_late_call);
    size_t rest = (size_t)(__stop_ws_late_main - __start_ws_late_main);
    if (call > MAIN_AT || rest > WS_LATE_PAGE - MAIN_AT)
        return 0;
    memset(page, 0xcc, WS_LATE_PAGE);
    memcpy(page, __start_ws_late_call, call);
    memcpy(page + MAIN_AT, __start_ws_late_main, rest);
    return MAIN_AT + (size_t)((const uint8_t *)late_main - __start_ws_late_main);
}

bool ws_code_fits(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && c & bit_OSXSAVE && __get_cpuid_count(0xd, 0, &a, &b, &c, &d) &&
           b <= WS_LATE_STATE;
}
