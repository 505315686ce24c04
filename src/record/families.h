/* The record families: every table that a trace can hold, column by column.
 *
 * The row structures (record.h), the encoder and decoder of src/wire, and the names that `wallshim dump` prints are
 * made from this list. A test compares the list with the tables of FORMAT.md. To add a column, add a line at the end
 * of its family and raise WS_FORMAT_MINOR. Readers take an absent column as 0.
 *
 * Units: host times are nanoseconds of CLOCK_MONOTONIC. Device times are nanoseconds of the clock of the operation's
 * context. The origin of a context's clock is arbitrary; family `clock` maps the context's clock to the host's.
 * Identifiers start at 1; 0 means none or unknown.
 *
 * I(type, name, coding)   an integer column
 * S(name)                 a string or blob column (struct ws_text)
 *
 * The coding of a column says how its values are predicted. The file stores the residual: value minus prediction
 * (FORMAT.md, src/wire/layout.c).
 * PLAIN                   predicts 0
 * DELTA                   predicts the value of the row before
 * KEY                     for columns with few values in a repeating order: takes the values of the two rows before,
 *                         finds where these two last followed each other, and predicts the value that came next there
 * Each of the other codings compares a row with the last earlier row that has the same value in a KEY column. The KEY
 * column is `thread` for THREAD, and the family's first column for the others. The coding predicts that one number is
 * the same in both rows:
 * THREAD, FIRST           the value
 * LENGTH(column)          the difference between the value and `column`
 * GAP(end, thread)        the distance from the previous `end` on the same thread
 * STREAM_GAP(end)         the distance from the previous `end` on the same stream (the stream of the row's shape) */
#ifndef WALLSHIM_RECORD_FAMILIES_H
#define WALLSHIM_RECORD_FAMILIES_H

#include <stdint.h>

#define WS_FORMAT_MAJOR 1
#define WS_FORMAT_MINOR 4

/* F(name), in the order of the families' numbers. The numbers are part of the format. */
#define WS_FAMILIES(F)                                                                            \
    F(meta)            /* facts about the recording: key and value */                             \
    F(driver_function) /* id → name of an intercepted function */                               \
    F(device)                                                                                     \
    F(context)                                                                                    \
    F(stream)                                                                                     \
    F(thread)                                                                                     \
    F(function) /* id → kernel name */                                                          \
    F(shape)    /* the static properties that many operations share */                            \
    F(params)   /* a kernel parameter block: pointers and small scalars */                        \
    F(comm)     /* an NCCL communicator */                                                        \
    F(graph_node)                                                                                 \
    F(label)      /* names of ranges, and inputs of operators */                                  \
    F(clock)      /* one comparison of a context's clock with the host's */                       \
    F(op)         /* one operation on a device: kernel, copy, memset, graph … */                \
    F(call)       /* one host call that is not an operation: wait, allocation, module load … */ \
    F(collective) /* one NCCL call */                                                             \
    F(range)      /* a named time range of a thread: operator, Python function, step … */       \
    F(loss)       /* a count of data that the trace lacks */                                      \
    F(metric)     /* a hardware counter: its meaning */                                           \
    F(counter)    /* the value of a hardware counter for one launch */                            \
    F(health)     /* a sample of a device's clocks, power and heat */                             \
    F(code)       /* a function of the program's source, or a module of native code */            \
    F(frame)      /* id → a place in a function, and the frame that called it */                \
    F(stack)      /* what a thread was executing at some moment */

#define WS_COLUMNS_meta(I, S) \
    S(key)                    \
    S(value)

#define WS_COLUMNS_driver_function(I, S)                 \
    I(uint32_t, id, DELTA)                               \
    I(uint32_t, family, PLAIN) /* enum ws_call_family */ \
    S(name)

#define WS_COLUMNS_device(I, S)                           \
    I(uint32_t, id, DELTA) /* the device's ordinal + 1 */ \
    I(uint32_t, cc_major, PLAIN)                          \
    I(uint32_t, cc_minor, PLAIN)                          \
    I(uint32_t, sms, PLAIN)                               \
    I(uint32_t, clock_khz, PLAIN)                         \
    I(uint32_t, memory_clock_khz, PLAIN)                  \
    I(uint32_t, memory_bus_bits, PLAIN)                   \
    I(uint64_t, l2_bytes, PLAIN)                          \
    I(uint64_t, memory_bytes, PLAIN)                      \
    S(name)                                               \
    S(uuid) /* GPU-xxxxxxxx-xxxx-… */                   \
    S(pci)  /* domain:bus:device */

