/* The GPUs whose peaks are known. Peaks are dense TFLOP/s, written as P(ordinary cores, tensor or matrix cores).
 *
 * G(name, cc major, cc minor, SMs, boost MHz, last cache MiB, memory GiB, GB/s,
 *   fp64, fp32, tf32, fp16, bf16, fp8, int8, fp4, source)
 *
 * A row fits a device if all words of the row's name are in the device's name. A size such as 40GB also fits if the
 * device has that much memory: some board names, such as A100-PG509-200, hold no size. If several rows fit, the row
 * with most words is used. Of rows with equally many words, the row with the nearest memory size is used. Figures
 * that a source gives with sparsity were halved. Where a source states no figure for ordinary cores, the figure is
 * cores × 2 × clock.
 *
 * NOT VERIFIED AGAINST A DATA SHEET: no row was compared with the maker's own document, because these documents were
 * not at hand when the rows were written. In November 2026 the rows were compared with texts that quote these
 * documents. For each row the list below names the maker's document and the figures that a quotation confirms.
 *
 * V100        nvidia.com volta-v100-datasheet-update-us-1165301-r5.pdf: fp64, fp32, fp16
 * V100 PCIE   the same: fp64, fp32, fp16
 * T4          nvidia.com t4-tensor-core-datasheet-951643.pdf: fp32, fp16, int8
 * RTX 2080 Ti nvidia.com NVIDIA-Turing-Architecture-Whitepaper.pdf: not compared
 * A40         nvidia.com a40-datasheet.pdf: fp32, tf32, fp16, bf16, int8, SMs, clock, L2, GB/s
 * RTX A6000   nvidia.com proviz-print-nvidia-rtx-a6000-datasheet.pdf: fp32, SMs, clock, L2, GB/s
 * A10         nvidia.com a10-datasheet.pdf: fp32, tf32, fp16, bf16, int8
 * A100 40GB   nvidia.com nvidia-a100-datasheet-us-nvidia-1758950-r4-web.pdf: all precisions, GB/s
 * A100 PCIE   the same: all precisions, GB/s
 * A100        the same: all precisions, GB/s; deviceQuery of an A100-SXM4-80GB: SMs, clock, L2
 * L4          nvidia.com l4-tensor-datasheet: fp32, tf32, fp16, bf16, fp8, int8
 * L20         NVIDIA L20 GPU Datasheet: not compared
 * L40S        nvidia.com/en-us/data-center/l40s: fp32, tf32, fp16, bf16, fp8, GB/s
 * RTX 3090    nvidia.com NVIDIA-ampere-GA102-GPU-Architecture-Whitepaper-V1.pdf: fp32, fp16, SMs, clock, L2, GB/s
 * RTX 4090    nvidia.com nvidia-ada-gpu-architecture.pdf: fp32, fp16, bf16, fp8, int8, SMs, clock, L2, GB/s
 * RTX 5090    nvidia.com nvidia-rtx-blackwell-gpu-architecture.pdf: bf16, fp8, fp4, SMs, clock, GB/s
 * H100 PCIe   nvidia.com nvidia-tensor-core-gpu-datasheet: all precisions
 * H100 NVL    nvidia.com/en-us/data-center/h100: bf16, GB/s
 * H100        nvidia.com nvidia-tensor-core-gpu-datasheet: all precisions, GB/s
 * H800 PCIe   NVIDIA H800 GPU Datasheet.pdf: fp64, fp32, bf16, fp8; 114 SMs and 2039 GB/s measured by others
 * H800        the same: fp64, fp32, bf16, fp8, GB/s
 * H20         NVIDIA H20 GPU Datasheet: fp64, fp32, tf32, fp16, int8, SMs, GB/s
 * H200        nvidia.com hpc-datasheet-sc23: all precisions, GB/s
 * H200 NVL    nvidia.com/en-us/data-center/h200: fp64, fp32, tf32, bf16, fp8, GB/s; GEMM brief PB-12128: clock
 * B200        nvidia.com Blackwell architecture technical brief: all precisions, GB/s; chipsandcheese.com: SMs
 * GB200       the same: all precisions, GB/s
 * MI210       amd.com instinct-mi210-brochure.pdf: fp64, fp32, fp16, clock
 * MI250X      amd.com Instinct MI250X data sheet: fp16 of both dies, halved
 * MI300X      amd.com amd-instinct-mi300x-data-sheet.pdf: matrix cores, GB/s; rocm.docs.amd.com: compute units
 * MI325X      amd.com amd-instinct-mi325x-datasheet.pdf: compute units, memory, GB/s
 * MI355X      amd.com amd-instinct-mi355x-gpu-brochure.pdf: compute units, fp8, fp4, memory, GB/s
 *
 * No quotation was found for: SMs and L2 of the NVL rows and of GB200, clock and L2 of B200 and GB200.
 * The peaks of Hopper's tensor cores are for 1830 MHz; its ordinary cores go up to 1980 MHz.
 * tests/unit/hardware/test_peaks.c compares the rows with each other.
 */
