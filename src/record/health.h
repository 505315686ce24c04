/* Details of family `health`: which columns a sample holds, and the reasons why the device lowers its clocks. */
#ifndef WALLSHIM_RECORD_HEALTH_H
#define WALLSHIM_RECORD_HEALTH_H

#include <stdint.h>

#include "record/record.h"

/* The columns that a sample may lack, because NVML cannot read some values on every device. Bit n of the column
 * `known` is set if the sample holds the n-th column of this list. The order is part of the format. */
#define WS_HEALTH_FIELDS(F) \
    F(sm_mhz)               \
    F(sm_most_mhz)          \
    F(memory_mhz)           \
    F(memory_most_mhz)      \
    F(reasons)              \
    F(power_mw)             \
    F(power_limit_mw)       \
    F(celsius)              \
    F(busy_percent)         \
    F(memory_busy_percent)  \
    F(memory_used)          \
    F(ecc_errors)           \
    F(nvlink_sent)          \
    F(nvlink_received)      \
    F(pcie_sent)            \
    F(pcie_received)

enum ws_health_field {
#define WS_HEALTH_FIELD(name) WS_HEALTH_##name,
    WS_HEALTH_FIELDS(WS_HEALTH_FIELD)
#undef WS_HEALTH_FIELD
        WS_HEALTH_FIELD_COUNT
};

static inline uint32_t ws_health_bit(enum ws_health_field field)
{
    return (uint32_t)1 << field;
}

static inline int ws_health_knows(const struct ws_health *sample, enum ws_health_field field)
{
    return (sample->known & ws_health_bit(field)) != 0;
}

/* R(NAME, bit, key in JSON, name in a report): the clocks event reasons of NVML that slow a busy device down. The
 * list leaves out NVML's reasons for an idle device and for the clocks of a display. */
#define WS_HEALTH_REASONS(R)                                               \
    R(POWER_CAP, 0x4, "power_cap", "power cap")                            \
    R(SLOWDOWN, 0x8, "hardware_slowdown", "hardware slowdown")             \
    R(SYNC_BOOST, 0x10, "sync_boost", "sync boost")                        \
    R(THERMAL, 0x20, "thermal", "heat")                                    \
    R(HARDWARE_THERMAL, 0x40, "hardware_thermal", "heat (hardware)")       \
    R(POWER_BRAKE, 0x80, "power_brake", "power brake of the power supply") \
    R(SET_CLOCKS, 0x2, "application_clocks", "clocks set by the user")

enum ws_health_reason {
#define WS_HEALTH_REASON(name, bit, key, text) WS_HEALTH_##name,
    WS_HEALTH_REASONS(WS_HEALTH_REASON)
#undef WS_HEALTH_REASON
        WS_HEALTH_REASON_COUNT
};

enum { WS_HEALTH_REASON_IDLE = 0x1 }; /* NVML's bit for a device whose clocks are low because it is idle */

#endif
