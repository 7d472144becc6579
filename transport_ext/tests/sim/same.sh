#!/bin/sh
# same.sh SIM N: the seeds 1 to N give the same result in another environment: another process id,
# other bytes in fresh memory, other environment variables, other open descriptors.
sim=$1
failed=0
for seed in $(seq 1 "$2"); do
    one=$("$sim" --seed "$seed" --quiet)
    two=$(exec 3</dev/null 5</dev/null; MALLOC_PERTURB_=165 MORE=$(seq 1 "$seed") \
        "$sim" --seed "$seed" --quiet)
    if [ -z "$one" ] || [ "$one" != "$two" ]; then
        echo "two runs of seed $seed differ: $one; $two"
        failed=1
    fi
done
exit $failed
