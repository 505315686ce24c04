"""Tests `wallshim attach` and `wallshim detach`.

    attach.py BUILD CASE|--list
"""
import os
import re
import signal
import subprocess
import time

import cases
from cases import PATIENCE, check, wait_for
from servers import Server, can_inject


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
