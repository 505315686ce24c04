"""Tests `wallshim attach` and `wallshim detach`.

    attach.py BUILD CASE|--list
"""
import contextlib
import ctypes
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

import cases
from cases import PATIENCE, check, wait_for
from servers import ROOT, Server, can_inject


def meta_of(server, trace):
    return {row["key"]: row["value"] for row in server.rows(trace, "meta")}


def check_trace(server, trace, end="detached", short=False):
    """Checks that the trace is complete, has the kernels by their names, and has operations with device times. short:
    the recording was so short that some threads may not have launched."""
    kernels = server.kernels(trace)
    check(set(kernels) <= {"even", "odd", "short_lived"} and (short or {"even", "odd"} <= set(kernels)), kernels)
    meta = meta_of(server, trace)
    check(meta["end"] == end, meta)
    ops = server.rows(trace, "op")
    with_times = sum(row["end"] != 0 for row in ops)
    check(short or with_times >= 0.75 * len(ops), f"{with_times} of {len(ops)} operations have times")
    check(short or server.rows(trace, "clock"), "no clocks were compared")
    return len(ops)


def case_woken(build):
    """Recording is started and ended several times in a program whose shim is loaded but dormant (it does not record).
    Each trace is complete by itself."""
    with Server(build) as server:
        check(not server.traces(), "a sleeping program has left a trace")
        for number in range(3):
            done = server.attach("--duration", "300ms", "-o", f"{number}.wst")
            check(done.returncode == 0 and f"wrote {number}.wst" in done.stderr, done)
            check_trace(server, f"{number}.wst")
            losses = server.rows(f"{number}.wst", "loss")
            check(all(row["host_ns"] for row in losses), losses)
            span = [row["host_begin"] for row in server.rows(f"{number}.wst", "op")]
            check(max(span) - min(span) < 5e9, "it has operations from before it was attached to")
        check(server.traces() == ["0.wst", "1.wst", "2.wst"], server.traces())
        sanitized = cases.sanitized(f"{build}/tests/programs/server")
        # Each trace states its own cost, not that of all recordings so far. Under a sanitizer, costs vary too much.
        server.attach("--duration", "50ms", "-o", "short.wst")
        longer, short = (int(meta_of(server, trace)["cost_events_ns"]) for trace in ("2.wst", "short.wst"))
        check(sanitized or short < longer, f"a short recording cost {short} ns, a longer one before {longer} ns")
        # A sanitizer is preloaded too, and is named.
        doctor = server.wallshim("doctor", server.pid).stdout
        check("loaded; it answers" in doctor and ("LD_PRELOAD" in doctor) == sanitized, doctor)
        report = server.wallshim("report", "2.wst")
        judged = "server on GPU 0" in report.stdout or (sanitized and "No verdict: too many" in report.stdout)
        check(report.returncode == 0 and judged, report)
        # What was called before and after the recording is counted, but nobody asked for it.
        outside = 8  # WS_LOSS_RANGE
        losses = {row["reason"] for row in server.rows("2.wst", "loss") if row["count"]}
        check(sanitized or losses != {outside} or "nothing lost" in report.stdout, (losses, report))
        check(server.ends_well() == "", "the shim has said something")


def case_asleep(build):
    """While the shim is dormant, its threads hardly wake up, and the program's memory does not grow."""
    with Server(build) as server:
        server.attach("--duration", "100ms")
        time.sleep(0.3)
        before, began, memory = server.threads(), time.monotonic(), server.resident()
        check("wallshim" in before and "wallshim-contro" in before, before)
        check("wallshim-file" not in before, before)
        time.sleep(4)
        seconds, after = time.monotonic() - began, server.threads()
        for name, switches in after.items():
            # The server starts threads all the time, and each start wakes up the drain thread (named "wallshim").
            if name != "wallshim":
                check(switches - before[name] <= seconds, f"{name}: {switches - before[name]} in {seconds} s")
        # A sanitizer keeps a history of each thread that the server starts, so memory grows.
        grown = 0 if cases.sanitized(f"{build}/tests/programs/server") else server.resident() - memory
        check(grown < 4096, f"{memory} kB have become {server.resident()}")
        server.ends_well()


