#!/bin/sh
# Runs instead of a test that cannot be built on this machine. Prints the reason, and meson reports the test as
# skipped.
echo "skipped: $*"
exit 77
