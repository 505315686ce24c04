/* Tests of which kinds of memory record.h counts as host and as device memory, and of what follows: which copies come
 * from the host, and which copy engine runs a copy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/activity/host_time.h"
#include "shim/objects/contexts.h"

static struct ws_shape copy(enum ws_space from, enum ws_space to)
{
    return (struct ws_shape){ .kind = WS_OP_COPY, .from_space = from, .to_space = to };
}

static void memory_is_on_one_side(void **state)
{
    static const enum ws_space host[] = { WS_SPACE_PAGEABLE, WS_SPACE_PINNED, WS_SPACE_HOST };
    static const enum ws_space device[] = { WS_SPACE_DEVICE, WS_SPACE_ARRAY, WS_SPACE_MANAGED, WS_SPACE_PEER };
    (void)state;
    for (unsigned i = 0; i < 3; i++)
        assert_true(ws_space_is_host(host[i]) && !ws_space_is_device(host[i]));
    for (unsigned i = 0; i < 4; i++)
        assert_true(ws_space_is_device(device[i]) && !ws_space_is_host(device[i]));
    assert_false(ws_space_is_host(WS_SPACE_UNKNOWN) || ws_space_is_device(WS_SPACE_UNKNOWN));
    assert_false(ws_space_is_device(WS_SPACE_COUNT));
}

static void host_memory_of_unknown_kind_is_input_too(void **state)
{
    struct ws_shape up = copy(WS_SPACE_HOST, WS_SPACE_DEVICE), down = copy(WS_SPACE_DEVICE, WS_SPACE_HOST),
                    moved = copy(WS_SPACE_PINNED, WS_SPACE_HOST);
    (void)state;
    assert_true(ws_is_host_to_device(&up));
    assert_false(ws_is_host_to_device(&down));
    assert_false(ws_is_host_to_device(&moved));
}

static void each_direction_has_its_engine(void **state)
{
    static const struct {
        enum ws_space from, to;
        enum copy_direction direction;
    } facts[] = {
        { WS_SPACE_PAGEABLE, WS_SPACE_DEVICE, COPY_TO_DEVICE },
        { WS_SPACE_PINNED, WS_SPACE_ARRAY, COPY_TO_DEVICE },
        { WS_SPACE_DEVICE, WS_SPACE_PINNED, COPY_TO_HOST },
        { WS_SPACE_ARRAY, WS_SPACE_PAGEABLE, COPY_TO_HOST },
        { WS_SPACE_DEVICE, WS_SPACE_ARRAY, COPY_DIRECTIONS },
        { WS_SPACE_PAGEABLE, WS_SPACE_PINNED, COPY_DIRECTIONS },
        { WS_SPACE_UNKNOWN, WS_SPACE_DEVICE, COPY_TO_DEVICE },
        { WS_SPACE_DEVICE, WS_SPACE_UNKNOWN, COPY_TO_HOST },
        { WS_SPACE_PINNED, WS_SPACE_UNKNOWN, COPY_TO_DEVICE },
        { WS_SPACE_UNKNOWN, WS_SPACE_UNKNOWN, COPY_DIRECTIONS },
    };
    (void)state;
    for (unsigned i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
        struct ws_shape shape = copy(facts[i].from, facts[i].to);
        assert_int_equal(copy_direction(&shape), facts[i].direction);
        shape.kind = WS_OP_KERNEL;
        assert_int_equal(copy_direction(&shape), COPY_DIRECTIONS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_on_one_side),
        cmocka_unit_test(host_memory_of_unknown_kind_is_input_too),
        cmocka_unit_test(each_direction_has_its_engine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
