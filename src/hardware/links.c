#include "hardware/links.h"

#include <stddef.h>
#include <string.h>

/* Makers state the bandwidth of both directions together; this table holds half of it, for one direction. Sources:
 * the data sheets named in gpus.h (NVLink: V100 300, A100 600, H100 and H200 900, H100 NVL 600, H200 NVL 900, H800
 * 400, H20 900, B200 1800 GB/s; Infinity Fabric: MI250X up to 800, MI300X and MI325X 7 × 128, MI355X 7 × 153.6 GB/s).
 * The figures were not compared with the data sheets themselves. */
static const struct ws_link links[] = {
    { "V100", "NVLink 2", 150 },
    { "A100", "NVLink 3", 300 },
    { "A100 40GB", "NVLink 3", 300 },
    { "H100", "NVLink 4", 450 },
    { "H100 NVL", "NVLink 4 bridges", 300 },
    { "H800", "NVLink 4", 200 },
    { "H20", "NVLink 4", 450 },
    { "H200", "NVLink 4", 450 },
    { "H200 NVL", "NVLink 4 bridges", 450 },
    { "B200", "NVLink 5", 900 },
    { "GB200", "NVLink 5", 900 },
    { "MI250X", "Infinity Fabric", 400 },
    { "MI300X", "Infinity Fabric", 448 },
    { "MI325X", "Infinity Fabric", 448 },
    { "MI355X", "Infinity Fabric", 537.6 },
};

const struct ws_link *ws_link_of(const char *gpu)
{
    for (size_t i = 0; gpu && i < sizeof(links) / sizeof(links[0]); i++)
        if (!strcmp(links[i].gpu, gpu))
            return &links[i];
    return NULL;
}
