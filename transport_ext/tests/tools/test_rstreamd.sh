#!/bin/sh
# test_rstreamd.sh PROGRAM: options, exit codes and signals of the driver program.
set -u
program=$1
root=$(mktemp -d "${TMPDIR:-/tmp}/rstreamd-test-XXXXXX") || exit 1
dir=$root/driver
pid=
failures=0
unset RSTREAM_DIR

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
expect_code 2 "unexpected argument" foo
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

[ $failures -eq 0 ] && echo "rstreamd: all as expected"
exit $failures
