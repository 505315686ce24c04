/* The part of CUPTI's binary interface that wallshim uses: the range profiler and the profiler host. See abi/cuda.h
 * for the conventions. The first member of each structure is the structure's size. The size tells CUPTI which version
 * of CUPTI the caller was built for.
 *
 * Source: cupti_range_profiler.h, cupti_profiler_host.h, cupti_profiler_target.h, cupti_target.h and cupti_result.h
 * of CUDA 13.0. The range profiler came with CUDA 12.6. */
#ifndef WALLSHIM_ABI_CUPTI_H
#define WALLSHIM_ABI_CUPTI_H

#include <stddef.h>
#include <stdint.h>

#define WS_CUPTI_VALUES(X)                                        \
    X(CUPTI_SUCCESS, 0)                                           \
    X(CUPTI_ERROR_INVALID_PARAMETER, 1)                           \
    X(CUPTI_ERROR_INVALID_CONTEXT, 3)                             \
    X(CUPTI_ERROR_INVALID_OPERATION, 7)                           \
    X(CUPTI_ERROR_UNKNOWN, 999)                                   \
    X(CUPTI_ERROR_NOT_INITIALIZED, 15)                            \
    X(CUPTI_ERROR_INVALID_METRIC_NAME, 17)                        \
    X(CUPTI_ERROR_HARDWARE_BUSY, 26)                              \
    X(CUPTI_ERROR_NOT_SUPPORTED, 27)                              \
    X(CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED, 33)           \
    X(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, 35)                    \
    X(CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED, 36)               \
    X(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, 39)         \
    X(CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES, 40) \
    X(CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED, 41)       \
    X(CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED, 43)                   \
    X(CUPTI_ERROR_INVALID_CHIP_NAME, 46)                          \
    X(CUPTI_UserRange, 2)                                         \
    X(CUPTI_UserReplay, 3)                                        \
    X(CUPTI_PROFILER_TYPE_RANGE_PROFILER, 0)

enum {
#define X(name, value) WS_##name = (value),
    WS_CUPTI_VALUES(X)
#undef X
};

typedef int ws_CUptiResult;
typedef int ws_CUptiEnum;
typedef struct ws_CUpti_RangeProfiler ws_CUpti_RangeProfiler;
typedef struct ws_CUpti_Host ws_CUpti_Host;

/* A list of structures: S(our name, CUPTI's name, members). Each member is F(type, name). All structures begin with
 * structSize and pPriv, which the list leaves out. */
#define WS_CUPTI_STRUCTURES(S, F)                                                                                 \
    S(initialize, CUpti_Profiler_Initialize_Params, )                                                             \
    S(chip_name, CUpti_Device_GetChipName_Params, F(size_t, deviceIndex) F(const char *, pChipName))              \
    S(availability, CUpti_Profiler_GetCounterAvailability_Params,                                                 \
      F(void *, ctx) F(size_t, counterAvailabilityImageSize) F(uint8_t *, pCounterAvailabilityImage))             \
    S(host_initialize, CUpti_Profiler_Host_Initialize_Params,                                                     \
      F(ws_CUptiEnum, profilerType) F(const char *, pChipName) F(const uint8_t *, pCounterAvailabilityImage)      \
          F(ws_CUpti_Host *, pHostObject))                                                                        \
    S(host_deinitialize, CUpti_Profiler_Host_Deinitialize_Params, F(ws_CUpti_Host *, pHostObject))                \
    S(host_chips, CUpti_Profiler_Host_GetSupportedChips_Params,                                                   \
      F(size_t, numChips) F(const char *const *, ppChipNames))                                                    \
    S(host_add, CUpti_Profiler_Host_ConfigAddMetrics_Params,                                                      \
      F(ws_CUpti_Host *, pHostObject) F(const char **, ppMetricNames) F(size_t, numMetrics))                      \
    S(host_config_size, CUpti_Profiler_Host_GetConfigImageSize_Params,                                            \
      F(ws_CUpti_Host *, pHostObject) F(size_t, configImageSize))                                                 \
    S(host_config, CUpti_Profiler_Host_GetConfigImage_Params,                                                     \
      F(ws_CUpti_Host *, pHostObject) F(size_t, configImageSize) F(uint8_t *, pConfigImage))                      \
    S(host_passes, CUpti_Profiler_Host_GetNumOfPasses_Params,                                                     \
      F(size_t, configImageSize) F(uint8_t *, pConfigImage) F(size_t, numOfPasses))                               \
    S(host_evaluate, CUpti_Profiler_Host_EvaluateToGpuValues_Params,                                              \
      F(ws_CUpti_Host *, pHostObject) F(const uint8_t *, pCounterDataImage) F(size_t, counterDataImageSize)       \
          F(size_t, rangeIndex) F(const char **, ppMetricNames) F(size_t, numMetrics) F(double *, pMetricValues)) \
    S(range_enable, CUpti_RangeProfiler_Enable_Params,                                                            \
      F(void *, ctx) F(ws_CUpti_RangeProfiler *, pRangeProfilerObject))                                           \
    S(range_disable, CUpti_RangeProfiler_Disable_Params, F(ws_CUpti_RangeProfiler *, pRangeProfilerObject))       \
    S(range_data_size, CUpti_RangeProfiler_GetCounterDataSize_Params,                                             \
      F(ws_CUpti_RangeProfiler *, pRangeProfilerObject) F(const char **, pMetricNames) F(size_t, numMetrics)      \
          F(size_t, maxNumOfRanges) F(uint32_t, maxNumRangeTreeNodes) F(size_t, counterDataSize))                 \
    S(range_data, CUpti_RangeProfiler_CounterDataImage_Initialize_Params,                                         \
      F(ws_CUpti_RangeProfiler *, pRangeProfilerObject) F(size_t, counterDataSize) F(uint8_t *, pCounterData))    \
    S(range_config, CUpti_RangeProfiler_SetConfig_Params,                                                         \
      F(ws_CUpti_RangeProfiler *, pRangeProfilerObject) F(size_t, configSize) F(const uint8_t *, pConfig)         \
          F(size_t, counterDataImageSize) F(uint8_t *, pCounterDataImage) F(ws_CUptiEnum, range)                  \
              F(ws_CUptiEnum, replayMode) F(size_t, maxRangesPerPass) F(uint16_t, numNestingLevels)               \
                  F(uint16_t, minNestingLevel) F(size_t, passIndex) F(uint16_t, targetNestingLevel))              \
    S(range_start, CUpti_RangeProfiler_Start_Params, F(ws_CUpti_RangeProfiler *, pRangeProfilerObject))           \
    S(range_stop, CUpti_RangeProfiler_Stop_Params,                                                                \
      F(ws_CUpti_RangeProfiler *, pRangeProfilerObject) F(size_t, passIndex) F(size_t, targetNestingLevel)        \
          F(uint8_t, isAllPassSubmitted))                                                                         \
    S(range_push, CUpti_RangeProfiler_PushRange_Params,                                                           \
      F(ws_CUpti_RangeProfiler *, pRangeProfilerObject) F(const char *, pRangeName))                              \
    S(range_pop, CUpti_RangeProfiler_PopRange_Params, F(ws_CUpti_RangeProfiler *, pRangeProfilerObject))          \
    S(range_decode, CUpti_RangeProfiler_DecodeData_Params,                                                        \
      F(ws_CUpti_RangeProfiler *, pRangeProfilerObject) F(size_t, numOfRangeDropped))                             \
    S(range_count, CUpti_RangeProfiler_GetCounterDataInfo_Params,                                                 \
      F(const uint8_t *, pCounterDataImage) F(size_t, counterDataImageSize) F(size_t, numTotalRanges))

