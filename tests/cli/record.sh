#!/bin/sh
# Tests `wallshim record` with a library that does nothing in place of the shim: exit statuses, signals, environment,
# and its messages about the written traces.
[ $# -eq 4 ] || { echo "usage: record.sh WALLSHIM LIBRARY SOURCE STATIC-PROGRAM" >&2; exit 2; }
wallshim=$(realpath "$1") library=$(realpath "$2") source=$3
. "$source/tests/support/shell.sh"
export WALLSHIM_LIBRARY="$library"
# A program built with ASan complains about libraries that are preloaded before ASan's own.
export ASAN_OPTIONS="verify_asan_link_order=0:$ASAN_OPTIONS"

# wait_for FILE: waits until the file exists, at most 10 s.
wait_for() {
    for _ in $(seq 500); do
        [ -e "$1" ] && return
        sleep 0.02
    done
    fail "$1 never came"
}

expect 2 "$wallshim" record
one_line
expect 0 "$wallshim" record true
says err "no trace was written: the command used no CUDA device"
expect 7 "$wallshim" record -- sh -c 'exit 7'
expect 127 "$wallshim" record no-such-command-anywhere
one_line
: >not-executable
expect 126 "$wallshim" record ./not-executable
one_line
expect $((128 + 9)) "$wallshim" record sh -c 'kill -KILL $$'
expect $((128 + 15)) "$wallshim" record sh -c 'kill -TERM $$'

# Standard input, output and error are the command's own.
echo hello | "$wallshim" record cat >out 2>err
[ "$(cat out)" = hello ] || fail "input did not reach the command"

# Switches become variables. The words after the command belong to the command.
expect 0 "$wallshim" record --backend host --no-env -o here-%p.wst --burst 1s/30s sh -c 'env; echo "$0"' --backend
says out "WALLSHIM_BACKEND=host"
says out "WALLSHIM_ENV=0"
says out "WALLSHIM_OUTPUT=here-%p.wst"
says out "WALLSHIM_BURST=1s/30s"
grep -qx -- --backend out || fail "the command lost an argument"
says out "LD_PRELOAD=$library"
LD_PRELOAD=$library expect 0 "$wallshim" record env
grep -q "^LD_PRELOAD=$library:$library" out || fail "what was preloaded before is lost"
expect 2 "$wallshim" record --backend telepathy true
one_line
says err "events|host"
expect 2 "$wallshim" record --delay soon true
one_line
says err "500ms"
# Switches that have no effect beside others are named.
expect 0 "$wallshim" record --overhead 1 --event-placement shared true
says err "--overhead has no effect on events with --event-placement shared"
expect 0 "$wallshim" record --sample 3 true
says err "--sample has no effect on events with --event-placement sampled"
WALLSHIM_BACKEND=host expect 0 "$wallshim" record --gate off true
says err "--gate has no effect on events with --backend host"
expect 0 "$wallshim" record --overhead 1 --gate off true
grep -q "no effect" err && fail "--overhead and --gate have an effect by default"

# If the trace cannot be written, record says so before it runs the command.
expect 2 "$wallshim" record -o no-such-folder/x.wst touch was-run
one_line
says err "no-such-folder: No such file"
expect 2 "$wallshim" record -o '%q.wst' touch was-run
one_line
expect 2 "$wallshim" record -o 'x%' touch was-run
one_line
[ -e was-run ] && fail "the command ran"
expect 0 "$wallshim" record -oglued-%p.wst sh -c ': >glued-1.wst'
says err "wrote glued-1.wst"
expect 2 "$wallshim" record --no-env=1 true
one_line
expect 0 "$wallshim" help record
grep -q "usage: wallshim record" out || fail "help COMMAND"
expect 0 "$wallshim" record -o x.wst --help
grep -q "usage: wallshim record" out || fail "--help after a switch with an argument"
awk '/^  +(-., )?--/ && /   *[a-z]/' out | grep -q -- "--redact WORD,WORD…     *more words" || fail "columns of --help"
WALLSHIM_LIBRARY=/nowhere.so expect 2 "$wallshim" record true
one_line

# record names the new traces and the next command to type, but no trace that existed before.
: >here-1.wst
expect 0 "$wallshim" record -o here-%p.wst sh -c ': >here-2.wst'
says err "wrote here-2.wst; next: wallshim report here-2.wst"
grep -q here-1.wst err && fail "named a trace that was there before"
expect 2 "$wallshim" record -o here-1.wst true
one_line
expect 0 "$wallshim" record -o 'odd[name]-%h-%%.wst' sh -c ': >"odd[name]-host-%.wst"; : >"odd[name]-other-%.wst"'
says err "wrote 2 traces"
# In the suggested next command, names are quoted if the shell would otherwise misread them.
next_is() {
    wanted=$1
    eval "set -- $(sed 's/.*next: wallshim report//' err)"
    [ $# -eq 1 ] && [ -e "$1" ] && [ "${1#./}" = "$wanted" ]
}
for name in "it's \$(touch typed) 'that'.wst" '~a*.wst' '-x.wst'; do
    expect 0 "$wallshim" record "-o$name" sh -c ': >"$0"' "./$name"
    says err "wrote $name; next: "
    next_is "$name" || fail "not quoted: $(cat err)"
done
[ -e typed ] && fail "what was named ran"

# A signal reaches the command once, whether it was sent only to record or to the whole process group.
cat >count.py <<'END'
import os, signal, subprocess, sys, time
wallshim, whom = sys.argv[1:]
count = """import signal, time
got = []
signal.signal(signal.SIGINT, lambda *_: got.append(1))
print("ready", flush=True)
end = time.monotonic() + 1
while time.monotonic() < end:
    time.sleep(0.05)
print(len(got))"""
for _ in range(3):
    run = subprocess.Popen([wallshim, "record", "-o", "count-%p.wst", sys.executable, "-c", count], stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, text=True, start_new_session=True)
    run.stdout.readline()
    (os.killpg if whom == "group" else os.kill)(run.pid, signal.SIGINT)
    if run.stdout.readline() != "1\n" or run.wait() != 0:
        sys.exit(1)
END
for whom in group record; do
    python3 count.py "$wallshim" "$whom" || fail "not one signal where it was sent to the $whom"
done

# If no trace was written, record names a possible reason.
cp /bin/true elevated
chmod u+s elevated
expect 0 "$wallshim" record ./elevated
says err "set-user-ID"
if [ -x "$4" ]; then
    expect 0 "$wallshim" record "$4"
    says err "statically"
fi

# A folder that cannot be written to is the reason. Root may write anywhere, unless the capability is taken from it.
mkdir -m 555 closed
without=
[ "$(id -u)" -ne 0 ] || without="setpriv --bounding-set -dac_override"
if $without sh -c '[ ! -w closed ]' 2>/dev/null; then
    expect 0 $without "$wallshim" record -o closed/x.wst true
    says err "no trace was written: closed: Permission denied"
    one_line
fi

# If nobody reads record's messages, or their pipe is full, the exit status is still the command's. record does not
# change the command's disposition of SIGPIPE.
{
    "$wallshim" record sh -c 'until [ -e unread ]; do sleep 0.02; done; exit 7' 2>&1
    echo $? >status
} | { exec <&-; : >unread; }
wait_for status
[ "$(cat status)" -eq 7 ] || fail "a closed pipe made the status $(cat status)"
mkfifo full
exec 9<>full
dd if=/dev/zero of=full oflag=nonblock bs=4096 2>/dev/null
sh -c 'exec timeout -s KILL 20 "$0" record sh -c "exit 7" 2>full' "$wallshim"
status=$?
[ $status -eq 7 ] || fail "a full pipe made the status $status"
exec 9<&-
expect $((128 + 13)) "$wallshim" record sh -c 'kill -PIPE $$'

# A signal sent to record alone reaches the command once, and record waits for it.
cat >catch.sh <<'SCRIPT'
trap 'echo caught >>caught' USR1
trap 'echo ended >>caught; exit 3' TERM
: >ready
while :; do sleep 0.05; done
SCRIPT
"$wallshim" record sh catch.sh 2>err &
recorder=$!
wait_for ready
kill -USR1 $recorder
wait_for caught
kill -TERM $recorder
wait $recorder
[ $? -eq 3 ] || fail "the status after a signal"
[ "$(grep -c caught caught)" -eq 1 ] || fail "the signal came more than once"
grep -q ended caught || fail "SIGTERM did not arrive"
finish
