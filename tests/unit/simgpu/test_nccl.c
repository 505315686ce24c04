/* Tests of the simulated NCCL, with ranks in one process and in two. */
#include <sys/wait.h>
#include <unistd.h>

#include "abi/nccl.h"
#include "simgpu.h"

#define CALL(name, ...) ws_ncclResult name(__VA_ARGS__);
CALL(ncclGetVersion, int *)
CALL(ncclGetUniqueId, ws_ncclUniqueId *)
CALL(ncclCommInitAll, ws_ncclComm *, int, const int *)
CALL(ncclCommInitRank, ws_ncclComm *, int, ws_ncclUniqueId, int)
CALL(ncclCommSplit, ws_ncclComm, int, int, ws_ncclComm *, ws_ncclConfig *)
CALL(ncclCommCount, ws_ncclComm, int *)
CALL(ncclCommUserRank, ws_ncclComm, int *)
CALL(ncclCommDestroy, ws_ncclComm)
CALL(ncclGroupStart, void)
CALL(ncclGroupEnd, void)
CALL(ncclAllReduce, const void *, void *, size_t, int, int, ws_ncclComm, ws_CUstream)
CALL(ncclReduceScatter, const void *, void *, size_t, int, int, ws_ncclComm, ws_CUstream)
CALL(ncclAllGather, const void *, void *, size_t, int, ws_ncclComm, ws_CUstream)
CALL(ncclBroadcast, const void *, void *, size_t, int, int, ws_ncclComm, ws_CUstream)
CALL(ncclSend, const void *, size_t, int, int, ws_ncclComm, ws_CUstream)
CALL(ncclRecv, void *, size_t, int, int, ws_ncclComm, ws_CUstream)
#undef CALL

enum { COUNT = 1000, RANKS = 2 };

#define works(call) assert_int_equal(call, WS_ncclSuccess)

struct rank {
    ws_CUcontext context;
    ws_CUdeviceptr buffer, result;
    ws_ncclComm comm;
};

static struct rank ranks[RANKS];

static void put(ws_CUdeviceptr to, float value, size_t count)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    succeeds(cuMemsetD32_v2(to, bits, count));
}

static float get(ws_CUdeviceptr from, size_t index)
{
    float value;
    succeeds(cuMemcpyDtoH_v2(&value, from + index * sizeof(value), sizeof(value)));
    return value;
}

static int two_devices(void **state)
{
    (void)state;
    ws_ncclComm comms[RANKS];
    succeeds(cuInit(0));
    works(ncclCommInitAll(comms, RANKS, NULL));
    for (int i = 0; i < RANKS; i++) {
        ranks[i].comm = comms[i];
        succeeds(cuDevicePrimaryCtxRetain(&ranks[i].context, i));
        succeeds(cuCtxSetCurrent(ranks[i].context));
        succeeds(cuMemAlloc_v2(&ranks[i].buffer, RANKS * COUNT * sizeof(float)));
        succeeds(cuMemAlloc_v2(&ranks[i].result, RANKS * COUNT * sizeof(float)));
        put(ranks[i].buffer, (float)(i + 1), RANKS * COUNT);
    }
    return 0;
}

static int end_devices(void **state)
{
    (void)state;
    for (int i = 0; i < RANKS; i++) {
        works(ncclCommDestroy(ranks[i].comm));
        succeeds(cuDevicePrimaryCtxReset_v2(i));
    }
    return 0;
}

#define ON_EACH(call)                                    \
    do {                                                 \
        works(ncclGroupStart());                         \
        for (int i = 0; i < RANKS; i++) {                \
            const struct rank *rank = &ranks[i];         \
            works(call);                                 \
        }                                                \
        works(ncclGroupEnd());                           \
        for (int i = 0; i < RANKS; i++) {                \
            succeeds(cuCtxSetCurrent(ranks[i].context)); \
            succeeds(cuCtxSynchronize());                \
        }                                                \
    } while (0)

static const void *from(const struct rank *rank)
{
    return (const void *)rank->buffer;
}

static void *into(const struct rank *rank)
{
    return (void *)rank->result;
}

static void reductions_give_every_rank_the_same(void **state)
{
    (void)state;
    static const struct {
        int reduction;
        float expected;
    } cases[] = { { WS_ncclSum, 3 }, { WS_ncclProd, 2 }, { WS_ncclMax, 2 }, { WS_ncclMin, 1 }, { WS_ncclAvg, 1.5f } };
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        ON_EACH(ncclAllReduce(from(rank), into(rank), COUNT, WS_ncclFloat32, cases[c].reduction, rank->comm, NULL));
        for (int i = 0; i < RANKS; i++) {
            assert_true(get(ranks[i].result, 0) == cases[c].expected);
            assert_true(get(ranks[i].result, COUNT - 1) == cases[c].expected);
        }
    }
    ON_EACH(ncclReduceScatter(from(rank), into(rank), COUNT, WS_ncclFloat32, WS_ncclSum, rank->comm, NULL));
    assert_true(get(ranks[1].result, COUNT - 1) == 3);
}