def case_detached(build):
    """Each of these ends a recording that `wallshim attach` began: `wallshim detach`, the end of `attach`, and a signal
    to `attach`."""
    with Server(build) as server:
        attach = server.start_attach("-o", "one.wst")
        wait_for(lambda: "one.wst" in server.traces() and os.path.getsize(f"{server.folder}/one.wst"), "the trace")
        second = server.attach()
        check(second.returncode == 2 and "recorded already" in second.stderr, second)
        doctor = server.wallshim("doctor", server.pid)
        check(doctor.returncode == 2 and f"wallshim detach {server.pid} ends that" in doctor.stdout, doctor)
        check(server.wallshim("detach", server.pid).returncode == 0, "detach failed")
        output, errors = attach.communicate(timeout=PATIENCE)
        check(attach.returncode == 0 and "recording ended as asked; wrote one.wst" in errors, errors)
        check_trace(server, "one.wst")
        nobody = server.wallshim("detach", server.pid)
        check(nobody.returncode == 2 and "nobody records it" in nobody.stderr, nobody)

        for number, name in ((signal.SIGINT, "two.wst"), (signal.SIGKILL, "three.wst")):
            attach = server.start_attach("-o", name)
            wait_for(lambda path=f"{server.folder}/{name}": os.path.exists(path) and os.path.getsize(path), "the trace")
            time.sleep(0.3)
            attach.send_signal(number)
            attach.communicate(timeout=PATIENCE)
            check(attach.returncode == (0 if number == signal.SIGINT else -number), attach.returncode)
            wait_for(lambda: "nobody records it" in server.wallshim("detach", server.pid).stderr, "the end")
            check_trace(server, name)
        server.ends_well()


def case_ending(build):
    """The program ends while it is recorded."""
    with Server(build) as server:
        attach = server.start_attach("-o", "ending.wst")
        wait_for(lambda: "ending.wst" in server.traces() and os.path.getsize(f"{server.folder}/ending.wst"), "the trace")
        time.sleep(0.3)
        server.ends_well()
        _, errors = attach.communicate(timeout=PATIENCE)
        check(attach.returncode == 0 and "wrote ending.wst" in errors, errors)
        check_trace(server, "ending.wst", "by exit")


def case_descriptors(build):
    """The program's table of descriptors never has a descriptor of the shim."""
    with Server(build) as server:
        before = server.descriptors()
        attach = server.start_attach("-o", "one.wst")
        wait_for(lambda: "one.wst" in server.traces() and os.path.getsize(f"{server.folder}/one.wst"), "the trace")
        check(server.descriptors() == before, (before, server.descriptors()))
        attach.send_signal(signal.SIGINT)
        attach.communicate(timeout=PATIENCE)
        check(server.descriptors() == before, (before, server.descriptors()))
        server.ends_well()


def case_refused(build):
    """A process that cannot be attached to is refused in one line, and no file is left."""
    with Server(build) as server:
        for words, why in ((("attach", 999999999), "there is no such process"), (("attach",), "give the id of one process"),
                           (("attach", "x"), "give the id of a process"), (("attach", os.getpid()), "it has not loaded the CUDA driver"),
                           (("detach", os.getpid()), "nobody records it"),
                           (("attach", server.pid, "--duration", "soon"), "--duration soon: give a time"),
                           (("attach", server.pid, "--overhead", "200%"), "--overhead 200%: give a share"),
                           (("attach", server.pid, "-o", "no/such/folder.wst"), "No such file")):
            done = server.wallshim(*words)
            check(done.returncode == 2 and why in done.stderr and done.stderr.count("\n") == 1, (words, done))
        check(not server.traces(), server.traces())
        server.ends_well()


