/* The GPUs that peaks are known of. TFLOP/s, dense; { ordinary cores, tensor or matrix cores }.
 *
 * G(name, cc major, cc minor, SMs, boost MHz, last cache MiB, memory GiB, GB/s,
 *   fp64, fp32, tf32, fp16, bf16, fp8, int8, fp4, source)
 *
 * The words of a name must all be in the device's; where several rows fit, the one with most words counts, then
 * the one whose memory is nearest. Sources that give figures with sparsity were halved. Figures of ordinary cores
 * that a source does not state are cores × 2 × clock.
 *
 * A source is where a row's figures are published. Rows were entered from memory of these, and held against each
 * other (test_hardware.c) and, in November 2026, against what public pages say of them: H100, H100 PCIe, H200 (as the
 * H100 but for its memory), B200, GB200 glennklockwood.com/garden/processors (tables of the whitepapers, dense and
 * sparse); hmc-tech.com (clocks; INT8 of the H100 PCIe); chipsandcheese.com (148 SMs of the B200) H800 tumgag.com,
 * philisun.com (fp64 1 TFLOP/s; the rest is the H100's) A100               deviceQuery of an A100-SXM4-80GB (SMs,
 * clock, L2, 1593 MHz × 5120 bits = 2039 GB/s), sysrqmts.com (40 GB: 1555 GB/s, fp16, fp32 and fp64 of ordinary
 * cores), calculon's system files (312, 78) V100, V100 PCIE    cvw.cac.cornell.edu (1024 FLOPs a clock and SM),
 * io-tech.fi and sysrqmts.com (PCIe) T4                 deviceQuery (SMs, clock, L2); 65 TFLOP/s in lists of GPUs of
 * clouds A10                sysrqmts.com (its fp64 of 1:32 is the GA102 whitepaper's 1:64 here) L4, L40S
 * grokipedia.com and sourcecode.com after the data sheets (sparse, halved); fpsbench.com RTX 3090, 4090, 5090
 * igorslab.de, waredb.com and hmc-tech.com (fp32 accumulation), fpsbench.com MI210, MI250X      anandtech.com 17326,
 * zexron.com (of both dies, halved) MI300X             rocm.docs.amd.com (304 CUs), servethehome.com (256 MB of
 * Infinity Cache), jaredwatkins.com (1.3 and 2.6 PFLOP/s); vengineer.hatenablog.com (the MI300A's matrix rates × 304
 * / 228) Nothing was found against which to hold: H100 NVL, H200 NVL, H800 PCIe, the SMs of the GB200, the clock and
 * the L2 of B200 and GB200. The peaks of Hopper's tensor cores are for 1830 MHz; its ordinary cores go up to 1980.
 */
