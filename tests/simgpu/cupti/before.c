/* A CUPTI from before CUDA 12.6: it has a profiler, but no range profiler. */
__attribute__((visibility("default"))) int cuptiProfilerInitialize(void *params);

int cuptiProfilerInitialize(void *params)
{
    (void)params;
    return 0;
}
