/* Tests of SIMGPU_JITTER: each launch draws a random duration of its own. */
#include "simgpu.h"
#include "tests/simgpu/simgpu.h"

enum { LAUNCHES = 200, NS = 10000, PERCENT = 30 };

static void each_launch_draws_its_own(void **state)
{
    const struct simgpu_fixture *fixture = *state;
    uint64_t least = UINT64_MAX, most = 0, sum = 0;
    for (int i = 0; i < LAUNCHES; i++) {
        struct simgpu_counters before, after;
        simgpuCounters(0, &before);
        simgpu_spin(fixture, fixture->stream, NS);
        succeeds(cuStreamSynchronize(fixture->stream));
        simgpuCounters(0, &after);
        uint64_t ns = after.ns - before.ns;
        assert_in_range(ns, NS - NS * PERCENT / 100, NS + NS * PERCENT / 100);
        least = ns < least ? ns : least;
        most = ns > most ? ns : most;
        sum += ns;
    }
    assert_true(least < NS - NS / 5);
    assert_true(most > NS + NS / 5);
    assert_in_range(sum / LAUNCHES, NS - NS / 20, NS + NS / 20);
}

int main(void)
{
    setenv("SIMGPU_JITTER", "30", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_launch_draws_its_own, simgpu_setup, simgpu_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
