"""Tests programs that stream their traces to wallshim-collector, also while the collector is killed, stopped or absent.

    collector.py BUILD CASE|--list
"""
import fcntl
import os
import signal
import socket
import subprocess
import time

import cases
from collector_runs import ROOT, WELCOME, Client, Place, check, ended_well, hello, message, wait_for

COUNT = 20000


def case_one(build):
    with Place(build) as place:
        place.start()
        check(os.stat(place.socket).st_mode & 0o777 == 0o600, "the socket is open to others")
        check(os.stat(os.path.dirname(place.socket)).st_mode & 0o777 == 0o700, "its folder is open to others")
        errors = ended_well(place.program(COUNT, 200), COUNT)
        check(not errors, errors)
        place.stop()
        [trace] = place.traces()
        check(os.stat(trace).st_mode & 0o777 == 0o600, "the trace is open to others")
        operations, _, unwritten = place.counts(trace)
        check((operations, unwritten) == (COUNT, 0), f"{operations} operations, {unwritten} lost")
        check(place.end_of(trace) == "by exit", place.end_of(trace))
        [client] = place.manifest()["clients"]
        check(client["ended"] == "goodbye" and client["bytes"] == os.path.getsize(trace), client)
        check(client["file"] == os.path.basename(trace) and client["refused_bytes"] == 0, client)
        check("could not be written" not in place.wallshim("report", "--full", place.job), "the report tells of losses")
        check(not place.left_in_folder(), "the program wrote a file as well")


def case_eight(build):
    with Place(build) as place:
        place.start()
        programs = [place.program(COUNT, 500, RANK=str(rank), WALLSHIM_OUTPUT="same.wst") for rank in range(8)]
        for program in programs:
            ended_well(program, COUNT)
        # The trace of a killed program has all that the program recorded.
        killed = place.program(COUNT, 100, "killed", WALLSHIM_OUTPUT="killed.wst")
        killed.communicate(timeout=60)
        check(killed.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL), killed.returncode)
        place.stop()
        traces = place.traces()
        names = sorted(os.path.basename(trace) for trace in traces)
        check(names == sorted(["killed.wst", "same.wst", *(f"same-{i}.wst" for i in range(1, 8))]), names)
        for trace in traces:
            check(place.counts(trace)[0] == COUNT, f"{trace}: {place.counts(trace)}")
        clients = place.manifest()["clients"]
        ended = {client["file"]: client["ended"] for client in clients}
        how = ended.pop("killed.wst")
        check(how.startswith("killed; ") and how.endswith("rows were saved"), how)
        check(set(ended.values()) == {"goodbye"}, ended)
        check(len({client["pid"] for client in clients}) == 9, "each has its own process id")
        ranks = sorted(client["rank"] for client in clients if client["file"] != "killed.wst")
        check(ranks == list("01234567"), ranks)


def case_restarted(build):
    """A collector that was killed and started again continues the trace in the same file, and nothing is lost."""
    with Place(build) as place:
        place.start()
        program = place.program(5 * COUNT, 5000)
        for _ in range(2):
            before = os.path.getsize(place.traces()[0]) if place.traces() else 0
            wait_for(lambda seen=before: place.traces() and os.path.getsize(place.traces()[0]) > seen, "the trace")
            place.kill()
            time.sleep(0.3)
            place.start()
        errors = ended_well(program, 5 * COUNT)
        check("is gone" in errors and "is back" in errors, errors)
        place.stop()
        [trace] = place.traces()
        operations, _, unwritten = place.counts(trace)
        check((operations, unwritten) == (5 * COUNT, 0), f"{operations} operations, {unwritten} lost")
        check("damage                    none" in place.wallshim("info", trace), place.wallshim("info", trace))
        [client] = place.manifest()["clients"]
        check(client["ended"] == "goodbye" and client["bytes"] == os.path.getsize(trace), client)


def case_away(build):
    """While no collector runs, records that do not fit into the program's buffer are lost and counted."""
    with Place(build) as place:
        place.start()
        reference = place.program(5 * COUNT, 5000)
        ended_well(reference, 5 * COUNT)
        operations, calls, unwritten = place.counts(place.traces()[0])
        check(operations == 5 * COUNT and not unwritten, "the reference is whole")
        os.remove(place.traces()[0])
        program = place.program(5 * COUNT, 5000, WALLSHIM_COLLECTOR_BUFFER="64K")
        wait_for(place.traces, "the trace")
        place.kill()
        time.sleep(3)
        place.start()
        errors = ended_well(program, 5 * COUNT)
        place.stop()
        [trace] = place.traces()
        got = place.counts(trace)
        check(got[2] > 0, f"nothing was lost, so this shows nothing: {got}, {errors}")
        check(sum(got) == operations + calls, f"{got}: not {operations + calls} in all")
        check("damage                    none" in place.wallshim("info", trace), place.wallshim("info", trace))
        report = place.wallshim("report", "--full", place.job)
        check("could not be written" in " ".join(report.split()), "the report must say so: " + report)


