#include <string.h>

#include "report/report.h"
#include "report/results.h"

/* If the section of a device or process shows times of host threads, and the trace says that its profiler slowed the
 * host, prints a note that these times are upper limits. */
static void sections_print_slowed(const struct ws_report *report, const struct ws_analysis *analysis, size_t subject,
                                  struct ws_page *page)
{
    if (!analysis->host_times || analysis->scope == WS_SCOPE_JOB)
        return;
    size_t process = analysis->scope == WS_SCOPE_TRACK ? ws_model_track(report->model, subject)->process : subject;
    const char *by = ws_process_slowed_by(ws_model_process(report->model, process));
    if (by)
        ws_page_text(page, "Host times are upper limits: the profiler recorded %s, which slows the host.", by);
}

static void print_subject(const struct ws_report *report, const struct ws_analysis *analysis, size_t subject,
                          bool asked, struct ws_page *page)
{
    const void *result = ws_report_result(report, analysis, subject);
    char subtitle[256] = "";
    if (!asked && analysis->has_section && !analysis->has_section(result))
        return;
    bool several = results_subjects(report, analysis->scope) > 1;
    if (several && analysis->scope == WS_SCOPE_TRACK)
        ws_report_track_title(report, subject, subtitle, sizeof(subtitle));
    else if (several)
        ws_report_process_title(report, subject, subtitle, sizeof(subtitle));
    ws_page_heading(page, analysis->title, subtitle);
    analysis->text(report, subject, result, page);
    sections_print_slowed(report, analysis, subject, page);
}

/* For a job the report shows only the slowest device unless the user asks for all. This is enough, because the
 * devices of a job mostly behave alike, and the report's first section has a line for each device. */
static void sections_print_section(const struct ws_report *report, const struct ws_analysis *analysis, bool asked,
                                   struct ws_page *page)
{
    size_t count = results_subjects(report, analysis->scope), shown = report->analyses->device_shown(report);
    bool only_one = !page->all && shown != WS_NOWHERE;
    if (only_one && analysis->scope == WS_SCOPE_TRACK) {
        print_subject(report, analysis, shown, asked, page);
        return;
    }
    if (only_one && analysis->scope == WS_SCOPE_PROCESS) {
        print_subject(report, analysis, ws_model_track(report->model, shown)->process, asked, page);
        return;
    }
    for (size_t subject = 0; subject < count; subject++)
        print_subject(report, analysis, subject, asked, page);
}

static const struct ws_analysis *section_named(const struct ws_analyses *analyses, const char *name)
{
    const struct ws_analysis *found = NULL;
    size_t headings = 0;
    for (size_t i = 0; i < analyses->count; i++) {
        const struct ws_analysis *analysis = analyses->list[i];
        if (analysis->title && !strcmp(name, analysis->name))
            return analysis;
        if (analysis->title && *name && strcasestr(analysis->title, name)) {
            found = analysis;
            headings++;
        }
    }
    return headings == 1 ? found : NULL;
}

bool ws_report_has_section(const struct ws_analyses *analyses, const char *name)
{
    return section_named(analyses, name) != NULL;
}

static bool sections_is_chosen(const struct ws_report *report, const struct ws_analysis *analysis,
                               const char *const *sections, size_t count)
{
    bool chosen = !count;
    for (size_t i = 0; i < count && !chosen; i++)
        chosen = section_named(report->analyses, sections[i]) == analysis;
    return chosen;
}

void ws_report_print_summary(const struct ws_report *report, struct ws_page *page)
{
    report->analyses->summary(report, page);
}

void ws_report_print(const struct ws_report *report, struct ws_page *page, const char *const *sections, size_t count)
{
    const struct ws_analyses *analyses = report->analyses;
    ws_report_print_window(report, page);
    for (size_t i = 0; i < analyses->count; i++)
        if (analyses->list[i]->title && sections_is_chosen(report, analyses->list[i], sections, count))
            sections_print_section(report, analyses->list[i], count > 0, page);
}