#define NO P(0, 0)
#define WS_GPUS(G)                                                                                                   \
    G("V100", 7, 0, 80, 1530, 6, 32, 900, P(7.8, 0), P(15.7, 0), NO, P(31.3, 125), NO, NO, P(62.7, 0), NO,           \
      "NVIDIA V100 datasheet (January 2020), SXM2")                                                                  \
    G("V100 PCIE", 7, 0, 80, 1380, 6, 32, 900, P(7, 0), P(14, 0), NO, P(28, 112), NO, NO, P(56, 0), NO,              \
      "NVIDIA V100 datasheet (January 2020), PCIe")                                                                  \
    G("T4", 7, 5, 40, 1590, 4, 16, 320, P(0.25, 0), P(8.1, 0), NO, P(16.3, 65), NO, NO, P(0, 130), NO,               \
      "NVIDIA T4 datasheet (2019); Turing architecture whitepaper")                                                  \
    G("A10", 8, 6, 72, 1695, 6, 24, 600, P(0.49, 0), P(31.2, 0), P(0, 62.5), P(31.2, 125), P(31.2, 125), NO,         \
      P(0, 250), NO, "NVIDIA A10 datasheet (2021)")                                                                  \
    G("A100 40GB", 8, 0, 108, 1410, 40, 40, 1555, P(9.7, 19.5), P(19.5, 0), P(0, 156), P(78, 312), P(39, 312), NO,   \
      P(0, 624), NO, "NVIDIA A100 datasheet (2021), 40 GB PCIe and SXM; A100 architecture whitepaper")               \
    G("A100 PCIE", 8, 0, 108, 1410, 40, 80, 1935, P(9.7, 19.5), P(19.5, 0), P(0, 156), P(78, 312), P(39, 312), NO,   \
      P(0, 624), NO, "NVIDIA A100 datasheet (2021), 80 GB PCIe; A100 architecture whitepaper")                       \
    G("A100", 8, 0, 108, 1410, 40, 80, 2039, P(9.7, 19.5), P(19.5, 0), P(0, 156), P(78, 312), P(39, 312), NO,        \
      P(0, 624), NO, "NVIDIA A100 datasheet (2021), 80 GB SXM; A100 architecture whitepaper")                        \
    G("L4", 8, 9, 58, 2040, 48, 24, 300, P(0.47, 0), P(30.3, 0), P(0, 60), P(30.3, 121), P(30.3, 121), P(0, 242.5),  \
      P(0, 242.5), NO, "NVIDIA L4 datasheet (2023), halved from sparse")                                             \
    G("L40S", 8, 9, 142, 2520, 96, 48, 864, P(1.4, 0), P(91.6, 0), P(0, 183), P(91.6, 362), P(91.6, 362), P(0, 733), \
      P(0, 733), NO, "NVIDIA L40S datasheet (2023)")                                                                 \
    G("GeForce RTX 3090", 8, 6, 82, 1695, 6, 24, 936, P(0.56, 0), P(35.6, 0), P(0, 35.6), P(35.6, 71), P(35.6, 71),  \
      NO, P(0, 284), NO, "NVIDIA Ampere GA102 architecture whitepaper, fp32 accumulation")                           \
    G("GeForce RTX 4090", 8, 9, 128, 2520, 72, 24, 1008, P(1.29, 0), P(82.6, 0), P(0, 82.6), P(82.6, 165.2),         \
      P(82.6, 165.2), P(0, 330.3), P(0, 660.6), NO, "NVIDIA Ada architecture whitepaper, fp32 accumulation")         \
    G("GeForce RTX 5090", 12, 0, 170, 2407, 96, 32, 1792, P(1.64, 0), P(104.8, 0), P(0, 104.8), P(104.8, 209.5),     \
      P(104.8, 209.5), P(0, 419), P(0, 838), P(0, 1676),                                                             \
      "NVIDIA RTX Blackwell architecture whitepaper, fp32 accumulation")                                             \
    G("H100 PCIe", 9, 0, 114, 1755, 50, 80, 2039, P(25.6, 51.2), P(51.2, 0), P(0, 378), P(102.4, 756),               \
      P(102.4, 756), P(0, 1513), P(0, 1513), NO, "NVIDIA H100 datasheet (2023), PCIe, halved from sparse")           \
    G("H100 NVL", 9, 0, 132, 1785, 50, 94, 3938, P(30, 60), P(60, 0), P(0, 417.5), P(120, 835), P(120, 835),         \
      P(0, 1670), P(0, 1670), NO, "NVIDIA H100 datasheet (2024), NVL, halved from sparse")                           \
    G("H100", 9, 0, 132, 1830, 50, 80, 3350, P(33.5, 66.9), P(66.9, 0), P(0, 494.7), P(133.8, 989.4),                \
      P(133.8, 989.4), P(0, 1978.9), P(0, 1978.9), NO, "NVIDIA H100 architecture whitepaper (2023), SXM5")           \
    G("H800 PCIe", 9, 0, 114, 1755, 50, 80, 2039, P(0.8, 0.8), P(51.2, 0), P(0, 378), P(102.4, 756), P(102.4, 756),  \
      P(0, 1513), P(0, 1513), NO, "NVIDIA H800 datasheet, PCIe, halved from sparse")                                 \
    G("H800", 9, 0, 132, 1830, 50, 80, 3350, P(1, 1), P(66.9, 0), P(0, 494.7), P(133.8, 989.4), P(133.8, 989.4),     \
      P(0, 1978.9), P(0, 1978.9), NO, "NVIDIA H800 datasheet, SXM5, halved from sparse")                             \
    G("H200", 9, 0, 132, 1830, 50, 141, 4800, P(33.5, 66.9), P(66.9, 0), P(0, 494.7), P(133.8, 989.4),               \
      P(133.8, 989.4), P(0, 1978.9), P(0, 1978.9), NO, "NVIDIA H200 datasheet (2024), SXM, halved from sparse")      \
    G("H200 NVL", 9, 0, 132, 1785, 50, 141, 4800, P(30, 60), P(60, 0), P(0, 417.5), P(120, 835), P(120, 835),        \
      P(0, 1670), P(0, 1670), NO, "NVIDIA H200 datasheet (2024), NVL, halved from sparse")                           \
    G("B200", 10, 0, 148, 1965, 126, 180, 8000, P(40, 40), P(80, 0), P(0, 1100), P(160, 2250), P(160, 2250),         \
      P(0, 4500), P(0, 4500), P(0, 9000),                                                                            \
      "NVIDIA Blackwell architecture technical brief, HGX B200, halved from sparse")                                 \
    G("GB200", 10, 0, 152, 1965, 126, 186, 8000, P(45, 45), P(90, 0), P(0, 1250), P(180, 2500), P(180, 2500),        \
      P(0, 5000), P(0, 5000), P(0, 10000),                                                                           \
      "NVIDIA Blackwell architecture technical brief, GB200, halved from sparse")                                    \
    G("MI210", 9, 0, 104, 1700, 8, 64, 1638, P(22.6, 45.3), P(22.6, 45.3), NO, P(0, 181), P(0, 181), NO, P(0, 181),  \
      NO, "AMD Instinct MI210 data sheet (2022)")                                                                    \
    G("MI250X", 9, 0, 110, 1700, 8, 64, 1638, P(23.9, 47.9), P(23.9, 47.9), NO, P(0, 191.5), P(0, 191.5), NO,        \
      P(0, 191.5), NO, "AMD Instinct MI250X data sheet (2021); one of its two dies, as the runtime sees it")         \
    G("MI300X", 9, 4, 304, 2100, 256, 192, 5300, P(81.7, 163.4), P(163.4, 163.4), P(0, 653.7), P(0, 1307.4),         \
      P(0, 1307.4), P(0, 2614.9), P(0, 2614.9), NO, "AMD Instinct MI300X data sheet (2023)")
