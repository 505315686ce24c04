"""Tests clients that lie to wallshim-collector: none can crash it, write outside its folder, or keep others from it.

    collector_hostile.py BUILD CASE|--list
"""
import os
import random
import resource
import struct

import cases
from collector_runs import (DATA, GOODBYE, HELLO, PATIENCE, REFUSED, TAKEN, WELCOME, Client, Place, check, ended_well,
                            hello, message, wait_for)

COUNT = 2000


def still_serves(place):
    """Checks that the collector still takes the trace of a normal program."""
    before = len(place.traces())
    ended_well(place.program(COUNT, 20), COUNT)
    wait_for(lambda: len(place.traces()) == before + 1, "its trace")
    newest = max(place.traces(), key=os.path.getmtime)
    check(place.counts(newest)[0] == COUNT, f"{newest}: {place.counts(newest)}")
    check(not place.left_in_folder(), "it had to write a file")


def a_trace(place):
    """The bytes of a trace as a shim writes it."""
    ended_well(place.program(COUNT, 20), COUNT)
    with open(max(place.traces(), key=os.path.getmtime), "rb") as file:
        return file.read()


def files_of(place):
    return sorted(os.path.relpath(os.path.join(folder, name), place.folder)
                  for folder, _, names in os.walk(place.folder) for name in names)


def case_messages(build):
    chance = random.Random(1)
    wrong = [b"x", b"\0" * 16, bytes(64), message(HELLO), message(DATA, 0, b"x"), message(TAKEN), message(99),
             message(GOODBYE), message(DATA, 0, b"x", size=0), message(DATA, 0, b"x", size=0xffffffff),
             message(WELCOME, 0), message(REFUSED, 1), message(HELLO, version=2), message(HELLO, magic=1),
             message(DATA, 0, bytes(65536)), message(DATA, 0, bytes(90000)), hello()[:-1], hello() + b"x",
             *(chance.randbytes(chance.randrange(1, 70000)) for _ in range(100))]
    with Place(build) as place:
        place.start()
        for number, data in enumerate(wrong):
            with Client(place) as client:
                client.send(data)
                check(client.is_cut_off(), f"wrong message {number} was taken")
            with Client(place) as client:
                client.send(hello(stream=number))
                check(client.answer() == (WELCOME, 0), "a HELLO was not taken")
                client.send(data)
                if number in (4, 14):  # these begin a trace, but an invalid one
                    client.send(message(DATA, len(data) - 24, bytes(65536)))
                check(client.is_cut_off(), f"wrong message {number} was taken after HELLO")
        check(not place.traces(), place.traces())
        still_serves(place)
        # All these messages but one are refused: after HELLO, GOODBYE without a trace is valid.
        place.stop()
        check(place.manifest()["refused_clients"] == 2 * len(wrong) - 1, place.manifest())


def case_names(build):
    names = [b"../../evil.wst", b"/etc/evil.wst", b"..", b".hidden", b"", b"a/b/../c.wst", b"x" * 255, b"\xff\xfe\n.wst",
             b"manifest.json", b".manifest.json.new", b"%n%s.wst", b"-rf.wst", b"con\x1b[2J.wst"]
    with Place(build) as place:
        place.start()
        trace = a_trace(place)
        for number, name in enumerate(names):
            with Client(place) as client:
                client.send(hello(file=name, job=b"../" + name, stream=number + 1))
                check(client.answer() == (WELCOME, 0), f"{name} was refused")
                client.trace(trace)
                client.send(message(GOODBYE, len(trace)))
                while client.answer() is not None:
                    pass
        allowed = ("jobs/test/", "run/", "collector.err")
        outside = [name for name in files_of(place) if not name.startswith(allowed)]
        check(not outside, f"outside the folder: {outside}")
        check(len(place.traces()) == len(names) + 1, place.traces())
        wait_for(lambda: not os.path.exists(f"{place.job}/.manifest.more"), "the manifest")
        check(not [name for name in os.listdir(place.job) if name[0] == "." or not name.endswith((".wst", ".json"))],
              os.listdir(place.job))
        # The collector follows no symbolic link that has a trace's name.
        victim = f"{place.folder}/victim"
        for suffix in ("", "-1", "-2"):
            os.symlink(victim, f"{place.job}/caught{suffix}.wst")
        with Client(place) as client:
            client.send(hello(file=b"caught.wst", stream=99))
            client.answer()
            client.trace(trace)
            check(client.answer()[0] == TAKEN, "the trace was not taken under another name")
        check(not os.path.exists(victim) and os.path.exists(f"{place.job}/caught-3.wst"), os.listdir(place.job))
        place.stop()


