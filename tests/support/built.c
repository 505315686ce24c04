#include "built.h"

#include "check.h"

struct builder *built_add(struct built *built)
{
    assert_true(built->count < BUILT_MOST);
    char *path = built->paths[built->count];
    struct builder *builder = built->traces[built->count] = malloc(sizeof(*builder));
    assert_non_null(builder);
    snprintf(path, sizeof(built->paths[0]), "built-%d-%zu.wst", (int)getpid(), built->count);
    unlink(path);
    build_begin(builder, path);
    built->count++;
    return builder;
}

struct builder *built_begin(struct built *built)
{
    *built = (struct built){ 0 };
    return built_add(built);
}

struct builder *built_begin_on(struct built *built, const char *gpu, uint32_t streams)
{
    struct builder *trace = built_begin(built);
    build_device(trace, 1, gpu, 0, 0);
    for (uint32_t stream = 1; stream <= streams; stream++)
        build_stream(trace, stream, 1);
    return trace;
}

void built_read(struct built *built)
{
    const char *paths[BUILT_MOST];
    char message[256] = "";
    for (size_t i = 0; i < built->count; i++) {
        build_end(built->traces[i]);
        paths[i] = built->paths[i];
    }
    if (ws_model_create(&built->model, paths, built->count, NULL, message, sizeof(message)))
        fail_msg("%s", message);
}

void built_report(struct built *built)
{
    built_read(built);
    const struct ws_report_options options = { .top = 20, .threads = 2, .steps = built->steps };
    assert_int_equal(ws_report_create(&built->report, built->model, &ws_all_analyses, &options), 0);
    if (built->count > 1)
        built_print(built);
}

void built_finish(struct built *built)
{
    ws_report_destroy(built->report);
    ws_model_destroy(built->model);
    for (size_t i = 0; i < built->count; i++) {
        free(built->traces[i]);
        unlink(built->paths[i]);
    }
}

const void *built_result(const struct built *built, const struct ws_analysis *analysis, size_t track)
{
    assert_true(track < built->model->tracks.count);
    return ws_report_result(built->report, analysis, track);
}

const struct ws_track_activity *built_activity(const struct built *built, size_t track)
{
    return built_result(built, &ws_analysis_activity, track);
}

const struct ws_track_steps *built_steps(const struct built *built)
{
    return built_result(built, &ws_analysis_steps, 0);
}

const struct ws_step *built_step(const struct ws_track_steps *steps, size_t place)
{
    assert_true(place < steps->steps.count);
    return (const struct ws_step *)steps->steps.data + place;
}

const struct ws_kernel_row *built_kernel(const struct built *built, size_t track, const char *name)
{
    const struct ws_track_kernels *kernels = built_result(built, &ws_analysis_kernels, track);
    const struct ws_kernel_row *rows = kernels->rows.data;
    for (size_t i = 0; i < kernels->rows.count; i++)
        if (!strcmp(ws_model_name(built->model, rows[i].name)->text, name))
            return &rows[i];
    return NULL;
}

char *built_text(const struct built *built, const char *section, bool all)
{
    char *text = NULL;
    size_t size;
    struct ws_page page = { .out = open_memstream(&text, &size), .width = 400, .all = all };
    assert_non_null(page.out);
    ws_report_print(built->report, &page, &section, section ? 1 : 0);
    fclose(page.out);
    return text;
}

void built_print(const struct built *built)
{
    struct ws_page page = { .out = fopen("/dev/null", "w"), .width = 80, .top = 20 };
    json_t *json = ws_report_json(built->report);
    assert_non_null(page.out);
    assert_non_null(json);
    json_decref(json);
    ws_report_print(built->report, &page, NULL, 0);
    ws_report_print_summary(built->report, &page);
    fclose(page.out);
}
