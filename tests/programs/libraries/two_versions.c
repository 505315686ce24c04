/* Built twice for each VERSION: as a stand-in for cuBLAS whose function returns this version, and, with -DCALLER, as
 * a library that is linked with this stand-in. */
#define NAME(version) call_##version
#define CALL(version) NAME(version)

int cublasHgemm(void *handle, int transa, int transb, int m, int n, int k, const void *alpha, const void *a, int lda,
                const void *b, int ldb, const void *beta, void *c, int ldc);

#ifdef CALLER
int CALL(VERSION)(void);
int CALL(VERSION)(void)
{
    return cublasHgemm(0, 0, 0, 16, 16, 16, 0, 0, 16, 0, 16, 0, 0, 16);
}
#else
int cublasHgemm(void *handle, int transa, int transb, int m, int n, int k, const void *alpha, const void *a, int lda,
                const void *b, int ldb, const void *beta, void *c, int ldc)
{
    (void)handle, (void)transa, (void)transb, (void)m, (void)n, (void)k, (void)alpha, (void)a, (void)lda, (void)b;
    (void)ldb, (void)beta, (void)c, (void)ldc;
    return VERSION;
}
#endif
