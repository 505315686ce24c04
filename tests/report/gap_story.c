#include "gap_story.h"

struct story *begin(struct loaded *loaded)
{
    struct story *story = load_begin(loaded);
    story_device(story, 1, "Test GPU", 0, 1000);
    story_stream(story, COMPUTE, 1);
    story_stream(story, OTHER, 1);
    story_thread(story, 1, 100, "main");
    story_thread(story, 2, 101, "other");
    return story;
}

void launch(struct story *story, const struct launch *launch)
{
    struct ws_shape shape = { .stream = launch->stream };
    if (launch->name) {
        shape.kind = WS_OP_KERNEL;
        shape.function = story_function(story, launch->name);
        shape.driver_function = story_driver_function(story, "cuLaunchKernel", WS_CALL_LAUNCH);
    } else {
        shape.kind = WS_OP_COPY;
        shape.from_space = WS_SPACE_PINNED;
        shape.to_space = WS_SPACE_DEVICE;
        shape.driver_function = story_driver_function(story, "cuMemcpyHtoDAsync", WS_CALL_COPY);
    }
    struct ws_op op = story_op(story, story_shape(story, &shape), launch->from, launch->to);
    op.thread = launch->thread;
    op.host_begin = launch->host;
    op.host_end = launch->host + 5 * us;
    op.flags |= launch->flags;
    story_add(story, WS_FAMILY_op, &op);
}

void first(struct story *story)
{
    launch(story, &(struct launch){ COMPUTE, 1, gemm, -100 * us, 0, ms, 0 });
}

void second(struct story *story, int64_t host)
{
    launch(story, &(struct launch){ COMPUTE, 1, gemm, host, host + 7 * us, host + ms, 0 });
}