# --- programs that were started without the shim ------------------------------------------------------------------


def case_unprepared(build):
    """The shim is loaded into a program that runs. Afterwards the driver's code is what it was, byte for byte."""
    if not can_inject(build):
        return 77
    with Server(build, asleep=False) as server:
        before, descriptors = server.text("libcuda.so.1"), server.descriptors()
        for number in range(4):
            done = server.attach("--duration", "300ms", "-o", f"{number}.wst")
            check(done.returncode == 0 and f"wrote {number}.wst" in done.stderr, done)
            check(re.search(r"patched \d{3} functions; threads stood still for \d+ us at most", done.stderr), done)
            check(server.text("libcuda.so.1") == before, "the driver's code has changed")
            wait_for(lambda: not server.threads(), f"the end of {server.threads()}")
            check(server.descriptors() == descriptors, (descriptors, server.descriptors()))
            check_trace(server, f"{number}.wst")
            mappings = server.count_mappings("memfd:wallshim") if number else 0
            check(number < 2 or mappings == earlier, "the shim is loaded again and again")
            earlier = mappings
        check(server.ends_well() == "", "the shim has said something")


def case_libraries(build):
    """Calls of NCCL, cuBLAS, cuBLASLt and cuDNN are recorded, though their communicators, handles and descriptors were
    made before."""
    if not can_inject(build):
        return 77
    with Server(build, asleep=False, program="library_server") as server:
        for number in range(2):
            done = server.attach("--duration", "300ms", "-o", f"{number}.wst")
            check(done.returncode == 0, done)
            # The functions themselves are patched, so no look-up goes around the shim.
            losses = server.wallshim("report", "--section", "losses", f"{number}.wst")
            check(losses.returncode == 0 and "look-up" not in losses.stdout, losses)
            labels = {row["id"]: row["text"] for row in server.rows(f"{number}.wst", "label")}
            inputs = {labels[row["inputs"]] for row in server.rows(f"{number}.wst", "range") if row["inputs"]}
            for wanted in ("[256,512]", "[512,128]", "[16,64,56,56]"):  # cuBLAS, cuBLASLt, cuDNN
                check(any(wanted in text for text in inputs), (wanted, inputs))
            comms = server.rows(f"{number}.wst", "comm")
            collectives = server.rows(f"{number}.wst", "collective")
            ranks = {(row["rank"], row["size"], row["device"]) for row in comms}
            check(ranks == {(0, 1, 1), (0, 2, 1), (1, 2, 2)}, comms)
            check({row["count"] for row in collectives} == {1 << 16, 1 << 15}, collectives[:4])
            # Ranks would count collectives from different ones on, so these have no numbers.
            check(all(row["comm"] and not row["sequence"] for row in collectives), collectives[:4])
            # The recording may begin and end within a call.
            check(sum(not row["first_launch"] for row in collectives) <= 2, collectives[:4])


def case_during(build):
    """While a program is recorded, the driver's code is patched, the program has no descriptors of the shim, and it may
    end."""
    if not can_inject(build):
        return 77
    with Server(build, asleep=False) as server:
        before, descriptors = server.text("libcuda.so.1"), server.descriptors()
        attach = server.start_attach("-o", "one.wst")
        wait_for(lambda: "one.wst" in server.traces() and os.path.getsize(f"{server.folder}/one.wst"), "the trace")
        check(server.text("libcuda.so.1") != before, "nothing is patched")
        check(server.descriptors() == descriptors, (descriptors, server.descriptors()))
        check(server.wallshim("detach", server.pid).returncode == 0, "detach failed")
        _, errors = attach.communicate(timeout=PATIENCE)
        check(attach.returncode == 0 and "recording ended as asked; wrote one.wst" in errors, errors)
        check(server.text("libcuda.so.1") == before, "the driver's code has changed")
        check_trace(server, "one.wst")

        attach = server.start_attach("-o", "two.wst")
        wait_for(lambda: "two.wst" in server.traces() and os.path.getsize(f"{server.folder}/two.wst"), "the trace")
        time.sleep(0.3)
        server.ends_well()
        _, errors = attach.communicate(timeout=PATIENCE)
        check(attach.returncode == 0 and "wrote two.wst" in errors, errors)
        check_trace(server, "two.wst", "by exit")


