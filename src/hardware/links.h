/* The links between GPUs, with the bandwidth at which a GPU can send. */
#ifndef WALLSHIM_HARDWARE_LINKS_H
#define WALLSHIM_HARDWARE_LINKS_H

struct ws_link {
    const char *gpu;     /* a name in the table of gpus.h */
    const char *name;    /* "NVLink 4" */
    double bytes_per_ns; /* GB/s in one direction, over all links of the GPU */
};

/* The bandwidth between machines: one network card of 400 Gbit/s for each GPU, as in machines with eight H100. */
#define WS_NETWORK_BYTES_PER_NS 50.0

/* The bandwidth of PCIe 4.0 with 16 lanes, in one direction. */
#define WS_PCIE_BYTES_PER_NS 32.0

/* Returns the link between GPUs of one machine. Returns NULL if the GPU has only PCIe or is unknown. */
const struct ws_link *ws_link_of(const char *gpu);

#endif
