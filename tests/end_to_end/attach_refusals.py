"""Provokes every refusal of `wallshim attach` and `wallshim doctor`: one clear line each, status 2, and nothing touched.

    attach_refusals.py BUILD CASE|--list
"""
import contextlib
import ctypes
import functools
import os
import resource
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time

import cases
from cases import PATIENCE, check, wait_for
from servers import Running, Server, can_inject, is_refused, other_program

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


# --- what is known before a thread is stopped ---------------------------------------------------------------------


def case_words(build):
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


def case_checks(build):
    """What `attach` finds out before it stops a thread, and `doctor` too."""
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
            is_refused(build, process.pid, "it belongs to user 0", NOBODY)
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
    build = os.path.abspath(build)
    if os.geteuid() or not shutil.which("setpriv"):
        return 77
    with other_program(build, *NOBODY, f"{build}/tests/programs/attachable", "undumpable") as process, \
            tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        os.mkdir(f"{folder}/yama")
        within = ["unshare", "--mount", "sh", "-c", f'mount --bind {folder} /proc/sys/kernel && exec "$@"', "sh", *NOBODY]
        if subprocess.run([*within, "true"], capture_output=True, check=False).returncode:
            return 77
        for scope, why in enumerate(("it may not be traced: it has more rights than you, or is not dumpable",
                                     "setpriv --ptracer any", "Yama lets only administrators trace",
                                     "Yama lets nobody trace until the next start of the system")):
            with open(f"{folder}/yama/ptrace_scope", "w", encoding="ascii") as file:
                file.write(f"{scope}\n")
            is_refused(build, process.pid, why, within)
    return 0


# --- what the kernel or another command forbids -------------------------------------------------------------------


def injecting(case):
    """A case that is skipped where this build can load no shim into running programs."""
    @functools.wraps(case)
    def checked(build):
        return case(os.path.abspath(build)) if can_inject(build) else 77
    return checked


def attach_fails(build, pid, why, before=(), lines=1, **environment):
    """Checks that `attach` is refused, in one line that has `why`, and that no file is left. lines: number of lines, if the
    command tells before that it takes long."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        done = subprocess.run([*before, f"{build}/tools/wallshim", "attach", str(pid), "--duration", "1s"], cwd=folder,
                              capture_output=True, text=True, check=False, timeout=PATIENCE * 2, env={**os.environ, **environment})
        said = done.stderr.splitlines()
        check(lines == 1 or "none of its threads can be stopped in a harmless place yet" in said[0], done)
        check(done.returncode == 2 and len(said) == lines and why in said[-1] and f"attach {pid}: " in said[-1], (why, done))
        check(not os.listdir(folder), os.listdir(folder))


def is_clean(process, before, descriptors):
    """Checks that the program lives, its driver's code is what it was, and it has no thread and no descriptor of ours."""
    running = Running(process.pid)
    wait_for(lambda: not running.threads(), f"the end of {running.threads()}")
    check(process.poll() is None, "the program has ended")
    check(running.text("libcuda.so.1") == before, "the driver's code has changed")
    check(running.descriptors() == descriptors, (descriptors, running.descriptors()))


@contextlib.contextmanager
def untouched(build, *words, may_attach=True):
    """A program `attachable`, which is checked afterwards. may_attach: nothing hinders an attach in the end."""
    with other_program(build, f"{build}/tests/programs/attachable", *words) as process:
        running = Running(process.pid)
        before, descriptors = running.text("libcuda.so.1"), running.descriptors()
        yield process
        is_clean(process, before, descriptors)
        if may_attach:
            with tempfile.TemporaryDirectory() as folder:
                done = subprocess.run([f"{build}/tools/wallshim", "attach", str(process.pid), "--duration", "100ms"], cwd=folder,
                                      capture_output=True, text=True, check=False, timeout=PATIENCE)
                check(done.returncode == 0 and "wrote attachable-" in done.stderr, done)
            is_clean(process, before, descriptors)


def bound(kind, name):
    listener = socket.socket(socket.AF_UNIX, kind)
    listener.bind(name)
    listener.listen()
    return listener


def case_rights(build):
    """root without the right to trace, a process whose memory cannot be opened, and sockets that others have."""
    build = os.path.abspath(build)
    if os.geteuid() or not shutil.which("setpriv") or not can_inject(build):
        return 77
    namespace = os.stat("/proc/self/ns/pid").st_ino
    with untouched(build) as process:
        is_refused(build, process.pid, "not even root may trace it", ["setpriv", "--bounding-set", "-sys_ptrace"])
        with bound(socket.SOCK_SEQPACKET, f"\0wallshim-{namespace}-{process.pid}"):
            is_refused(build, process.pid, "another process answers in its place")
        with bound(socket.SOCK_SEQPACKET, f"\0wallshim-attach-{namespace}-{process.pid}"):
            attach_fails(build, process.pid, "another wallshim attach is working on it; try again")
    with other_program(build, *NOBODY, f"{build}/tests/programs/attachable") as process, tempfile.NamedTemporaryFile() as locked:
        # Only root may open the file that lies over the memory.
        within = ["unshare", "--mount", "sh", "-c", f'mount --bind {locked.name} /proc/{process.pid}/mem && exec "$@"', "sh", *NOBODY]
        if not subprocess.run([*within, "true"], capture_output=True, check=False).returncode:
            attach_fails(build, process.pid, "its memory cannot be opened: Permission denied", within)
    return 0