static void moves_put_every_piece_in_its_place(void **state)
{
    (void)state;
    ON_EACH(ncclAllGather(from(rank), into(rank), COUNT, WS_ncclFloat32, rank->comm, NULL));
    for (int i = 0; i < RANKS; i++) {
        assert_true(get(ranks[i].result, COUNT - 1) == 1);
        assert_true(get(ranks[i].result, COUNT) == 2);
    }
    ON_EACH(ncclBroadcast(from(rank), into(rank), COUNT, WS_ncclFloat32, 1, rank->comm, NULL));
    assert_true(get(ranks[0].result, COUNT - 1) == 2);
    works(ncclGroupStart());
    works(ncclSend(from(&ranks[0]), COUNT, WS_ncclFloat32, 1, ranks[0].comm, NULL));
    works(ncclRecv(into(&ranks[0]), COUNT, WS_ncclFloat32, 1, ranks[0].comm, NULL));
    works(ncclSend(from(&ranks[1]), COUNT, WS_ncclFloat32, 0, ranks[1].comm, NULL));
    works(ncclRecv(into(&ranks[1]), COUNT, WS_ncclFloat32, 0, ranks[1].comm, NULL));
    works(ncclGroupEnd());
    for (int i = 0; i < RANKS; i++) {
        succeeds(cuCtxSetCurrent(ranks[i].context));
        succeeds(cuCtxSynchronize());
        assert_true(get(ranks[i].result, COUNT - 1) == (float)(2 - i));
    }
}

static void splits_number_their_ranks_by_key(void **state)
{
    (void)state;
    ws_ncclComm made[RANKS];
    int size, rank;
    works(ncclGroupStart());
    for (int i = 0; i < RANKS; i++)
        works(ncclCommSplit(ranks[i].comm, 7, -i, &made[i], NULL));
    works(ncclGroupEnd());
    works(ncclCommCount(made[0], &size));
    works(ncclCommUserRank(made[0], &rank));
    assert_int_equal(size, 2);
    assert_int_equal(rank, 1);
    for (int i = 0; i < RANKS; i++)
        works(ncclCommDestroy(made[i]));
}

/* Runs one rank in a process of its own. Returns the exit status: 0 if the sum is right. */
static int one_rank(const ws_ncclUniqueId *id, int number)
{
    ws_CUcontext context;
    ws_ncclComm comm;
    ws_CUdeviceptr buffer;
    float mine[4] = { (float)number, 1, 2, 3 };
    if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) ||
        cuMemAlloc_v2(&buffer, sizeof(mine)) || cuMemcpyHtoD_v2(buffer, mine, sizeof(mine)))
        return 2;
    if (ncclCommInitRank(&comm, RANKS, *id, number) != WS_ncclSuccess)
        return 3;
    for (int i = 0; i < 3; i++)
        if (ncclAllReduce((void *)buffer, (void *)buffer, 4, WS_ncclFloat32, WS_ncclSum, comm, NULL))
            return 4;
    if (cuMemcpyDtoH_v2(mine, buffer, sizeof(mine)) || ncclCommDestroy(comm))
        return 5;
    return mine[0] == 4 && mine[3] == 24 ? 0 : 1;
}

/* Forks before this process uses the driver, because the driver does not work in a child that is forked later. */
static int two_processes(void)
{
    ws_ncclUniqueId id;
    int status = 1, failed = 0;
    if (ncclGetUniqueId(&id) != WS_ncclSuccess)
        return 1;
    for (int rank = 0; rank < RANKS; rank++)
        if (fork() == 0)
            exit(one_rank(&id, rank));
    for (int rank = 0; rank < RANKS; rank++)
        failed |= wait(&status) < 0 || status != 0;
    return failed;
}

static int processes_failed;

static void processes_reduce_together(void **state)
{
    (void)state;
    assert_int_equal(processes_failed, 0);
}

int main(void)
{
    setenv("SIMGPU_DEVICES", "2", 1);
    processes_failed = two_processes();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_reduce_together),
        cmocka_unit_test_setup_teardown(reductions_give_every_rank_the_same, two_devices, end_devices),
        cmocka_unit_test_setup_teardown(moves_put_every_piece_in_its_place, two_devices, end_devices),
        cmocka_unit_test_setup_teardown(splits_number_their_ranks_by_key, two_devices, end_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