def case_stopped(build):
    """A stopped collector does not delay the program, not even at the program's end."""
    with Place(build) as place:
        began = time.monotonic()
        ended_well(place.program(COUNT, 1000, collected=False), COUNT)
        alone = time.monotonic() - began
        place.start()
        began = time.monotonic()
        program = place.program(COUNT, 1000, WALLSHIM_COLLECTOR_BUFFER="64K")
        wait_for(place.traces, "the trace")
        place.signal(signal.SIGSTOP)
        ended_well(program, COUNT)
        took = time.monotonic() - began
        check(took < 3 * alone + 10, f"{took:.1f} s beside a stopped collector, {alone:.1f} s without a profiler")
        place.signal(signal.SIGCONT)
        place.stop()
        check("op" in place.wallshim("info", place.traces()[0]), "the trace opens")
        # If the collector is stopped before the program starts, the trace goes to a file, and is complete.
        place.start()
        place.signal(signal.SIGSTOP)
        errors = ended_well(place.program(COUNT, 200), COUNT)
        check("does not answer; the trace goes to" in errors, errors)
        place.signal(signal.SIGCONT)
        [name] = place.left_in_folder()
        check(place.counts(f"{place.folder}/{name}")[0] == COUNT, "the file is whole")
        place.stop()
        check(len(place.traces()) == 1, place.traces())


def case_refused(build):
    """If the collector refuses a trace before it has taken any of it, the trace goes to a file. If it refuses the rest
    of a trace later, the program prints that once."""
    with Place(build) as place:
        place.start("--max-size", "1")
        errors = ended_well(place.program(COUNT, 200), COUNT)
        check(errors.count("\n") == 1 and "refuses this trace: the trace is as large" in errors, errors)
        [name] = place.left_in_folder()
        check(place.counts(f"{place.folder}/{name}")[0] == COUNT, "the file is whole")
        place.stop()
        os.remove(f"{place.folder}/{name}")
        for trace in place.traces():
            os.remove(trace)
        place.start("--max-size", "40K")
        errors = ended_well(place.program(5 * COUNT, 5000), 5 * COUNT)
        check("takes no more of this trace: the trace is as large" in errors, errors)
        check("lacks the last" in errors and errors.count("\n") <= 2 and "is gone" not in errors, errors)
        check(not place.left_in_folder(), place.left_in_folder())
        place.stop()
        [trace] = place.traces()
        check(place.counts(trace)[0] < 5 * COUNT, "part of the trace is there")


def case_gone(build):
    """If the program ends while the collector is gone, it prints how much of the trace is lost, and the socket's
    name."""
    with Place(build) as place:
        place.start()
        program = place.program(5 * COUNT, 5000)
        wait_for(place.traces, "the trace")
        time.sleep(0.3)
        place.kill()
        errors = ended_well(program, 5 * COUNT)
        check(f"{place.socket} has not taken the last" in errors and "timed out" not in errors, errors)
        check(not place.left_in_folder() and len(place.traces()) == 1, place.left_in_folder())


def case_late(build):
    """A program gives up waiting for a collector that has answered WELCOME, and writes a file. If the collector then
    reads the messages in its socket, it must not make a second trace of them. The live memory (records that are not in
    the trace yet, in memory that the program shares with the collector) tells it that the program wrote a file."""
    with Place(build) as place, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as slow:
        os.mkdir(os.path.dirname(place.socket), 0o700)
        slow.bind(place.socket)
        slow.listen(1)
        program = place.program(COUNT, 20)
        connection = slow.accept()[0]
        _, [memory], _, _ = socket.recv_fds(connection, 65536, 4)
        connection.send(message(WELCOME))
        errors = ended_well(program, COUNT)
        check("does not answer; the trace goes to" in errors, errors)
        [name] = place.left_in_folder()
        check(place.counts(f"{place.folder}/{name}")[0] == COUNT, "the file is whole")
        sent = []
        while not sent or sent[-1]:
            sent.append(connection.recv(1 << 20))
        check(len(sent) > 2, "no trace was in the socket")
        connection.close()
        os.unlink(place.socket)
        place.start()
        for number, descriptors in enumerate(([memory], [])):
            with Client(place) as client:
                socket.send_fds(client.socket, [hello(stream=number)], descriptors)
                for data in sent[:-1]:
                    client.send(data)
        place.stop()
        [client] = place.manifest()["clients"]  # this one came without live memory, so the collector cannot know of the file
        check(len(place.traces()) == 1 and client["ended"] == "gone without goodbye", place.manifest())


