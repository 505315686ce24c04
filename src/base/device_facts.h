/* The properties by which models of GPUs differ, as X(field, attribute). field is the name in our structures.
 * attribute is the driver's name without CU_DEVICE_ATTRIBUTE_. The shim and `wallshim calibrate` ask the driver for
 * all these properties. Reports use them to find the GPU's peaks (hardware/gpu.h). */
#ifndef WALLSHIM_BASE_DEVICE_FACTS_H
#define WALLSHIM_BASE_DEVICE_FACTS_H

#define WS_DEVICE_FACTS(X)                 \
    X(cc_major, COMPUTE_CAPABILITY_MAJOR)  \
    X(cc_minor, COMPUTE_CAPABILITY_MINOR)  \
    X(sms, MULTIPROCESSOR_COUNT)           \
    X(clock_khz, CLOCK_RATE)               \
    X(memory_clock_khz, MEMORY_CLOCK_RATE) \
    X(memory_bus_bits, GLOBAL_MEMORY_BUS_WIDTH)

#endif