#define WS_CUPTI_MEMBER(type, name) type name;
#define WS_CUPTI_STRUCTURE(ours, theirs, members) \
    struct ws_cupti_##ours {                      \
        size_t structSize;                        \
        void *pPriv;                              \
        members                                   \
    };
WS_CUPTI_STRUCTURES(WS_CUPTI_STRUCTURE, WS_CUPTI_MEMBER)
#undef WS_CUPTI_STRUCTURE

/* CUPTI defines the size of a structure as the offset of the first byte after its last member. To compute this
 * offset, a copy of the structure gets one more member at its end. */
#define WS_CUPTI_SIZE(ours, theirs, members) \
    enum { WS_CUPTI_SIZE_##ours = offsetof(struct ws_cupti_##ours##_end, end) };
#define WS_CUPTI_END(ours, theirs, members) \
    struct ws_cupti_##ours##_end {          \
        size_t structSize;                  \
        void *pPriv;                        \
        members char end;                   \
    };
WS_CUPTI_STRUCTURES(WS_CUPTI_END, WS_CUPTI_MEMBER)
WS_CUPTI_STRUCTURES(WS_CUPTI_SIZE, WS_CUPTI_MEMBER)
#undef WS_CUPTI_END
#undef WS_CUPTI_SIZE

/* Makes the structure that a CUPTI function takes, and sets the structure's size. For example:
 * WS_CUPTI(host_add, .numMetrics = 1). */
#define WS_CUPTI(ours, ...)                             \
    (struct ws_cupti_##ours)                            \
    {                                                   \
        .structSize = WS_CUPTI_SIZE_##ours, __VA_ARGS__ \
    }

/* A list of FN(structure, symbol). Every function takes a pointer to its structure and returns a ws_CUptiResult. */
#define WS_CUPTI_FUNCTIONS(FN)                                   \
    FN(initialize, cuptiProfilerInitialize)                      \
    FN(chip_name, cuptiDeviceGetChipName)                        \
    FN(availability, cuptiProfilerGetCounterAvailability)        \
    FN(host_initialize, cuptiProfilerHostInitialize)             \
    FN(host_deinitialize, cuptiProfilerHostDeinitialize)         \
    FN(host_chips, cuptiProfilerHostGetSupportedChips)           \
    FN(host_add, cuptiProfilerHostConfigAddMetrics)              \
    FN(host_config_size, cuptiProfilerHostGetConfigImageSize)    \
    FN(host_config, cuptiProfilerHostGetConfigImage)             \
    FN(host_passes, cuptiProfilerHostGetNumOfPasses)             \
    FN(host_evaluate, cuptiProfilerHostEvaluateToGpuValues)      \
    FN(range_enable, cuptiRangeProfilerEnable)                   \
    FN(range_disable, cuptiRangeProfilerDisable)                 \
    FN(range_data_size, cuptiRangeProfilerGetCounterDataSize)    \
    FN(range_data, cuptiRangeProfilerCounterDataImageInitialize) \
    FN(range_config, cuptiRangeProfilerSetConfig)                \
    FN(range_start, cuptiRangeProfilerStart)                     \
    FN(range_stop, cuptiRangeProfilerStop)                       \
    FN(range_push, cuptiRangeProfilerPushRange)                  \
    FN(range_pop, cuptiRangeProfilerPopRange)                    \
    FN(range_decode, cuptiRangeProfilerDecodeData)               \
    FN(range_count, cuptiRangeProfilerGetCounterDataInfo)

struct ws_cupti {
#define WS_CUPTI_POINTER(structure, symbol) ws_CUptiResult (*structure)(struct ws_cupti_##structure *);
    WS_CUPTI_FUNCTIONS(WS_CUPTI_POINTER)
#undef WS_CUPTI_POINTER
};

#endif