#define NO P(0, 0)
#define WS_GPUS(G)                                                                                                   \
    G("V100", 7, 0, 80, 1530, 6, 32, 900, P(7.8, 0), P(15.7, 0), NO, P(31.3, 125), NO, NO, P(62.7, 0), NO,           \
      "NVIDIA V100 datasheet (January 2020), SXM2")                                                                  \
    G("V100 PCIE", 7, 0, 80, 1380, 6, 32, 900, P(7, 0), P(14, 0), NO, P(28, 112), NO, NO, P(56, 0), NO,              \
      "NVIDIA V100 datasheet (January 2020), PCIe")                                                                  \
    G("T4", 7, 5, 40, 1590, 4, 16, 320, P(0.25, 0), P(8.1, 0), NO, P(16.3, 65), NO, NO, P(0, 130), NO,               \
      "NVIDIA T4 datasheet (2019); Turing architecture whitepaper")                                                  \
    G("GeForce RTX 2080 Ti", 7, 5, 68, 1545, 5, 11, 616, P(0.42, 0), P(13.4, 0), NO, P(26.9, 53.8), NO, NO,          \
      P(0, 215.2), NO, "NVIDIA Turing architecture whitepaper (2018), reference board, fp32 accumulation")           \
    G("A10", 8, 6, 72, 1695, 6, 24, 600, P(0.49, 0), P(31.2, 0), P(0, 62.5), P(31.2, 125), P(31.2, 125), NO,         \
      P(0, 250), NO, "NVIDIA A10 datasheet (2021)")                                                                  \
    G("A40", 8, 6, 84, 1740, 6, 48, 696, P(0.58, 0), P(37.4, 0), P(0, 74.8), P(37.4, 149.7), P(37.4, 149.7), NO,     \
      P(0, 299.3), NO, "NVIDIA A40 datasheet (2021)")                                                                \
    G("RTX A6000", 8, 6, 84, 1800, 6, 48, 768, P(0.6, 0), P(38.7, 0), P(0, 77.4), P(38.7, 154.8), P(38.7, 154.8),    \
      NO, P(0, 309.7), NO, "NVIDIA RTX A6000 datasheet (2020); GA102 architecture whitepaper")                       \
    G("A100 40GB", 8, 0, 108, 1410, 40, 40, 1555, P(9.7, 19.5), P(19.5, 0), P(0, 156), P(78, 312), P(39, 312), NO,   \
      P(0, 624), NO, "NVIDIA A100 datasheet (2021), 40 GB PCIe and SXM; A100 architecture whitepaper")               \
    G("A100 PCIE", 8, 0, 108, 1410, 40, 80, 1935, P(9.7, 19.5), P(19.5, 0), P(0, 156), P(78, 312), P(39, 312), NO,   \
      P(0, 624), NO, "NVIDIA A100 datasheet (2021), 80 GB PCIe; A100 architecture whitepaper")                       \
    G("A100", 8, 0, 108, 1410, 40, 80, 2039, P(9.7, 19.5), P(19.5, 0), P(0, 156), P(78, 312), P(39, 312), NO,        \
      P(0, 624), NO, "NVIDIA A100 datasheet (2021), 80 GB SXM; A100 architecture whitepaper")                        \
    G("L4", 8, 9, 58, 2040, 48, 24, 300, P(0.47, 0), P(30.3, 0), P(0, 60), P(30.3, 121), P(30.3, 121), P(0, 242.5),  \
      P(0, 242.5), NO, "NVIDIA L4 datasheet (2023), halved from sparse")                                             \
    G("L20", 8, 9, 92, 2520, 96, 48, 864, P(0.93, 0), P(59.8, 0), P(0, 59.8), P(59.8, 119.5), P(59.8, 119.5),        \
      P(0, 239), P(0, 239), NO, "NVIDIA L20 datasheet")                                                              \
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
    G("H20", 9, 0, 78, 1980, 60, 96, 4000, P(1, 0), P(44, 0), P(0, 74), P(88, 148), P(88, 148), P(0, 296),           \
      P(0, 296), NO, "NVIDIA H20 datasheet")                                                                         \
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
      P(0, 1307.4), P(0, 2614.9), P(0, 2614.9), NO, "AMD Instinct MI300X data sheet (2023)")                         \
    G("MI325X", 9, 4, 304, 2100, 256, 256, 6000, P(81.7, 163.4), P(163.4, 163.4), P(0, 653.7), P(0, 1307.4),         \
      P(0, 1307.4), P(0, 2614.9), P(0, 2614.9), NO, "AMD Instinct MI325X data sheet (2024)")                         \
    G("MI355X", 9, 5, 256, 2400, 256, 288, 8000, P(78.6, 78.6), P(157.3, 157.3), NO, P(0, 2516.6), P(0, 2516.6),     \
      P(0, 5033.2), P(0, 5033.2), P(0, 10066.3), "AMD Instinct MI355X brochure (2025)")