#define WS_COLUMNS_context(I, S) \
    I(uint32_t, id, DELTA)       \
    I(uint32_t, device, PLAIN)   \
    I(uint32_t, flags, PLAIN)    \
    I(uint64_t, handle, PLAIN)

#define WS_COLUMNS_stream(I, S)                                         \
    I(uint32_t, id, DELTA)                                              \
    I(uint32_t, context, PLAIN)                                         \
    I(uint32_t, kind, PLAIN)  /* enum ws_stream_kind */                 \
    I(uint32_t, flags, PLAIN) /* as passed to the driver at creation */ \
    I(int32_t, priority, PLAIN)                                         \
    I(uint64_t, handle, PLAIN)

#define WS_COLUMNS_thread(I, S) \
    I(uint32_t, id, DELTA)      \
    I(uint32_t, tid, PLAIN)     \
    S(name)

#define WS_COLUMNS_function(I, S)                                                             \
    I(uint32_t, id, DELTA)                                                                    \
    I(uint32_t, registers, PLAIN)                                                             \
    I(uint32_t, static_shared_bytes, PLAIN)                                                   \
    I(uint32_t, param_bytes, PLAIN) /* bytes of the parameters; 0: their layout is unknown */ \
    I(uint64_t, handle, PLAIN)                                                                \
    S(name)

#define WS_COLUMNS_shape(I, S)                                                                           \
    I(uint32_t, id, DELTA)                                                                               \
    I(uint32_t, kind, PLAIN) /* enum ws_op_kind */                                                       \
    I(uint32_t, driver_function, PLAIN)                                                                  \
    I(uint32_t, stream, PLAIN)                                                                           \
    I(uint32_t, function, PLAIN) /* id in family `function`; for graphs, the executable graph's id */    \
    I(uint32_t, grid_x, PLAIN)                                                                           \
    I(uint32_t, grid_y, PLAIN)                                                                           \
    I(uint32_t, grid_z, PLAIN)                                                                           \
    I(uint32_t, block_x, PLAIN)                                                                          \
    I(uint32_t, block_y, PLAIN)                                                                          \
    I(uint32_t, block_z, PLAIN)                                                                          \
    I(uint32_t, shared_bytes, PLAIN) /* dynamic shared memory */                                         \
    I(uint32_t, from_space, PLAIN)   /* for copies: memory that is read; enum ws_space */                \
    I(uint32_t, to_space, PLAIN)     /* for copies and memsets: memory that is written; enum ws_space */ \
    I(uint32_t, inputs, PLAIN)       /* for launches of cuBLAS and cuDNN: id in `label` of the inputs; 0: none */

#define WS_COLUMNS_params(I, S)                                 \
    I(uint32_t, id, DELTA)                                      \
    I(uint32_t, function, PLAIN)                                \
    S(words)      /* struct ws_param_word, one after another */ \
    S(structures) /* format: see record/param_image.h */

#define WS_COLUMNS_comm(I, S)  \
    I(uint32_t, id, DELTA)     \
    I(uint32_t, rank, PLAIN)   \
    I(uint32_t, size, PLAIN)   \
    I(uint32_t, device, PLAIN) \
    I(uint64_t, handle, PLAIN) \
    I(uint64_t, name_hash, PLAIN) /* identifies the communicator: the same on all its ranks; 0: unknown */

#define WS_COLUMNS_graph_node(I, S)                           \
    I(uint32_t, graph, DELTA) /* the executable graph's id */ \
    I(uint32_t, index, DELTA)                                 \
    I(uint32_t, shape, PLAIN)                                 \
    I(uint32_t, enabled, PLAIN)                               \
    I(uint64_t, bytes, PLAIN)

#define WS_COLUMNS_label(I, S) \
    I(uint32_t, id, DELTA)     \
    S(text)

#define WS_COLUMNS_clock(I, S)   \
    I(uint32_t, context, DELTA)  \
    I(int64_t, device_ns, DELTA) \
    I(int64_t, host_ns, DELTA)   \
    I(uint32_t, error_ns, PLAIN) /* maximum error of host_ns */

