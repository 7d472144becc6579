#!/bin/sh
# Shows that the simulator detects bugs: it must find each deliberate fault of util/fault.h within
# 1000 seeds. usage: faults.sh BUILD_DIRECTORY [SEEDS]
set -u
builds="$1/tests/sim"
seeds="${2:-1000}"
header="$(dirname "$0")/../../util/fault.h"
missed=0
for fault in $(seq 1 "$(sed -n 's/^#define RSTI_FAULT_COUNT \([0-9]*\)$/\1/p' "$header")"); do
  what=$(sed -n "s|^#define RSTI_FAULT_[A-Z_]* $fault  */\* \(.*\) \*/\$|\1|p" "$header")
  report=$("$builds/sim-fault-$fault" --seeds "$seeds" --stop-at 1 2>&1) && missed=$((missed + 1))
  found=$(printf '%s\n' "$report" | grep -m 1 -E '^seed|assertion')
  printf '%2d %s\n   %s\n' "$fault" "$what" "${found:-NOT FOUND in $seeds seeds}"
done
[ "$missed" -eq 0 ] || { echo "$missed not found"; exit 1; }
