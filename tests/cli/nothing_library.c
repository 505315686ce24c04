/* Loaded in place of the shim where a test is about the command alone. */
int wallshim_tests_nothing(void);

int wallshim_tests_nothing(void)
{
    return 0;
}