#define WS_COLUMNS_op(I, S)                                                                                  \
    I(uint32_t, shape, KEY)                                                                                  \
    I(uint32_t, thread, KEY)         /* 0: the launching call is unknown; both host times equal `begin` */   \
    I(uint64_t, correlation, THREAD) /* thread << 40 | number of the thread's call: unique in the process */ \
    I(int64_t, host_begin, GAP(host_end, thread))                                                            \
    I(int64_t, host_end, LENGTH(host_begin))                                                                 \
    I(int64_t, begin, STREAM_GAP(end)) /* on the context's clock; `flags` says how it was found */           \
    I(int64_t, end, LENGTH(begin))                                                                           \
    I(uint32_t, begin_error, FIRST) /* maximum error of `begin`, in ns */                                    \
    I(uint32_t, end_error, FIRST)                                                                            \
    I(uint32_t, flags, FIRST)  /* enum ws_op_flags */                                                        \
    I(uint32_t, params, FIRST) /* id in family `params`; 0: none */                                          \
    I(uint64_t, bytes, FIRST)  /* for copies and memsets: bytes that are copied or set */                    \
    I(int32_t, result, PLAIN)  /* the driver's result */

#define WS_COLUMNS_call(I, S)                                                   \
    I(uint32_t, function, KEY) /* id in family `driver_function` */             \
    I(uint32_t, thread, KEY)                                                    \
    I(uint64_t, correlation, THREAD)                                            \
    I(int64_t, host_begin, GAP(host_end, thread))                               \
    I(int64_t, host_end, LENGTH(host_begin))                                    \
    I(uint32_t, context, DELTA)                                                 \
    I(uint32_t, stream, DELTA)                                                  \
    I(uint64_t, object, DELTA)  /* handle of an event, pool, module or graph */ \
    I(uint64_t, address, DELTA) /* address of an allocation */                  \
    I(uint64_t, bytes, DELTA)                                                   \
    I(int32_t, result, PLAIN)

#define WS_COLUMNS_collective(I, S)                                                                                  \
    I(uint32_t, function, KEY) /* id in family `driver_function`, of ncclAllReduce … */                            \
    I(uint32_t, thread, KEY)                                                                                         \
    I(uint64_t, correlation, THREAD)                                                                                 \
    I(int64_t, host_begin, GAP(host_end, thread))                                                                    \
    I(int64_t, host_end, LENGTH(host_begin))                                                                         \
    I(uint32_t, comm, DELTA)                                                                                         \
    I(uint32_t, stream, DELTA)                                                                                       \
    I(uint64_t, count, DELTA)                                                                                        \
    I(uint32_t, datatype, DELTA)      /* ncclDataType_t */                                                           \
    I(uint32_t, reduction, DELTA)     /* ncclRedOp_t */                                                              \
    I(int32_t, peer, DELTA)           /* root rank, or the other rank of send and recv; -1: none */                  \
    I(uint64_t, sequence, DELTA)      /* number of the call on this communicator and rank */                         \
    I(uint64_t, first_launch, THREAD) /* correlation of the first launch by the call or its ncclGroup; 0: none */    \
    I(uint64_t, last_launch, LENGTH(first_launch)) /* correlation of the last launch by the call or its ncclGroup */ \
    I(int32_t, result, PLAIN)

#define WS_COLUMNS_range(I, S)                                                                               \
    I(uint32_t, name, KEY) /* id in family `label` */                                                        \
    I(uint32_t, thread, KEY)                                                                                 \
    I(int64_t, host_begin, GAP(host_end, thread))                                                            \
    I(int64_t, host_end, LENGTH(host_begin))                                                                 \
    I(uint32_t, kind, FIRST)   /* enum ws_range_kind */                                                      \
    I(uint32_t, inputs, FIRST) /* for operators: id in family label of "TYPE[2,3] TYPE[3,4] …"; 0: none */ \
    I(uint64_t, number, DELTA) /* number of a step, or number at the end of an annotation's name; 0: none */

#define WS_COLUMNS_loss(I, S)                                                                  \
    I(uint32_t, reason, DELTA) /* enum ws_loss_reason */                                       \
    I(uint32_t, thread, DELTA) /* 0: losses of several threads, or of no thread */             \
    I(uint64_t, count, PLAIN)  /* losses since the previous row with this reason and thread */ \
    I(int64_t, host_ns, DELTA) /* time when `count` was read */

