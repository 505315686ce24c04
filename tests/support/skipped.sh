#!/bin/sh
# Stands for a test that cannot be built here: says why, and meson reports it as skipped.
echo "skipped: $*"
exit 77