def case_left(build):
    """As in case_late, but the connection ends before the program has written its file. When the collector looks at the
    live memory later, it must see that its own trace is a duplicate, and remove it."""
    ended, own_file = 56, 64  # offsets in struct ws_live (src/record/live.h)
    with Place(build) as place:
        place.start()
        wanted = f"{place.folder}/given.trace"
        ended_well(place.program(COUNT, 20, WALLSHIM_COLLECTOR="", WALLSHIM_OUTPUT=wanted), COUNT)
        with open(wanted, "rb") as file:
            trace = file.read()
        memory = live_memory(place)
        with Client(place) as client:
            socket.send_fds(client.socket, [hello()], [memory])
            client.trace(trace)
            wait_for(place.traces, "the part of the trace")
        time.sleep(0.3)
        for offset in (ended, own_file):
            os.pwrite(memory, (1).to_bytes(4, "little"), offset)
        wait_for(lambda: not place.traces(), "the duplicate to go")
        place.stop()
        check(not place.manifest()["clients"], place.manifest())


def live_memory(place):
    """Live memory of a program that streams to a collector, in a file of the test's own."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as other:
        other.bind(f"{place.folder}/other")
        other.listen(1)
        program = place.program(COUNT, 1000, WALLSHIM_COLLECTOR=f"unix:{place.folder}/other")
        connection = other.accept()[0]
        _, [theirs], _, _ = socket.recv_fds(connection, 65536, 4)
        connection.send(message(WELCOME))
        connection.recv(1 << 20)
        memory = os.memfd_create("live", os.MFD_ALLOW_SEALING)
        os.ftruncate(memory, os.fstat(theirs).st_size)
        os.pwrite(memory, os.pread(theirs, 1 << 20, 0), 0)
        fcntl.fcntl(memory, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
        connection.close()
        program.kill()
        program.communicate()
    return memory


def case_nobody(build):
    with Place(build) as place:
        errors = ended_well(place.program(COUNT, 100), COUNT)
        check(errors.count("\n") == 1 and "no collector at" in errors, errors)
        [name] = place.left_in_folder()
        check(place.counts(f"{place.folder}/{name}")[0] == COUNT, "the file is whole")


def case_job(build):
    """`record --job` needs no further setup. Under a sanitizer a preloaded runtime would have to come first."""
    with Place(build) as place:
        environment = {**os.environ, "WALLSHIM_LIBRARY": f"{place.build}/shim/libwallshim.so",
                       "ASAN_OPTIONS": "verify_asan_link_order=0"}
        script = f'for rank in 0 1 2 3 4 5 6 7; do RANK=$rank "{place.build}/tests/programs/streamed" 2000 100 & done; wait'
        for run in (1, 2):
            done = subprocess.run(
                [f"{ROOT}/tests/run_preloaded.sh", "--no-shim", place.build, f"{place.build}/tools/wallshim", "record",
                 "--job", "runs/one", "--", "sh", "-c", script], cwd=place.folder, env=environment, capture_output=True,
                text=True, check=False, timeout=120)
            check(done.returncode == 0 and done.stdout == "launched 2000\n" * 8, done)
            check("wrote 8 traces; next: wallshim report" in done.stderr, done.stderr)
            check(len([name for name in os.listdir(f"{place.folder}/runs/one") if name.endswith(".wst")]) == 8 * run,
                  "eight traces a run")
        place.job = f"{place.folder}/runs/one"
        check([client["ended"] for client in place.manifest()["clients"]] == ["goodbye"] * 16, place.manifest())
        check(not place.left_in_folder(), "a trace went to a file")
        report = subprocess.run([f"{place.build}/tools/wallshim", "report", place.job], capture_output=True, text=True, check=True)
        check("*.json" not in report.stderr, "the manifest is taken for a trace: " + report.stderr)


cases.main(globals())