#define WS_COLUMNS_metric(I, S)                                                                                    \
    I(uint32_t, id, DELTA)                                                                                         \
    I(uint32_t, device, PLAIN)                                                                                     \
    I(uint32_t, group, DELTA)    /* number of the metric's group, from 1; CUPTI reads a group during one launch */ \
    I(uint32_t, quantity, PLAIN) /* enum ws_quantity */                                                            \
    I(uint32_t, weight, PLAIN)   /* FLOPs = the metric's value × weight */                                        \
    S(precision)                 /* precision of the FLOPs: fp16 …, see ws_precision_named */                    \
    S(group_name)                                                                                                  \
    S(name) /* CUPTI's name */

#define WS_COLUMNS_counter(I, S)                                                                         \
    I(uint32_t, shape, DELTA)                                                                            \
    I(uint32_t, metric, DELTA)                                                                           \
    I(uint64_t, correlation, DELTA) /* correlation of the launch, whose op has the flag WS_OP_COUNTED */ \
    I(uint64_t, value, PLAIN)       /* in the unit of the metric's quantity */

#define WS_COLUMNS_health(I, S)                                                                       \
    I(uint32_t, device, KEY)                                                                          \
    I(int64_t, host_ns, DELTA)  /* start of the query to NVML */                                      \
    I(uint32_t, took_ns, PLAIN) /* duration of the query */                                           \
    I(uint32_t, error, FIRST)   /* nvmlReturn_t; not 0: the device gave no sample */                  \
    I(uint32_t, known, FIRST)   /* bit n: the sample holds the n-th column below (record/health.h) */ \
    I(uint32_t, sm_mhz, FIRST)                                                                        \
    I(uint32_t, sm_most_mhz, FIRST)                                                                   \
    I(uint32_t, memory_mhz, FIRST)                                                                    \
    I(uint32_t, memory_most_mhz, FIRST)                                                               \
    I(uint64_t, reasons, FIRST) /* NVML's clocks event reasons, or-ed */                              \
    I(uint32_t, power_mw, FIRST)                                                                      \
    I(uint32_t, power_limit_mw, FIRST)                                                                \
    I(uint32_t, celsius, FIRST)                                                                       \
    I(uint32_t, busy_percent, FIRST)        /* share of time in which a kernel ran */                 \
    I(uint32_t, memory_busy_percent, FIRST) /* share of time with memory accesses */                  \
    I(uint64_t, memory_used, FIRST)         /* bytes that all processes together use */               \
    I(uint64_t, ecc_errors, FIRST)          /* uncorrected errors since the driver was loaded */      \
    I(uint64_t, nvlink_sent, FIRST)         /* bytes over all links, counted from an unknown time */  \
    I(uint64_t, nvlink_received, FIRST)                                                               \
    I(uint64_t, pcie_sent, FIRST) /* bytes, counted from an unknown time */                           \
    I(uint64_t, pcie_received, FIRST)

#define WS_COLUMNS_code(I, S)                                                                                       \
    I(uint32_t, id, DELTA)                                                                                          \
    I(uint32_t, first_line, PLAIN)                                                                                  \
    I(uint32_t, coding, PLAIN) /* format of `lines`: enum ws_line_coding */                                         \
    S(name)                    /* the function's name with its class, as Trainer.step; or the module's file name */ \
    S(file)                                                                                                         \
    S(lines) /* the function's line table, as the interpreter stores it; or the module's build id */                \
    I(uint64_t, address, PLAIN) /* for modules: lowest address at which the module was loaded */                    \
    I(uint64_t, size, PLAIN)    /* for modules: bytes from `address` to the module's end */

#define WS_COLUMNS_frame(I, S)                                                                        \
    I(uint32_t, id, DELTA)                                                                            \
    I(uint32_t, caller, DELTA) /* id in family `frame`; 0: none, or the outer frames were left out */ \
    I(uint32_t, code, PLAIN)                                                                          \
    I(uint32_t, offset, PLAIN) /* bytes from the function's first instruction, or from the module's `address` */

#define WS_COLUMNS_stack(I, S)                                                                                   \
    I(uint32_t, frame, KEY) /* the innermost frame */                                                            \
    I(uint32_t, thread, KEY)                                                                                     \
    I(int64_t, host_ns, THREAD)  /* start of the call that the thread was in; if in_pause, time of the sample */ \
    I(uint32_t, shape, FIRST)    /* shape of the operation that the call launched; 0: none */                    \
    I(uint32_t, in_pause, FIRST) /* 1: the shim's own thread sampled `thread` between two calls */

#endif
