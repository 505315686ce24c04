#!/usr/bin/env python3
"""Checks the table "Folders, and what each may use" of ARCHITECTURE.md: no file may include a header of a folder that
the file's own folder may not use.

    scripts/rooms.py [--list]       the build runs it; --list prints each folder's files, lines and what it may use

Exits with status 1 if there is such an include, or a folder that the table lacks. Prints a line for each."""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TABLE = "ARCHITECTURE.md"
ROW = re.compile(r"\| `([\w/]+)`[^|]*\|[^|]*\| ([^|]*) \|$")
INCLUDE = re.compile(r'\s*#\s*include "([^"]+)"')
ANYTHING, NOTHING = "anything", "nothing"


def rooms():
    """{folder: the folders that it may use, or None if it may use any}, from the table."""
    allowed, folders = {}, {}
    with open(os.path.join(ROOT, TABLE), encoding="utf-8") as text:
        for row in filter(None, map(ROW.match, text)):
            words = {word.strip() for word in row[2].split(",")} - {NOTHING}
            unknown = words - {ANYTHING} - set(folders)
            if unknown:
                sys.exit(f"{TABLE}: {row[1]} may use {', '.join(sorted(unknown))}: no folder above it")
            uses = {folders[word] for word in words - {ANYTHING}}
            allowed[row[1]] = None if ANYTHING in words else uses.union(*(allowed[folder] for folder in uses))
            folders[row[1].removeprefix("src/")] = row[1]
    return allowed


def room_of(path, allowed):
    """The folder of the table that a file belongs to: the deepest one above it."""
    folder = os.path.dirname(path)
    while folder and folder not in allowed:
        folder = os.path.dirname(folder)
    return folder


def sources(folder):
    for directory, folders, files in os.walk(os.path.join(ROOT, folder)):
        folders.sort()
        for name in sorted(files):
            if name.endswith((".c", ".h", ".S", ".map")):
                yield os.path.relpath(os.path.join(directory, name), ROOT)


def target_of(path, included):
    """The file of the project that an include names, or None."""
    for base in (os.path.dirname(path), "src", "", "tools"):
        candidate = os.path.normpath(os.path.join(base, included))
        if os.path.exists(os.path.join(ROOT, candidate)):
            return candidate
    return None


def lines_of(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as text:
        return text.readlines()


def wrong_includes(allowed):
    for top in ("src", "shim", "collector", "tools"):
        for path in sources(top):
            room = room_of(path, allowed)
            if not room:
                yield f"{path}: its folder is not in the table"
                continue
            for number, line in enumerate(lines_of(path), 1):
                found = INCLUDE.match(line)
                target = target_of(path, found[1]) if found else None
                other = room_of(target, allowed) if target else room
                if other != room and allowed[room] is not None and other not in allowed[room]:
                    yield f"{path}:{number}: {room} may not use {other or target}"


def main():
    allowed = rooms()
    if sys.argv[1:] == ["--list"]:
        for room, others in allowed.items():
            inside = [path for path in sources(room) if room_of(path, allowed) == room]
            print(f"{room:24} {len(inside):3} files {sum(len(lines_of(path)) for path in inside):6} lines  "
                  f"{ANYTHING if others is None else ', '.join(sorted(others)) or 'nothing'}")
        return 0
    wrong = list(wrong_includes(allowed))
    for line in wrong:
        print(line, file=sys.stderr)
    if wrong:
        print(f"{TABLE} says what each folder may use.", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
