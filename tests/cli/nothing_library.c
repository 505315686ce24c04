/* A library to load in place of the shim, for tests of the command alone. */
int wallshim_tests_nothing(void);

int wallshim_tests_nothing(void)
{
    return 0;
}
