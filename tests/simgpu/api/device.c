#include "api/api.h"

#include <stdio.h>
#include <string.h>

#define NEED_DEVICE(device, ordinal)                          \
    const struct sim_device *device = sim_device_at(ordinal); \
    if (!device)                                              \
    return WS_CUDA_ERROR_INVALID_DEVICE

API(cuDeviceGetCount, (int *count), (count))
{
    NEED(count);
    *count = sim_device_count;
    return WS_CUDA_SUCCESS;
}

API(cuDeviceGet, (ws_CUdevice * device, int ordinal), (device, ordinal))
{
    NEED(device);
    if (!sim_device_at(ordinal))
        return WS_CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return WS_CUDA_SUCCESS;
}

API(cuDeviceGetName, (char *name, int length, ws_CUdevice ordinal), (name, length, ordinal))
{
    NEED_DEVICE(device, ordinal);
    NEED(name && length > 0);
    snprintf(name, (size_t)length, "%s", device->model->name);
    return WS_CUDA_SUCCESS;
}

API(cuDeviceGetUuid, (ws_CUuuid * uuid, ws_CUdevice ordinal), (uuid, ordinal))
{
    NEED_DEVICE(device, ordinal);
    NEED(uuid);
    *uuid = device->uuid;
    return WS_CUDA_SUCCESS;
}

API_SAME(cuDeviceGetUuid_v2, cuDeviceGetUuid, (ws_CUuuid * uuid, ws_CUdevice ordinal), (uuid, ordinal))

API(cuDeviceTotalMem_v2, (size_t * bytes, ws_CUdevice ordinal), (bytes, ordinal))
{
    NEED_DEVICE(device, ordinal);
    NEED(bytes);
    *bytes = device->memory_total;
    return WS_CUDA_SUCCESS;
}

API(cuDeviceComputeCapability, (int *major, int *minor, ws_CUdevice ordinal), (major, minor, ordinal))
{
    NEED_DEVICE(device, ordinal);
    NEED(major && minor);
    *major = device->model->major;
    *minor = device->model->minor;
    return WS_CUDA_SUCCESS;
}

API(cuDeviceGetPCIBusId, (char *text, int length, ws_CUdevice ordinal), (text, length, ordinal))
{
    NEED_DEVICE(device, ordinal);
    NEED(text && length > 0);
    snprintf(text, (size_t)length, "%04X:%02X:00.0", 0, device->ordinal * 16 + 0x1b);
    return WS_CUDA_SUCCESS;
}

API(cuDeviceGetByPCIBusId, (ws_CUdevice * ordinal, const char *text), (ordinal, text))
{
    unsigned domain, bus;
    NEED(ordinal && text);
    if (sscanf(text, "%x:%x:", &domain, &bus) != 2 || bus < 0x1b || (bus - 0x1b) % 16 ||
        !sim_device_at((int)(bus - 0x1b) / 16))
        return WS_CUDA_ERROR_INVALID_VALUE;
    *ordinal = (int)(bus - 0x1b) / 16;
    return WS_CUDA_SUCCESS;
}

API(cuDeviceGetLuid, (char *luid, unsigned *mask, ws_CUdevice ordinal), (luid, mask, ordinal))
{
    NEED_DEVICE(device, ordinal);
    (void)device;
    NEED(luid && mask);
    return WS_CUDA_ERROR_NOT_SUPPORTED;
}

API(cuDeviceCanAccessPeer, (int *can, ws_CUdevice ordinal, ws_CUdevice peer), (can, ordinal, peer))
{
    NEED_DEVICE(device, ordinal);
    (void)device;
    NEED(can);
    if (!sim_device_at(peer))
        return WS_CUDA_ERROR_INVALID_DEVICE;
    *can = ordinal != peer;
    return WS_CUDA_SUCCESS;
}

API(cuDeviceGetP2PAttribute, (int *value, ws_CUenum attribute, ws_CUdevice from, ws_CUdevice to),
    (value, attribute, from, to))
{
    NEED(value && attribute >= 1 && attribute <= 5);
    if (!sim_device_at(from) || !sim_device_at(to) || from == to)
        return WS_CUDA_ERROR_INVALID_DEVICE;
    *value = attribute == 1 ? 0 : 1;
    return WS_CUDA_SUCCESS;
}