@contextlib.contextmanager
def other_program(build, *words, **environment):
    """Starts a program that waits for input. Yields its process. build: the build whose libraries the program gets. None: it
    gets none, because this program could not load a sanitizer's library."""
    libraries = [f"{ROOT}/tests/run_preloaded.sh", "--no-shim", build] if build else []
    process = subprocess.Popen([*libraries, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               env={**os.environ, **environment})
    try:
        check(process.stdout.readline() == b"ready\n", f"{words} does not begin")
        yield process
    finally:
        process.kill()
        process.communicate()


def is_refused(build, pid, why, before=()):
    """Checks that `attach` and `doctor` give the same reason, that `attach` gives it in one line, and that no file is
    written."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        command = [*before, f"{build}/tools/wallshim"]
        done = subprocess.run([*command, "attach", str(pid)], cwd=folder, capture_output=True, text=True, check=False,
                              timeout=PATIENCE)
        check(done.returncode == 2 and why in done.stderr and done.stderr.count("\n") == 1, (why, done))
        told = subprocess.run([*command, "doctor", str(pid)], cwd=folder, capture_output=True, text=True, check=False,
                              timeout=PATIENCE)
        check(told.returncode == 2 and f"refuses: {done.stderr.split(': ', 2)[2].strip()}" in told.stdout, (done, told))
        check(not os.listdir(folder), os.listdir(folder))


def case_doctor(build):
    """Provokes every reason for which `attach` refuses a process."""
    build = os.path.abspath(build)
    server, attachable = f"{build}/tests/programs/server", f"{build}/tests/programs/attachable"
    library = f"{build}/tests/programs/libraries/libprobe.so"
    libc = ctypes.CDLL(None, use_errno=True)
    is_refused(build, os.getpid(), "it has not loaded the CUDA driver")
    if not cases.sanitized(attachable):  # otherwise `attach` names the sanitizer as the reason
        with other_program(build, attachable, "seccomp") as process:
            is_refused(build, process.pid, "it has put itself into a sandbox (seccomp)")
    if os.path.exists(attachable + "_static"):
        with other_program(build, attachable + "_static") as process:
            is_refused(build, process.pid, "it is a static program")
    with other_program(build, server, "1", library) as process:
        os.kill(process.pid, signal.SIGSTOP)
        wait_for(lambda: open(f"/proc/{process.pid}/stat", encoding="utf-8").read().split(") ")[1][0] == "T", "the stop")
        is_refused(build, process.pid, f"it is stopped; kill -CONT {process.pid}")
        os.kill(process.pid, signal.SIGCONT)
        seize, interrupt, detach = 0x4206, 0x4207, 17
        check(libc.ptrace(seize, process.pid, None, 0) == 0, "ptrace failed")
        is_refused(build, process.pid, f"process {os.getpid()} traces it already")
        # The tracer has stopped it, so kill -CONT would not help.
        check(libc.ptrace(interrupt, process.pid, None, 0) == 0, "ptrace failed")
        wait_for(lambda: open(f"/proc/{process.pid}/stat", encoding="utf-8").read().split(") ")[1][0] == "t", "the stop")
        is_refused(build, process.pid, f"process {os.getpid()} traces it already")
        os.waitpid(process.pid, os.WUNTRACED)
        check(libc.ptrace(detach, process.pid, None, 0) == 0, "ptrace failed")
    if not cases.sanitized(server):
        with other_program(build, server, "1", library, LD_PRELOAD=f"{build}/shim/libwallshim.so", WALLSHIM_BACKEND="host",
                           WALLSHIM_OUTPUT="/dev/null") as process:
            is_refused(build, process.pid, "it was started under wallshim")
    if os.geteuid() == 0 and shutil.which("setpriv"):
        with other_program(build, server, "1", library) as process:
            is_refused(build, process.pid, "it belongs to user 0", ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"])
    with other_program(build, server, "1", library) as process:
        told = subprocess.run([f"{build}/tools/wallshim", "doctor", str(process.pid)], capture_output=True, text=True, check=False)
        sanitized = cases.sanitized(server)
        check(told.returncode == (2 if sanitized else 0) and "libcuda.so.1" in told.stdout, told)
        check(("it has a sanitizer" if sanitized else "loads the shim into it") in told.stdout, told)


WAITS_32_BIT = """
.globl _start
_start: mov $4, %eax; mov $1, %ebx; mov $text, %ecx; mov $6, %edx; int $0x80
again:  mov $3, %eax; xor %ebx, %ebx; mov $byte, %ecx; mov $1, %edx; int $0x80
        test %eax, %eax; jg again
        mov $1, %eax; xor %ebx, %ebx; int $0x80
.data
text:   .ascii "ready\\n"
byte:   .byte 0
"""
WAITS = """
#include <unistd.h>
int main(void) { char byte; write(1, "ready\\n", 6); while (read(0, &byte, 1) > 0); }
"""


def made(folder, name, text, *commands):
    """Writes the source `name` and builds the program `waits` from it. Returns its path; None if a tool is missing or fails, or
    if this kernel cannot run the program."""
    with open(f"{folder}/{name}", "w", encoding="ascii") as file:
        file.write(text)
    for command in commands:
        if not shutil.which(command[0]) or subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode:
            return None
    with contextlib.suppress(OSError):
        subprocess.run([f"{folder}/waits"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
        return f"{folder}/waits"
    return None


def case_foreign(build):
    """Programs into which no library of this build can be loaded: a 32-bit one, and one with another C library."""
    build, tried = os.path.abspath(build), 0
    for name, text, commands, why in (
            ("waits.s", WAITS_32_BIT, (["as", "--32", "-o", "waits.o", "waits.s"], ["ld", "-m", "elf_i386", "-o", "waits", "waits.o"]),
             "it is a 32-bit program"),
            ("waits.c", WAITS, (["musl-gcc", "-o", "waits", "waits.c"],), "its C library is musl; glibc is needed")):
        with tempfile.TemporaryDirectory() as folder:
            program = made(folder, name, text, *commands)
            if program:
                with other_program(None, program) as process:
                    is_refused(build, process.pid, why)
                tried += 1
    return 0 if tried else 77


def case_yama(build):
    """A process that may not be traced: the reason and the cure depend on Yama's setting. This kernel may lack Yama, so the
    setting is a file of the test, in a mount namespace of its own."""
    build, nobody = os.path.abspath(build), ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    if os.geteuid() or not shutil.which("setpriv"):
        return 77
    with other_program(build, *nobody, f"{build}/tests/programs/attachable", "undumpable") as process, \
            tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        os.mkdir(f"{folder}/yama")
        within = ["unshare", "--mount", "sh", "-c", f'mount --bind {folder} /proc/sys/kernel && exec "$@"', "sh", *nobody]
        if subprocess.run([*within, "true"], capture_output=True, check=False).returncode:
            return 77
        for scope, why in enumerate(("it may not be traced: it has more rights than you, or is not dumpable",
                                     "setpriv --ptracer any", "Yama lets only administrators trace",
                                     "Yama lets nobody trace until the next start of the system")):
            with open(f"{folder}/yama/ptrace_scope", "w", encoding="ascii") as file:
                file.write(f"{scope}\n")
            is_refused(build, process.pid, why, within)
    return 0


NAMESPACES = (["--mount"], ["--pid", "--fork", "--mount-proc"], ["--net"], ["--user", "--map-root-user"],
              ["--user", "--map-root-user", "--pid", "--fork", "--mount", "--net"])


def case_namespaces(build):
    """The shim is loaded into programs in other namespaces, as in containers, and dormant programs there are woken."""
    if not can_inject(build):
        return 77
    done = 0
    for namespaces in NAMESPACES:
        command = ["unshare", *namespaces, "--"]
        if subprocess.run([*command, "true"], check=False, stderr=subprocess.DEVNULL).returncode:
            continue
        for asleep in (False, True):
            with Server(build, asleep=asleep, workers=1, before=command) as server:
                attach = server.attach("--duration", "200ms", "-o", "one.wst")
                check(attach.returncode == 0, (namespaces, asleep, attach))
                check("even" in server.kernels("one.wst"), (namespaces, server.kernels("one.wst")))
                server.ends_well()
        done += 1
    if not done:
        print("skipped: no other namespaces are permitted here")
    return 0 if done else 77


def cycles(build, python):
    """Attaches again and again. Prints how long the program's threads were stopped."""
    rounds, stood = int(os.environ.get("ATTACH_ROUNDS", "5")), []
    with Server(build, asleep=False, python=python) as server:
        before, descriptors = server.text("libcuda.so.1"), server.descriptors()
        for number in range(rounds):
            done = server.attach("--duration", "100ms", "-o", f"{number}.wst")
            check(done.returncode == 0, done)
            stood.append(int(re.search(r"stood still for (\d+) us", done.stderr)[1]))
            check(server.text("libcuda.so.1") == before, "the driver's code has changed")
            check(server.descriptors() == descriptors, (descriptors, server.descriptors()))
            check_trace(server, f"{number}.wst", short=True)
            if number == 1:
                memory = server.resident()
            os.remove(f"{server.folder}/{number}.wst")
        wait_for(lambda: not server.threads(), f"the end of {server.threads()}")
        stood.sort()
        print(f"{rounds} cycles; threads stood still for {stood[len(stood) // 2]} us in the median, "
              f"{stood[len(stood) * 99 // 100]} us at the 99th percentile, {stood[-1]} us at most; "
              f"{server.resident() - memory} kB more resident than after the second")
        floor = subprocess.run([f"{server.build}/tests/programs/bare_stop", str(server.pid), str(rounds)], capture_output=True,
                               check=True, text=True).stdout.strip()
        print(f"floor: threads that are stopped and let go at once stand still for {floor}")
        server.ends_well()


def case_cycles(build):
    return cycles(build, False) if can_inject(build) else 77


def case_python(build):
    return cycles(build, True) if can_inject(build) else 77


def case_killed(build):
    """The command is killed at random moments. The program goes on, and nothing of the shim is active in it
    afterwards."""
    if not can_inject(build):
        return 77
    rounds = int(os.environ.get("ATTACH_ROUNDS", "12"))
    with Server(build, asleep=False) as server:
        before, descriptors = server.text("libcuda.so.1"), server.descriptors()
        for number in range(rounds):
            attach = server.start_attach("--duration", "200ms")
            time.sleep(0.002 * 1.5 ** (number % 12))  # 2 ms to 170 ms
            attach.kill()
            attach.communicate(timeout=PATIENCE)
            check(server.process.poll() is None, f"the server died in round {number}")
        wait_for(lambda: server.text("libcuda.so.1") == before and not server.threads(), "the end")
        check(server.descriptors() == descriptors, (descriptors, server.descriptors()))
        done = server.attach("--duration", "300ms", "-o", "last.wst")
        check(done.returncode == 0, done)
        check_trace(server, "last.wst")
        server.ends_well()


cases.main(globals())
