/* The rows of the wrapper table (see driver_table.h) for functions that start the driver or look up its functions. */
/* clang-format off */
DRIVER(cuGetProcAddress, cuGetProcAddress, 11030, RESOLUTION,
    (const char *symbol, void **pfn, int driverVersion, uint64_t flags), (symbol, pfn, driverVersion, flags),
    NOTHING, resolved(&call, symbol, pfn, driverVersion, flags))
DRIVER(cuGetProcAddress_v2, cuGetProcAddress, 12000, RESOLUTION,
    (const char *symbol, void **pfn, int driverVersion, uint64_t flags, ws_CUenum *symbolFound),
    (symbol, pfn, driverVersion, flags, symbolFound), NOTHING, resolved(&call, symbol, pfn, driverVersion, flags))
DRIVER(cuInit, cuInit, 2000, LIFETIME,
    (unsigned Flags), (Flags), NOTHING, initialised(&call))
DRIVER(cuDriverGetVersion, cuDriverGetVersion, 2020, LIFETIME,
    (int *driverVersion), (driverVersion), NOTHING, NOTHING)
DRIVER(cuGetExportTable, cuGetExportTable, 3000, RESOLUTION,
    (const void **ppExportTable, const ws_CUuuid *pExportTableId), (ppExportTable, pExportTableId), NOTHING,
    export_table(&call, pExportTableId))
/* clang-format on */
