/* Tests of listing all processes below one process: the children of all its threads, and their children. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

#include "attach/tree.h"

static bool has(const struct ws_vector *pids, int pid)
{
    for (size_t i = 0; i < pids->count; i++)
        if (((const int *)pids->data)[i] == pid)
            return true;
    return false;
}

/* Makes a child, which makes a child of its own, sends the process id of that grandchild, and waits. Returns the
 * first child's process id. */
static pid_t make_two(int *grandchild)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (!child) {
        pid_t below = fork();
        if (below && write(ends[1], &below, sizeof(below)) < 0)
            _exit(1);
        for (;;)
            pause();
    }
    assert_int_equal(read(ends[0], grandchild, sizeof(*grandchild)), sizeof(*grandchild));
    close(ends[0]);
    close(ends[1]);
    return child;
}

static int of_thread;

static void *thread_main(void *grandchild)
{
    of_thread = make_two(grandchild);
    return NULL;
}

static void children_of_all_threads_are_found(void **state)
{
    (void)state;
    struct ws_vector pids = WS_VECTOR(int);
    pthread_t thread;
    int below[2];
    pid_t child = make_two(&below[0]);
    assert_int_equal(pthread_create(&thread, NULL, thread_main, &below[1]), 0);
    pthread_join(thread, NULL);
    assert_int_equal(ws_process_tree(getpid(), &pids), 0);
    const int all[] = { getpid(), child, below[0], of_thread, below[1] };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        assert_true(has(&pids, all[i]));
    assert_false(has(&pids, getppid()));
    pids.count = 0;
    assert_int_equal(ws_process_tree(child, &pids), 0);
    assert_int_equal(pids.count, 2);
    for (size_t i = 1; i < sizeof(all) / sizeof(all[0]); i++)
        kill(all[i], SIGKILL);
    while (wait(NULL) > 0)
        ;
    assert_int_equal(ws_process_tree(child, &pids), -ESRCH);
    ws_vector_finish(&pids);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(children_of_all_threads_are_found) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
