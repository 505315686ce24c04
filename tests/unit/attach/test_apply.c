/* Tests of writing patches into another process (a child). A patch must not be written while the child's thread is in
 * the middle of the instructions that it overwrites. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

#include "attach/apply.h"
#include "attach/memory.h"

/* Code that the child cannot write to. It returns 1; once it is patched, it returns 2. */
static uint8_t *code;
/* `first`: mov $1, %eax; ret. `second`: mov $2, %eax; these bytes overwrite the first instruction of `first`. */
static const uint8_t first[] = { 0xb8, 1, 0, 0, 0, 0xc3 }, second[] = { 0xb8, 2, 0, 0, 0 };

static void make_code(void)
{
    code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(code, MAP_FAILED);
    memcpy(code, first, sizeof(first));
    assert_int_equal(mprotect(code, 4096, PROT_READ | PROT_EXEC), 0);
}

static void say_ready(int end)
{
    if (write(end, "", 1) != 1)
        _exit(99);
}

static pid_t begin(void (*work)(int end))
{
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (!child) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* the child ends with this process, even if a test fails */
        work(ends[1]);
        _exit(0);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    return child;
}

static void waits_for_patch(int end)
{
    int (*volatile function)(void) = (int (*)(void))(uintptr_t)code;
    say_ready(end);
    while (function() != 2)
        ;
}

/* In a child: the state that its shim would report. Each child has a copy of its own. */
static uint32_t block_state = WS_LATE_PREPARED;

static int apply(pid_t child, uint64_t begin_at, uint64_t end_at)
{
    char path[64];
    struct ws_process_facts process;
    struct ws_late_patch patch = { .begin = begin_at, .end = end_at };
    int64_t stood = 0;
    memcpy(patch.original, (const void *)(uintptr_t)begin_at, sizeof(patch.original));
    memcpy(patch.jump, second, sizeof(patch.jump));
    assert_int_equal(ws_process_look(child, &process), 0);
    snprintf(path, sizeof(path), "/proc/%d/mem", child);
    struct ws_patching patching = { .process = &process,
                                    .memory = open(path, O_RDWR | O_CLOEXEC),
                                    .state_at = (uintptr_t)&block_state,
                                    .patches = &patch,
                                    .count = 1 };
    int error = ws_apply_patches(&patching, &stood);
    close(patching.memory);
    assert_true(stood > 0 || error == -ETIMEDOUT); /* the threads were stopped, unless the shim had given up before */
    return error;
}

static void code_is_written_that_the_process_cannot_write(void **state)
{
    int status;
    (void)state;
    make_code();
    pid_t child = begin(waits_for_patch);
    assert_int_equal(apply(child, (uintptr_t)code, (uintptr_t)code + 5), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
    assert_memory_equal(code, first, sizeof(first)); /* the code of this process is unchanged */
}

static void nothing_is_written_once_the_shim_has_given_up(void **state)
{
    uint8_t there[5];
    (void)state;
    make_code();
    block_state = WS_LATE_FAILED;
    pid_t child = begin(waits_for_patch);
    block_state = WS_LATE_PREPARED;
    assert_int_equal(apply(child, (uintptr_t)code, (uintptr_t)code + 5), -ETIMEDOUT);
    assert_int_equal(ws_remote_read(child, (uintptr_t)code, there, sizeof(there)), 0);
    assert_memory_equal(there, first, sizeof(there));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static int ready_end;

static void on_signal(int number)
{
    (void)number;
    say_ready(ready_end);
    for (;;)
        pause();
}

/* Runs the one instruction at `code + 2`, a jump to itself, until a signal handler interrupts it. The handler never
 * returns. */
static void stays_in_handler(int end)
{
    ready_end = end;
    signal(SIGALRM, on_signal);
    alarm(1);
    ((void (*)(void))(uintptr_t)(code + 2))();
}

static void a_place_that_a_handler_interrupted_is_left_alone(void **state)
{
    static const uint8_t loop[] = { 0x90, 0x90, 0xeb, 0xfe };
    (void)state;
    make_code();
    assert_int_equal(mprotect(code, 4096, PROT_READ | PROT_WRITE), 0);
    memcpy(code, loop, sizeof(loop));
    assert_int_equal(mprotect(code, 4096, PROT_READ | PROT_EXEC), 0);
    pid_t child = begin(stays_in_handler);
    assert_int_equal(apply(child, (uintptr_t)code, (uintptr_t)code + 5), -EAGAIN);
    assert_int_equal(apply(child, (uintptr_t)code + 64, (uintptr_t)code + 69), 0);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

extern const char __ehdr_start; /* defined by the linker: the address at which this program is loaded */

static void a_thread_in_the_midst_is_left_alone(void **state)
{
    (void)state;
    pid_t child = begin(waits_for_patch);
    assert_int_equal(apply(child, (uintptr_t)&__ehdr_start, UINT64_MAX / 2), -EAGAIN);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_is_written_that_the_process_cannot_write),
        cmocka_unit_test(nothing_is_written_once_the_shim_has_given_up),
        cmocka_unit_test(a_place_that_a_handler_interrupted_is_left_alone),
        cmocka_unit_test(a_thread_in_the_midst_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
