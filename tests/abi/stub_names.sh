#!/bin/sh
# Checks that the toolkit's stub of the driver exports every driver function of the wrapper table.
#   stub_names.sh ROWS STUB
set -eu
command -v nm >/dev/null || { echo "skipped: nm is not installed"; exit 77; }
names=$(sed -n 's/^DRIVER_TYPE("\([^"]*\)".*/\1/p' "$1")
exported=$(nm -D --defined-only "$2" | awk '{ print $3 }')
[ -n "$exported" ]
status=0
for name in $names; do
    echo "$exported" | grep -qx "$name" || { echo "not exported by $2: $name"; status=1; }
done
echo "$(echo "$names" | wc -l) names looked for among $(echo "$exported" | wc -l)"
exit $status