def answer_to(pid, kind, descriptors):
    """Sends a request (struct ws_attach_message, wire/attach.h) to the shim. Returns the reason for which it refuses."""
    namespace = os.stat("/proc/self/ns/pid").st_ino
    # magic, version, kind, duration, token, overhead, text
    request, answer = struct.pack("=IHHQQQQ", 0x74415357, 1, kind, 0, 0, 0, 0) + b"\0", b""
    end = time.monotonic() + PATIENCE
    while not answer and time.monotonic() < end:  # the shim waits only a millisecond for another user's request
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client, contextlib.suppress(BrokenPipeError, ConnectionResetError):
            client.connect(f"\0wallshim-{namespace}-{pid}")
            socket.send_fds(client, [request], descriptors)
            answer = client.recv(8192)
    refused = 36
    check(struct.unpack_from("=IHH", answer)[2] == refused, answer)
    return answer[struct.calcsize("=IHHQQQQ"):].decode()


@contextlib.contextmanager
def held_up(pid, name):
    """Stops the thread of this name alone, as a driver that hangs would."""
    libc = ctypes.CDLL(None, use_errno=True)
    seize, interrupt, detach, all_threads = 0x4206, 0x4207, 17, 0x40000000
    thread = next(int(task) for task in os.listdir(f"/proc/{pid}/task")
                  if open(f"/proc/{pid}/task/{task}/comm", encoding="utf-8").read() == name + "\n")
    check(libc.ptrace(seize, thread, None, 0) == 0 and libc.ptrace(interrupt, thread, None, 0) == 0, "ptrace failed")
    os.waitpid(thread, all_threads)
    try:
        yield
    finally:
        check(libc.ptrace(detach, thread, None, 0) == 0, "ptrace failed")


def case_silent(build):
    """The shim's thread, which is to record, does not run."""
    with Server(build) as server:
        check(server.attach("--duration", "100ms").returncode == 0, "it cannot be attached to")
        with held_up(server.pid, "wallshim"):
            attach_fails(server.build, server.pid, "the shim's thread does not answer")
        check(server.attach("--duration", "100ms").returncode == 0, "it cannot be attached to after that")
        server.ends_well()


def case_asked(build):
    """What a sleeping shim refuses: other users, requests that it does not know, and a trace that is no file."""
    with Server(build) as server:
        build = server.build
        with open("/dev/null", "r+b", buffering=0) as null:
            for kind, why, descriptors in ((1, "the trace is no plain file", []), (77, "it does not know this request", []),
                                           (1, "the trace is no plain file", [null.fileno()])):
                check(why in answer_to(server.pid, kind, descriptors), why)
        if not os.geteuid():
            child = os.fork()
            if not child:
                status = 1
                with contextlib.suppress(Exception):
                    os.setresuid(65534, 65534, 65534)
                    status = "only its own user and root may ask" not in answer_to(server.pid, 3, [])
                os._exit(status)
            check(os.waitpid(child, 0)[1] == 0, "another user is not refused")
        os.kill(server.pid, signal.SIGSTOP)
        wait_for(lambda: open(f"/proc/{server.pid}/stat", encoding="utf-8").read().split(") ")[1][0] == "T", "the stop")
        is_refused(build, server.pid, f"it is stopped; kill -CONT {server.pid}")
        os.kill(server.pid, signal.SIGCONT)
        check(server.attach("--duration", "100ms").returncode == 0, "it cannot be attached to after that")
        attach = server.start_attach("--duration", "300ms")
        check("recording server" in attach.stderr.readline(), "it does not record")
        os.kill(server.pid, signal.SIGSTOP)
        check(f"is stopped: the recording cannot end before kill -CONT {server.pid}" in attach.stderr.readline(), "nothing is said")
        os.kill(server.pid, signal.SIGCONT)
        check(attach.wait(PATIENCE) == 0, "the recording does not end")
        server.ends_well()


# --- what the program itself makes impossible ---------------------------------------------------------------------


@injecting
def case_busy(build):
    """A program whose only thread never waits in a system call."""
    with untouched(build, "busy", may_attach=False) as process:
        told = subprocess.run([f"{build}/tools/wallshim", "doctor", str(process.pid)], capture_output=True, text=True, check=False)
        check(told.returncode == 0 and "none waits in a system call now" in told.stdout, told)
        attach_fails(build, process.pid, "none of its threads waited in a system call", lines=2)