def case_frames(build):
    chance = random.Random(2)
    with Place(build) as place:
        place.start()
        trace = a_trace(place)
        # One wrong bit, anywhere in the trace: the collector keeps what comes before the wrong frame (a block of rows), and
        # nothing after it.
        for number in range(60):
            at = chance.randrange(len(trace))
            wrong = bytearray(trace)
            wrong[at] ^= 1 << chance.randrange(8)
            with Client(place) as client:
                client.send(hello(file=b"wrong.wst" if number < 10 else b"more.wst", stream=1000 + number % 10))
                kind, have = client.answer()
                check(kind == WELCOME and have <= len(trace), "the file goes on")
                client.trace(bytes(wrong[have:]), have)
                if at >= have:
                    check(client.is_cut_off(), f"a wrong bit at {at} was taken")
        for path in place.traces():
            with open(path, "rb") as file:
                data = file.read()
            check(trace.startswith(data) or data.startswith(b"wallshim trace"), path)
            check("damage                    none" in place.wallshim("info", path) if len(data) > 64 else True, path)
        # Frames in another order, sent twice, or after the trace's end.
        first = 64 + 72 + struct.unpack_from("<I", trace, 64 + 28)[0]
        for number, wrong in enumerate([trace[:first] + trace[64:first], trace[:64] + trace[first:], trace + trace[64:first],
                                        trace + b"x", trace[:64] + trace]):
            with Client(place) as client:
                client.send(hello(file=b"order.wst", stream=2000 + number % 3))
                kind, have = client.answer()
                client.trace(wrong[have:] if have <= len(wrong) else b"x", have)
                check(client.is_cut_off(), f"wrong order {number} was taken")
        still_serves(place)
        place.stop()
        check(any(client["refused_bytes"] for client in place.manifest()["clients"]), "refused bytes are counted")


def case_sizes(build):
    """Many clients announce frames of the largest size and never send them. Others send more bytes and files than are
    allowed."""
    with Place(build) as place:
        place.start("--max-size", "64K")
        trace = a_trace(place)
        clients = [Client(place) for _ in range(40)]
        for number, client in enumerate(clients):
            client.send(hello(file=b"large.wst", stream=number))
            client.answer()
            client.send(message(DATA, 0, trace[:64]))
        usage = f"/proc/{place.collector.pid}/status"
        with open(usage, encoding="ascii") as file:
            peak = int(next(line.split()[1] for line in file if line.startswith("VmHWM")))
        check(peak < 200 << 10, f"{peak} kB for 40 clients that sent 64 bytes each")
        check(len(place.traces()) <= 18, f"{len(place.traces())} files of one process")
        for client in clients:
            client.socket.close()
        # Of a trace that is larger than allowed, the part that fits is kept.
        program = place.program(200000, 100, WALLSHIM_OUTPUT="over.wst")
        errors = ended_well(program, 200000)
        check("as large as the collector lets one be" in errors, errors)
        check(os.path.getsize(f"{place.job}/over.wst") <= 64 << 10, "larger than --max-size")
        place.wallshim("info", f"{place.job}/over.wst")
        place.stop()


def case_many(build):
    """500 connections that say nothing, or only HELLO, do not keep a program from the collector."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    with Place(build) as place:
        place.start()
        clients = [Client(place) for _ in range(500)]
        for number, client in enumerate(clients[::2]):
            client.send(hello(stream=number))
        still_serves(place)
        more = [Client(place) for _ in range(100)]
        still_serves(place)
        check(place.collector.poll() is None, "the collector has ended")
        # The collector ends silent connections after a while.
        silent = clients[1]
        silent.socket.settimeout(PATIENCE)
        check(silent.is_cut_off(), "a connection may say nothing for ever")
        for client in clients + more:
            client.socket.close()
        place.stop()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def case_identity(build):
    """A client cannot continue the file of another process."""
    with Place(build) as place:
        place.start()
        program = place.program(COUNT, 1500)
        wait_for(place.traces, "the trace")
        wait_for(lambda: os.path.exists(f"{place.job}/manifest.json") and place.manifest()["clients"], "the manifest")
        [other] = place.manifest()["clients"]
        stream, start = int(other["stream"], 16), other["start_time"]
        with Client(place) as client:
            client.send(hello(stream=stream, start=start, pid=other["pid"]))
            check(client.is_cut_off(), "the start time of another process was believed")
        with Client(place) as client:
            client.send(hello(stream=stream, pid=other["pid"]))
            check(client.answer() == (WELCOME, 0), "it is another process, with a trace of its own")
        with Client(place) as client:
            client.send(hello(boot=b"another boot"))
            check(client.is_cut_off(), "another boot was believed")
        ended_well(program, COUNT)
        place.stop()
        [client] = place.manifest()["clients"]
        check(client["ended"] == "goodbye", client)
        check(place.counts(place.traces()[0])[0] == COUNT, "the trace is whole")


def case_folder(build):
    """The socket's folder must be the user's alone; a second collector does not take the place of the first."""
    with Place(build) as place:
        os.mkdir(f"{place.folder}/run", 0o755)
        try:
            place.start()
        except AssertionError as error:
            check("others may use this folder" in str(error), error)
        else:
            raise AssertionError("a folder that others may enter was taken")
        os.chmod(f"{place.folder}/run", 0o700)
        place.start()
        first = place.collector
        try:
            place.listens = lambda: check(place.collector.poll() is None, place.words())
            place.start()
        except AssertionError as error:
            check("another collector listens there" in str(error) or "waited" in str(error), error)
        place.collector = first
        del place.listens
        still_serves(place)
        place.stop()


cases.main(globals())