/* X(number, value): the values of device attributes (CUdevice_attribute). An attribute that is not listed is 0. */
/* clang-format off */
#define ATTRIBUTES(X)                                                                                        \
    X(1, 1024) /* threads per block */                                                                       \
    X(2, 1024) X(3, 1024) X(4, 64) /* block dimensions x, y, z */                                            \
    X(5, 2147483647) X(6, 65535) X(7, 65535) /* grid dimensions x, y, z */                                   \
    X(8, 48 << 10) /* bytes of shared memory per block */                                                    \
    X(9, 64 << 10) /* bytes of constant memory */                                                            \
    X(10, 32) /* threads of a warp */                                                                        \
    X(11, 2147483647) /* largest pitch of a copy, bytes */                                                   \
    X(12, 65536) /* registers per block */                                                                   \
    X(13, model->clock_khz)                                                                                  \
    X(14, 512) /* alignment of textures, bytes */                                                            \
    X(15, 1) /* copies overlap kernels */                                                                    \
    X(16, model->sms)                                                                                        \
    X(18, 0) X(19, 1) X(20, 0) /* integrated GPU, can map host memory, compute mode */                       \
    X(21, 131072) X(22, 131072) X(23, 65536) X(24, 16384) X(25, 16384) X(26, 16384) /* sizes of textures */  \
    X(27, 32768) X(28, 32768) X(29, 2048)                                                                    \
    X(30, 512) /* alignment of surfaces, bytes */                                                            \
    X(31, 1) /* can run kernels at the same time */                                                          \
    X(32, 1) /* ECC is on */                                                                                 \
    X(33, device->ordinal * 16 + 0x1b) /* number of the PCI bus */                                           \
    X(36, model->memory_clock_khz)                                                                           \
    X(37, model->bus_bits)                                                                                   \
    X(38, model->l2_bytes)                                                                                   \
    X(39, 2048) /* threads per SM */                                                                         \
    X(40, 3) /* number of copy engines */                                                                    \
    X(41, 1) /* has unified addressing */                                                                    \
    X(42, 32768) X(43, 2048) /* sizes of layered 1D textures */                                              \
    X(45, 32768) X(46, 32768) X(47, 8192) X(48, 8192) X(49, 32768)                                           \
    X(51, 32) X(52, 32768) X(53, 32768) X(54, 2046)                                                          \
    X(55, 32768) X(56, 131072) X(57, 65536) X(58, 16384) X(59, 16384) X(60, 16384)                           \
    X(61, 32768) X(62, 2048) X(63, 32768) X(64, 32768) X(65, 2048) X(66, 32768) X(67, 32768) X(68, 2046)     \
    X(69, 268435456) X(70, 131072) X(71, 65000) X(72, 2097120) X(73, 32768) X(74, 32768)                     \
    X(75, model->major)                                                                                      \
    X(76, model->minor)                                                                                      \
    X(77, 32768)                                                                                             \
    X(78, 1) /* supports stream priorities */                                                                \
    X(79, 1) X(80, 1) /* L1 caches global and local memory */                                                \
    X(81, model->max_shared) /* bytes of shared memory per SM */                                             \
    X(82, 65536) /* registers per SM */                                                                      \
    X(83, 1) /* supports managed memory */                                                                   \
    X(85, device->ordinal)                                                                                   \
    X(86, 1) X(87, 2) X(88, 1) X(89, 1) X(90, 1) X(91, 1)                                                    \
    /* attributes that stay 0: 92 to 94 (stream memory operations, version 1), 98 (flushing remote writes) */ \
    X(95, 1) X(96, 1)                                                                                        \
    X(97, model->max_shared - 1024) /* bytes of shared memory that a block can opt into */                   \
    X(99, 1) X(101, 1) X(102, 1) X(103, 1)                                                          \
    X(106, 32) /* blocks per SM */                                                                           \
    X(108, model->l2_bytes / 2) X(109, 134213632)                                                            \
    X(111, 1024) /* bytes of shared memory reserved per block */                                             \
    X(112, 1) X(113, 1) X(114, 1)                                                                            \
    X(115, 1) /* supports memory pools */                                                                    \
    X(116, 1) X(117, 1) X(118, 1) X(119, 1)                                                                  \
    X(120, model->major >= 9) /* supports launches of clusters */                                            \
    X(121, 1)                                                                                                \
    X(122, sim_config.stream_values != 0) X(123, sim_config.stream_values != 0) /* stream memory operations */ \
    X(127, model->major >= 9)                                                                                \
    X(129, 1) X(132, 0) X(133, 1)
/* clang-format on */

API(cuDeviceGetAttribute, (int *value, ws_CUenum attribute, ws_CUdevice ordinal), (value, attribute, ordinal))
{
    NEED_DEVICE(device, ordinal);
    const struct sim_model *model = device->model;
    NEED(value && attribute > 0 && attribute < 150);
    switch (attribute) {
#define X(number, is)  \
    case number:       \
        *value = (is); \
        break;
        ATTRIBUTES(X)
#undef X
    default:
        *value = 0;
    }
    return WS_CUDA_SUCCESS;
}

struct device_properties {
    int max_threads_per_block, max_threads_dim[3], max_grid_size[3], shared_per_block, constant_memory, warp;
    int pitch, registers, clock_khz, texture_alignment;
};

API(cuDeviceGetProperties, (struct device_properties * properties, ws_CUdevice ordinal), (properties, ordinal))
{
    NEED_DEVICE(device, ordinal);
    NEED(properties);
    *properties = (struct device_properties){ 1024,
                                              { 1024, 1024, 64 },
                                              { 2147483647, 65535, 65535 },
                                              48 << 10,
                                              64 << 10,
                                              32,
                                              2147483647,
                                              65536,
                                              device->model->clock_khz,
                                              512 };
    return WS_CUDA_SUCCESS;
}

API(cuDeviceGetExecAffinitySupport, (int *supported, ws_CUenum type, ws_CUdevice ordinal), (supported, type, ordinal))
{
    NEED_DEVICE(device, ordinal);
    (void)device;
    NEED(supported && type == 0);
    *supported = 0;
    return WS_CUDA_SUCCESS;
}
