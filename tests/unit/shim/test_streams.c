/* Tests of shim/objects/streams: a thread finds the streams that it has used before without a lock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "shim/hook/driver_calls.h"
#include "shim/objects/functions.h"
#include "shim/objects/streams.h"
#include "shim/objects/thread.h"
#include "shim/state/lock.h"
#include "shim/state/phase.h"
#include "shim/state/registry.h"

struct shim_page shim_page;
struct ws_options shim_options;
bool shim_late;
struct driver_calls driver;
__thread struct thread_self thread_self;
static struct shim_thread thread;
static struct shim_context context = { .id = 1 };

/* --- stand-ins for the rest of the shim ------------------------------------------------------------ */

struct shim_context *context_at(uint32_t id)
{
    return id == 1 ? &context : NULL;
}

uint32_t context_count(void)
{
    return 1;
}

struct shim_context *context_current(void)
{
    return &context;
}

struct shim_context *context_of_stream(ws_CUstream stream, struct shim_context *current)
{
    (void)stream;
    return current;
}

void context_forget(const struct shim_context *of)
{
    (void)of;
}

void functions_doubt(void)
{
    shim_forget_handles();
}

void event_release(struct event_pool *pool, uint32_t event)
{
    (void)pool, (void)event;
}

void driver_ask_begin(struct driver_ask *ask)
{
    (void)ask;
}

void driver_ask_end(const struct driver_ask *ask)
{
    (void)ask;
}

static int open_all(void **state)
{
    (void)state;
    locks_open();
    registry_init();
    return 0;
}

/* --- tests ------------------------------------------------------------------------------------------- */

static ws_CUstream handle_of(uintptr_t address)
{
    return (ws_CUstream)address;
}

static int begin_anew(void **state)
{
    (void)state;
    memset(&thread, 0, sizeof(thread));
    thread.number = 1;
    thread_self.thread = &thread;
    shim_page.phase = SHIM_STARTED | SHIM_RECORDING;
    return 0;
}

static void a_stream_used_before_needs_no_lock(void **state)
{
    (void)state;
    struct shim_stream *stream = stream_find(handle_of(0x5500010), false, &context);
    assert_non_null(stream);
    assert_ptr_equal(stream_known(handle_of(0x5500010), false, &context), stream);
    struct shim_stream *legacy = stream_find(NULL, false, &context), *own = stream_find(NULL, true, &context);
    assert_true(legacy && own && legacy != own);
    stream_known(NULL, false, &context);
    stream_known(NULL, true, &context);
    assert_true(registry_lock()); /* nobody else gets the lock now */
    assert_ptr_equal(stream_known(handle_of(0x5500010), false, &context), stream);
    assert_ptr_equal(stream_known(NULL, false, &context), legacy);
    assert_ptr_equal(stream_known(NULL, true, &context), own);
    assert_ptr_equal(stream_known(WS_CU_STREAM_PER_THREAD, false, &context), own);
    assert_null(stream_known(handle_of(0x5500020), false, &context));
    registry_unlock();
}

static void a_destroyed_stream_is_not_found(void **state)
{
    (void)state;
    struct shim_stream *first = stream_find(handle_of(0x5500030), false, &context);
    assert_ptr_equal(stream_known(handle_of(0x5500030), false, &context), first);
    stream_forget(handle_of(0x5500030));
    assert_null(stream_known(handle_of(0x5500030), false, &context));
    struct shim_stream *second = stream_find(handle_of(0x5500030), false, &context);
    assert_true(second && second != first);
    assert_ptr_equal(stream_known(handle_of(0x5500030), false, &context), second);
}

static void default_streams_belong_to_their_context(void **state)
{
    (void)state;
    struct shim_context other = { .id = 2 };
    struct shim_stream *legacy = stream_find(NULL, false, &context), *others = stream_find(NULL, false, &other);
    assert_true(legacy != others);
    for (int i = 0; i < 2; i++) {
        assert_ptr_equal(stream_known(NULL, false, &context), legacy);
        assert_ptr_equal(stream_known(NULL, false, &other), others);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_stream_used_before_needs_no_lock, begin_anew),
        cmocka_unit_test_setup(a_destroyed_stream_is_not_found, begin_anew),
        cmocka_unit_test_setup(default_streams_belong_to_their_context, begin_anew),
    };
    return cmocka_run_group_tests(tests, open_all, NULL);
}
