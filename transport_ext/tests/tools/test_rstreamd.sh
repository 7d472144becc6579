#!/bin/sh
# test_rstreamd.sh PROGRAM: options, exit codes and signals of the driver program.
set -u
program=$1
root=$(mktemp -d "${TMPDIR:-/tmp}/rstreamd-test-XXXXXX") || exit 1
dir=$root/driver
pid=
failures=0
unset RSTREAM_DIR
for variable in $(env | sed -n 's/^\(AERON_[A-Za-z0-9_]*\)=.*/\1/p'); do
    unset "$variable"
done

finish() {
    [ -n "$pid" ] && kill -KILL "$pid" 2>/dev/null
    rm -rf "$root"
}
trap finish EXIT

expect() { # expect WHAT EXPECTED ACTUAL
    if [ "$2" != "$3" ]; then
        echo "FAILED $1: expected $2, got $3" >&2
        failures=$((failures + 1))
    fi
}

expect_code() { # expect_code CODE TEXT-ON-STDERR ARGUMENTS...
    code=$1
    text=$2
    shift 2
    "$program" "$@" >"$root/out" 2>"$root/err" </dev/null
    expect "exit code of $*" "$code" $?
    if [ -n "$text" ]; then
        grep -q -- "$text" "$root/err"
        expect "'$text' on stderr of $*" 0 $?
        expect "lines on stderr of $*" 1 "$(wc -l <"$root/err" | tr -d ' ')"
    fi
}

start() {
    : >"$root/ready"
    "$program" --dir "$dir" --verbose --idle-exit=60s >"$root/ready" 2>"$root/err" &
    pid=$!
    tries=0
    while ! grep -q "^rstreamd: ready dir=$dir pid=$pid\$" "$root/ready"; do
        tries=$((tries + 1))
        if [ $tries -gt 200 ]; then
            echo "FAILED: not ready: $(cat "$root/err")" >&2
            exit 1
        fi
        sleep 0.05
    done
}

expect_code 0 "" --help
grep -q -- "--term-buffer-length" "$root/out"
expect "--help lists the options" 0 $?
expect_code 0 "" --version
expect_code 2 "bogus" --bogus 1
expect_code 2 "needs a value" --dir
expect_code 2 "unexpected argument" -x
expect_code 2 "opening foo" foo
expect_code 2 "mtu" --dir "$dir" --mtu=7
RSTREAM_MTU=7 expect_code 2 "RSTREAM_MTU" --dir "$dir"
expect_code 0 "" --dir "$dir" --idle-exit=1ms
expect "the directory is gone after an idle exit" no "$([ -e "$dir" ] && echo yes || echo no)"

for signal in TERM INT HUP; do
    start
    expect_code 3 "living media driver" --dir "$dir"
    kill -$signal $pid
    wait $pid
    expect "exit code after SIG$signal" 0 $?
    pid=
    expect "directory after SIG$signal" no "$([ -e "$dir" ] && echo yes || echo no)"
done

start
kill -KILL $pid
wait $pid 2>/dev/null
start # what the killed one left is no hindrance
kill -TERM $pid
wait $pid
expect "exit code of the successor" 0 $?
pid=

# ---- by the names of Aeron's drivers (L15, N27) ----

launch() { # launch ARGUMENTS...: in the background, until it is ready
    : >"$root/out"
    "$program" --verbose "$@" >"$root/out" 2>"$root/err" </dev/null &
    pid=$!
    tries=0
    while ! grep -q "^rstreamd: ready dir=$dir pid=$pid\$" "$root/out"; do
        tries=$((tries + 1))
        if [ $tries -gt 200 ] || ! kill -0 $pid 2>/dev/null; then
            echo "FAILED: not ready: $(cat "$root/err")" >&2
            exit 1
        fi
        sleep 0.05
    done
}

finish_driver() { # finish_driver WHAT
    kill -TERM $pid
    wait $pid
    expect "exit code of $1" 0 $?
    pid=
}

