/* Tests of shim/drain/ring_pages. The drain is the shim's thread that empties the rings of the program's threads. It
 * touches the pages of a ring before the ring's thread writes to them, so that this thread takes no page faults. The
 * drain must touch no more pages than the thread needs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/reserve.h"
#include "shim/drain/ring_pages.h"
#include "shim/objects/thread.h"

enum { SLOTS = 65536, PAGE = 4096, PAGES = SLOTS * WS_RING_SLOT / PAGE };

static struct shim_thread *thread;
static char *memory;
static unsigned threads;
static uint32_t begun;

unsigned thread_count(void)
{
    return threads;
}

uint32_t threads_begun(void)
{
    return begun;
}

unsigned thread_slots_used(void)
{
    return 2;
}

struct shim_thread *thread_at(unsigned slot)
{
    return slot ? thread : NULL;
}

static int set_up(void **state)
{
    (void)state;
    memory = ws_reserve(SLOTS * WS_RING_SLOT);
    thread = ws_reserve(sizeof(*thread));
    if (!memory || !thread)
        return -1;
    ws_reserve_small_pages(memory, SLOTS * WS_RING_SLOT);
    ws_ring_init(&thread->ring, memory, SLOTS, NULL);
    threads = 1;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    munmap(memory, SLOTS * WS_RING_SLOT);
    munmap(thread, sizeof(*thread));
    return 0;
}

static unsigned resident(void)
{
    static unsigned char pages[PAGES];
    unsigned count = 0;
    assert_int_equal(mincore(memory, SLOTS * WS_RING_SLOT, pages), 0);
    for (int i = 0; i < PAGES; i++)
        count += pages[i] & 1;
    return count;
}

/* A sanitizer keeps its notes on each word in shadow memory. If huge pages are scarce, the first write to a word may
 * take a page fault in the shadow memory, which the shim cannot avoid. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define FAULTS_ARE_OURS 0
#else
#define FAULTS_ARE_OURS 1
#endif

/* Writes records into the ring, as the program's thread does. Returns how many page faults this took. */
static long write_records(unsigned count)
{
    struct rusage before, after;
    getrusage(RUSAGE_THREAD, &before);
    for (unsigned i = 0; i < count; i++) {
        struct ws_ring_op *record = ws_ring_reserve_one(&thread->ring);
        if (!record)
            return -1;
        record->header = (struct ws_ring_header){ .kind = WS_RING_OP, .slots = 1 };
        record->correlation = i;
        ws_ring_commit(&thread->ring, 1);
    }
    getrusage(RUSAGE_THREAD, &after);
    return FAULTS_ARE_OURS ? after.ru_minflt - before.ru_minflt : 0;
}

static uint64_t read_records(void)
{
    uint64_t head = ws_ring_head(&thread->ring);
    ring_pages_keep(thread, head);
    ws_ring_release(&thread->ring, head);
    return head;
}

static void a_thread_that_launches_takes_no_page_fault(void **state)
{
    (void)state;
    write_records(1); /* makes the code pages of the called functions resident */
    read_records();
    for (int round = 0; round < 40; round++) {
        assert_int_equal(write_records(2000), 0);
        read_records();
    }
    assert_int_equal(resident(), PAGES);
}

static void a_thread_that_launches_faster_and_faster_takes_none(void **state)
{
    (void)state;
    write_records(1);
    read_records();
    for (unsigned records = 3000; records < SLOTS / 2; records *= 3) {
        assert_int_equal(write_records(records), 0);
        read_records();
    }
}

static void a_thread_that_begins_has_pages_before_the_round(void **state)
{
    (void)state;
    begun++;
    ring_pages_of_new_threads();
    unsigned pages = resident();
    assert_in_range(pages, WS_RING_LOOK_EVERY * WS_RING_SLOT / PAGE, 100);
    assert_int_equal(write_records(WS_RING_LOOK_EVERY), 0);
    ring_pages_of_new_threads(); /* changes nothing, since no thread has started since the last call */
    assert_int_equal(resident(), pages);
}

static void threads_that_launch_little_take_little(void **state)
{
    (void)state;
    threads = 2000;
    write_records(1);
    for (int round = 0; round < 100; round++)
        read_records();
    assert_in_range(resident(), 1, 2);
}

static void what_the_thread_wrote_stays(void **state)
{
    (void)state;
    assert_true(write_records(300) >= 0);
    ring_pages_keep(thread, 0);
    for (uint64_t at = 0; at < 300; at++)
        assert_int_equal(((struct ws_ring_op *)ws_ring_slot(&thread->ring, at))->correlation, at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_thread_that_launches_takes_no_page_fault, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_thread_that_launches_faster_and_faster_takes_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_thread_that_begins_has_pages_before_the_round, set_up, tear_down),
        cmocka_unit_test_setup_teardown(threads_that_launch_little_take_little, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_the_thread_wrote_stays, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
