#!/bin/sh
# same.sh SIM N: the seeds 1 … N end alike in other surroundings: another process id, other garbage in
# fresh memory, another environment, other descriptors open.
sim=$1
failed=0
for seed in $(seq 1 "$2"); do
    one=$("$sim" --seed "$seed" --quiet)
    two=$(exec 3</dev/null 5</dev/null; MALLOC_PERTURB_=165 MORE=$(seq 1 "$seed") \
        "$sim" --seed "$seed" --quiet)
    if [ -z "$one" ] || [ "$one" != "$two" ]; then
        echo "two runs part: $one; $two"
        failed=1
    fi
done
exit $failed