@injecting
def case_within(build):
    """A program whose only thread is in the loader, whose lock a new thread would need."""
    with untouched(build, "within", f"{build}/tests/programs/libraries/libhindering.so", may_attach=False) as process:
        attach_fails(build, process.pid, "none of its threads was in a place where another thread can be made", lines=2)


def end_input(process):
    process.stdin.close()
    process.stdin = None  # else subprocess closes it once more


@injecting
def case_loads(build):
    """A thread holds the loader's lock, so the shim cannot be loaded. The next attach finds the first one's thread. Once
    the lock is free, that thread ends, and attach works."""
    with untouched(build, "loads", f"{build}/tests/programs/libraries/libhindering.so") as process:
        attach_fails(build, process.pid, "it does not answer")
        attach_fails(build, process.pid, "an earlier attach is not over")
        end_input(process)


@injecting
def case_ended(build):
    """The program is killed while it is attached to."""
    with other_program(build, f"{build}/tests/programs/attachable", "loads", f"{build}/tests/programs/libraries/libhindering.so") as process:
        timer = threading.Timer(1, process.kill)
        timer.start()
        attach_fails(build, process.pid, "the process has ended")
        timer.join()


@injecting
def case_vfork(build):
    """A thread that cannot be stopped: its child of vfork still has its memory. Nothing is patched."""
    with untouched(build, "vfork") as process:
        attach_fails(build, process.pid, "its threads could not be stopped in a harmless place in time")
        end_input(process)


@injecting
def case_limits(build):
    """A program that may have no more memory, threads or descriptors."""
    with untouched(build) as process:
        with open(f"/proc/{process.pid}/statm", encoding="ascii") as statm:
            used = int(statm.read().split()[0]) * resource.getpagesize()
        names = sorted(int(name) for name in os.listdir(f"/proc/{process.pid}/fd"))
        for which, limit, why in ((resource.RLIMIT_AS, used, "no memory can be mapped there: Cannot allocate memory"),
                                  (resource.RLIMIT_AS, used + (1 << 20), "no thread could be made there: Resource temporarily"),
                                  (resource.RLIMIT_NOFILE, names[-1] + 1, "it cannot make a file in memory: Too many open files")):
            before = resource.prlimit(process.pid, which)
            resource.prlimit(process.pid, which, (limit, before[1]))
            attach_fails(build, process.pid, why)
            resource.prlimit(process.pid, which, before)


@injecting
def case_libraries(build):
    """Libraries that are missing, or are not what they should be: ours, and the program's C library."""
    libraries = f"{build}/tests/programs/libraries"
    with untouched(build) as process, tempfile.TemporaryDirectory() as folder:
        os.mkdir(f"{folder}/directory")
        for name in ("junk.so", "libZydis.so.4.0"):
            with open(f"{folder}/{name}", "w", encoding="ascii") as file:
                file.write("junk")
        for given, why in (("directory", f"{folder}/directory cannot be copied there: Is a directory"),
                           ("junk.so", "its loader does not load the shim")):
            attach_fails(build, process.pid, why, WALLSHIM_LIBRARY=f"{folder}/{given}")
        attach_fails(build, process.pid, "libZydis.so.4.0 was not found", LD_LIBRARY_PATH=folder)
        done = subprocess.run([f"{build}/tests/programs/unfit", str(process.pid)], capture_output=True, text=True, check=False)
        check(done.returncode == 2 and done.stdout == "this processor's registers cannot be saved\n", done)
        done = subprocess.run([f"{build}/tools/wallshim", "attach", str(process.pid)], cwd=folder, capture_output=True, text=True,
                              check=False, env={**os.environ, "WALLSHIM_LIBRARY": "/no/such"})
        check(done.returncode == 2 and "/no/such (from WALLSHIM_LIBRARY): No such file" in done.stderr, done)
    with untouched(build, may_attach=False) as process:
        attach_fails(build, process.pid, "the functions could not be patched: Bad address",
                     WALLSHIM_LIBRARY=f"{libraries}/libhindering_outside.so")
    with untouched(build, "memory", f"{libraries}/libhindering_version.so", may_attach=False) as process:
        attach_fails(build, process.pid, "another version of wallshim was attached before")
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(f"{libraries}/libhindering_empty.so", f"{folder}/libc.so.9")
        with untouched(build, "load", f"{folder}/libc.so.9", may_attach=False) as process:
            attach_fails(build, process.pid, "its C library has no pthread_create")
        with open(f"{folder}/libc.so.junk", "wb") as file:
            file.truncate(64 << 20)
        with untouched(build, "map", file.name, may_attach=False) as process:
            attach_fails(build, process.pid, "its C library cannot be read")


cases.main(globals())
