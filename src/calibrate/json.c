#include <stdio.h>

#include "calibrate/calibrate.h"

/* Makes the JSON object of a ceiling: the measured rate, and the conditions of the measurement. The rate is divided
 * by `unit`: 1 keeps GB/s, 1e3 turns GFLOP/s into TFLOP/s. */
static json_t *measurement(const char *what, const struct ws_ceiling *ceiling, double unit, double sheet)
{
    char note[160];
    const struct ws_rate *rate = &ceiling->rate;
    json_t *row = json_pack("{s:s, s:f, s:f, s:f, s:I, s:I}", "what", what, unit > 1 ? "tflops" : "gb_per_s",
                            rate->median / unit, "spread", rate->spread, "drift", ceiling->drift, "samples",
                            (json_int_t)rate->samples, "size", (json_int_t)ceiling->size);
    if (sheet > 0) {
        json_object_set_new(row, "data_sheet", json_real(sheet / unit));
        json_object_set_new(row, "of_data_sheet", json_real(rate->median / sheet));
    }
    ws_ceiling_note(ceiling, sheet, note, sizeof(note));
    if (*note)
        json_object_set_new(row, "note", json_string(note));
    return row;
}

static int calibrate_json_add(json_t *root, const char *what, const struct ws_ceiling *ceiling, double unit,
                              double sheet)
{
    if (ceiling->rate.median > 0)
        return json_array_append_new(json_object_get(root, "measurements"), measurement(what, ceiling, unit, sheet));
    if (!*ceiling->why_not)
        return 0;
    return json_array_append_new(json_object_get(root, "not_measured"),
                                 json_pack("{s:s, s:s}", "what", what, "why", ceiling->why_not));
}

/* Makes a JSON object that describes GPU, driver and libraries. Clock and sizes are rounded down to MHz,
 * MiB and GiB, the units of hardware/gpus.h. */
static json_t *calibrate_json_describe(const struct ws_calibration *calibration, const char *when,
                                       const char *version)
{
    const struct ws_gpu_facts *facts = &calibration->facts;
    char driver[16], source[192], capability[16];
    snprintf(driver, sizeof(driver), "%d.%d", calibration->driver_version / 1000,
             calibration->driver_version / 10 % 100);
    snprintf(capability, sizeof(capability), "%u.%u", facts->cc_major, facts->cc_minor);
    snprintf(source, sizeof(source), "measured %.10s by wallshim %s, driver %s%s%s", when, version, driver,
             *calibration->blas ? ", " : ", no cuBLAS", calibration->blas);
    return json_pack("{s:s, s:i, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:f, s:{}, s:[], s:[]}",
                     "schema", "wallshim-calibration", "version", 1, "name", calibration->name, "uuid",
                     calibration->uuid, "calibrated", when, "source", source, "driver", driver, "compute_capability",
                     capability, "sms", (json_int_t)facts->sms, "clock_mhz", (json_int_t)(facts->clock_khz / 1000),
                     "l2_mib", (json_int_t)(calibration->l2_bytes >> 20), "memory_gib",
                     (json_int_t)(facts->memory_bytes >> 30), "memory_free_bytes",
                     (json_int_t)calibration->memory_free, "gb_per_s", calibration->copy.rate.median, "tflops",
                     "measurements", "not_measured");
}

json_t *ws_calibration_json(const struct ws_calibration *calibration, const char *when, const char *version)
{
    struct ws_gpu sheet = { 0 };
    json_t *root = calibrate_json_describe(calibration, when, version);
    if (!root)
        return NULL;
    if (!ws_calibration_sheet(calibration, &sheet))
        sheet = (struct ws_gpu){ 0 };
    int status = *calibration->blas ? json_object_set_new(root, "blas", json_string(calibration->blas)) : 0;
    status |= calibrate_json_add(root, "copy", &calibration->copy, 1, sheet.bytes_per_ns);
    status |= calibrate_json_add(root, "write", &calibration->write, 1, sheet.bytes_per_ns);
    for (int i = 0; i < WS_PRECISION_COUNT; i++) {
        const struct ws_ceiling *ceiling = &calibration->gemms[i];
        const char *name = ws_precision_name((enum ws_precision)i);
        status |= calibrate_json_add(root, name, ceiling, 1e3, ws_gpu_peak(&sheet, (enum ws_precision)i));
        if (ceiling->rate.median > 0)
            status |=
                json_object_set_new(json_object_get(root, "tflops"), name, json_real(ceiling->rate.median / 1e3));
    }
    if (!status)
        return root;
    json_decref(root);
    return NULL;
}
