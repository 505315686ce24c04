/* A CUPTI of a version before CUDA 12.6: it has the older profiler, but no range profiler. */
__attribute__((visibility("default"))) int cuptiProfilerInitialize(void *params);

int cuptiProfilerInitialize(void *params)
{
    (void)params;
    return 0;
}
