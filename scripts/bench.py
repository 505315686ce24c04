"""Runs meson's benchmarks and tabulates the figures that they print. Each figure is a line of JSON with name, value
and unit, and perhaps budget and floor. A figure whose unit is a rate (…/s) should reach its budget; any other figure
should not exceed it.
"""
import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys


def find_benchmarks(build):
    listing = subprocess.run(["meson", "introspect", "--benchmarks", build], check=True, capture_output=True, text=True)
    return json.loads(listing.stdout)


def run(benchmark, build):
    """The rows that one run prints, or None if it failed. A benchmark that cannot run here exits with status 77 and
    gives no rows."""
    environment = {**os.environ, **benchmark["env"]}
    result = subprocess.run(benchmark["cmd"], env=environment, cwd=benchmark["workdir"] or build,
                            stdout=subprocess.PIPE, text=True, timeout=benchmark["timeout"] or None, check=False)
    if result.returncode == 77:
        return []
    if result.returncode:
        print(f"{benchmark['name']}: exit status {result.returncode}", file=sys.stderr)
        return None
    rows = [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]
    if any({"name", "value", "unit"} - row.keys() for row in rows):
        print(f"{benchmark['name']}: a line without name, value or unit", file=sys.stderr)
        return None
    return rows


def within(row):
    if row.get("budget") is None:
        return None
    return row["value"] >= row["budget"] if row["unit"].endswith("/s") else row["value"] <= row["budget"]


def figure(value):
    if value is None:
        return ""
    if value and abs(value) < 100:
        return f"{value:.3g}"
    return f"{value:,.0f}"


def print_table(rows):
    heading = ("figure", "value", "unit", "floor", "× floor", "budget", "")
    table = [heading]
    for row in rows:
        floor = row.get("floor")
        verdict = {None: "", True: "ok", False: "OVER BUDGET"}[within(row)]
        table.append((row["name"], figure(row["value"]), row["unit"], figure(floor),
                      figure(row["value"] / floor) if floor else "", figure(row.get("budget")), verdict))
    widths = [max(len(line[column]) for line in table) for column in range(len(heading))]
    left = {0, 2, 6}
    for line in table:
        cells = [cell.ljust(width) if column in left else cell.rjust(width)
                 for column, (cell, width) in enumerate(zip(line, widths))]
        print("  ".join(cells).rstrip())


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        models = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return {"cpu": models[0] if models else platform.machine(), "cores": os.cpu_count(), "kernel": platform.release()}


def save(root, name, rows):
    folder = os.path.join(root, "tests", "bench", "results")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"{name}.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"date": datetime.date.today().isoformat(), "machine": machine(), "figures": rows}, file, indent=1)
        file.write("\n")
    print(f"written to {path}")


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench")
    parser.add_argument("root", help=argparse.SUPPRESS)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--save", metavar="NAME")
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("names", nargs="*", metavar="BENCHMARK")
    options = parser.parse_intermixed_args()  # names may follow switches
    build = os.path.join(options.root, "build")
    if options.long:
        os.environ["BENCH_LONG"] = "1"

    known = find_benchmarks(build)
    unknown = set(options.names) - {benchmark["name"] for benchmark in known}
    if unknown:
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    rows, values, failed = {}, {}, False
    for benchmark in known:
        if options.names and benchmark["name"] not in options.names:
            continue
        for _ in range(options.repeat):
            printed = run(benchmark, build)
            if printed is None:
                failed = True
                break
            if not printed:
                print(f"{benchmark['name']}: cannot run here")
                break
            for row in printed:
                rows[row["name"]] = row
                values.setdefault(row["name"], []).append(row)
    for name, printed in values.items():
        for key in ("value", "floor"):
            found = [row[key] for row in printed if row.get(key) is not None]
            if found:
                rows[name][key] = statistics.median(found)
    if not rows:
        print("no benchmark ran")
        return 1
    print_table(rows.values())
    if options.save:
        save(options.root, options.save, list(rows.values()))
    broken = any(within(row) is False for row in rows.values())
    return 1 if failed or (options.strict and broken) else 0


if __name__ == "__main__":
    sys.exit(main())