threads() {
    cat /proc/"$pid"/task/*/comm | grep -v "^rstreamd$" | sort | tr '\n' ' '
}

number_at() { # number_at OFFSET: of cnc.dat, 4 bytes
    od -An -td4 -j "$1" -N4 "$dir/cnc.dat" | tr -d ' '
}

launch "-Daeron.dir=$dir" -Daeron.threading.mode=SHARED -Daeron.dir.delete.on.shutdown=true
expect "threads" "rst-shared " "$(threads)"
expect "counters as long as Aeron's" 8388608 "$(number_at 16)"
finish_driver "a driver with properties"
expect "directory, delete.on.shutdown" no "$([ -e "$dir" ] && echo yes || echo no)"

dir=$root/a/b/driver
launch "-Daeron.dir=$dir" -Daeron.threading.mode=DEDICATED -Daeron.thread.naming=classic
expect "threads" "conductor receiver sender " "$(threads)"
finish_driver "a dedicated driver"
expect "directory without delete.on.shutdown" yes "$([ -e "$dir/cnc.dat" ] && echo yes || echo no)"
expect "heartbeat of an ended driver" "-1" \
    "$(od -An -td8 -j $((128 + 1048576 + 640)) -N8 "$dir/cnc.dat" | tr -d ' ')"

# Precedence: environment variables, then files, then later arguments of the command line; our names
# override Aeron's in the environment.
cat >"$root/one.properties" <<END
# comment
aeron.dir = $dir
aeron.threading.mode: SHARED_NETWORK
aeron.thread.naming new
aeron.client.liveness.timeout=9s
aeron.print.configuration=true
aeron.dir.warn.if.exists=true
aeron.made.up=1
END
printf 'aeron.client.liveness.timeout=8s\n' >"$root/two.properties"
AERON_CLIENT_LIVENESS_TIMEOUT=7s AERON_TIMER_INTERVAL=500ms RSTREAM_TIMER_INTERVAL=400ms \
    launch "$root/one.properties" "$root/two.properties"
expect "threads" "aeron-md-cnd aeron-md-net " "$(threads)"
for line in client-liveness-timeout=8s timer-interval=400ms threading=shared-network \
  idle-exit=0ns; do
    grep -qx "$line" "$root/out"
    expect "$line is printed" 0 $?
done
grep -q "aeron.made.up=1: not known" "$root/err"
expect "an unknown name is told" 0 $?
expect "FIFOs lie beside the directory" "$dir.wake" "$(find "$root/a" -type p -exec dirname {} + |
    sort -u)"
grep -q "$dir exists" "$root/err"
expect "an existing directory is told" 0 $?
expect_code 3 "living media driver" "-Daeron.dir=$dir"
expect_code 3 "living media driver" "-Daeron.dir=$dir" -Daeron.dir.delete.on.start=true
finish_driver "a driver with two files"
launch "$root/one.properties" -Daeron.client.liveness.timeout=6s --timer-interval=300ms \
    -Drstream.remove.dir.on.close=true
grep -qx client-liveness-timeout=6s "$root/out"
expect "what comes later wins" 0 $?
finish_driver "a driver with a file and properties"
expect "directory, remove-dir-on-close" no "$([ -e "$dir" ] && echo yes || echo no)"

# Without --verbose standard error stays empty: notices go to the error log.
"$program" "-Daeron.dir=$dir" -Daeron.made.up=2 -Daeron.dir.delete.on.shutdown=true \
    >"$root/out" 2>"$root/err" </dev/null &
pid=$!
tries=0
while ! grep -aq "notice: aeron.made.up=2: not known" "$dir/cnc.dat" 2>/dev/null; do
    tries=$((tries + 1))
    if [ $tries -gt 200 ]; then
        expect "a notice in the error log" yes no
        break
    fi
    sleep 0.05
done
finish_driver "a driver with a notice"
expect "bytes on stderr without --verbose" 0 "$(wc -c <"$root/err" | tr -d ' ')"
expect "nothing is left" no "$([ -e "$dir" ] || [ -e "$dir.wake" ] && echo yes || echo no)"

AERON_DIR=$dir AERON_DIR_DELETE_ON_SHUTDOWN=true launch
expect "pid in cnc.dat" "$pid" "$(number_at 40)"
finish_driver "a driver with variables alone"
expect "directory, variable" no "$([ -e "$dir" ] && echo yes || echo no)"
launch "-Daeron.dir=$dir" -Daeron.threading.mode=INVOKER -Daeron.dir.delete.on.shutdown=true
expect "threads of an invoker: its main thread runs the agents" "" "$(threads)"
finish_driver "an invoker"
expect_code 2 "name-resolver=nonsense: must be" "-Daeron.dir=$dir" \
    -Daeron.name.resolver.supplier=nonsense
expect "nothing was made" no "$([ -e "$dir" ] && echo yes || echo no)"
expect_code 2 "aeron.threading.mode=NONE" "-Daeron.dir=$dir" -Daeron.threading.mode=NONE
expect_code 2 "client-liveness-timeout=1s: must be longer than timer-interval=1s" \
    "-Daeron.dir=$dir" -Daeron.client.liveness.timeout=1s
expect "nothing was made" no "$([ -e "$dir" ] && echo yes || echo no)"

[ $failures -eq 0 ] && echo "rstreamd: all as expected"
exit $failures
