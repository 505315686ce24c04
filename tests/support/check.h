/* The headers that all unit tests include. */
#ifndef WALLSHIM_TESTS_CHECK_H
#define WALLSHIM_TESTS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "random.h"

#endif
