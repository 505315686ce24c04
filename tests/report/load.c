#include "load.h"

#include "check.h"

struct story *load_begin(struct loaded *loaded)
{
    memset(loaded, 0, sizeof(*loaded));
    snprintf(loaded->path, sizeof(loaded->path), "report-%d.wst", (int)getpid());
    unlink(loaded->path);
    story_begin(&loaded->story, loaded->path);
    return &loaded->story;
}

struct story *load_begin_on(struct loaded *loaded, const char *gpu, uint32_t streams)
{
    struct story *story = load_begin(loaded);
    story_device(story, 1, gpu, 0, 0);
    for (uint32_t stream = 1; stream <= streams; stream++)
        story_stream(story, stream, 1);
    return story;
}

void load_report(struct loaded *loaded)
{
    const char *path = loaded->path;
    char message[256] = "";
    story_end(&loaded->story);
    if (ws_model_create(&loaded->model, &path, 1, NULL, message, sizeof(message)))
        fail_msg("%s", message);
    const struct ws_report_options options = { .top = 20, .threads = 2, .steps = loaded->steps };
    assert_int_equal(ws_report_create(&loaded->report, loaded->model, &options), 0);
}

void load_finish(struct loaded *loaded)
{
    ws_report_destroy(loaded->report);
    ws_model_destroy(loaded->model);
    unlink(loaded->path);
}

const struct ws_track_activity *load_activity(const struct loaded *loaded, size_t track)
{
    assert_true(track < loaded->model->tracks.count);
    return ws_report_result(loaded->report, &ws_analysis_activity, track);
}

const struct ws_track_steps *load_steps(const struct loaded *loaded)
{
    return ws_report_result(loaded->report, &ws_analysis_steps, 0);
}

const struct ws_step *load_step(const struct ws_track_steps *steps, size_t place)
{
    assert_true(place < steps->steps.count);
    return (const struct ws_step *)steps->steps.data + place;
}

const struct ws_kernel_row *load_kernel(const struct loaded *loaded, size_t track, const char *name)
{
    const struct ws_track_kernels *kernels = ws_report_result(loaded->report, &ws_analysis_kernels, track);
    const struct ws_kernel_row *rows = kernels->rows.data;
    for (size_t i = 0; i < kernels->rows.count; i++)
        if (!strcmp(ws_model_name(loaded->model, rows[i].name)->text, name))
            return &rows[i];
    return NULL;
}
