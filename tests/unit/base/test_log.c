/* Tests of warnings on stderr, written by a thread that is being cancelled. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/log.h"

static bool returned;

static void *warn(void *unused)
{
    (void)unused;
    pthread_cancel(pthread_self());
    ws_warn("a line of a test's");
    returned = true;
    pthread_testcancel();
    return NULL;
}

static void no_thread_is_cancelled_in_it(void **state)
{
    (void)state;
    pthread_t thread;
    void *answer = NULL;
    assert_int_equal(pthread_create(&thread, NULL, warn, NULL), 0);
    pthread_join(thread, &answer);
    assert_true(returned);
    /* the thread is cancelled at its own next cancellation point, not in the warning */
    assert_ptr_equal(answer, PTHREAD_CANCELED);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(no_thread_is_cancelled_in_it) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
