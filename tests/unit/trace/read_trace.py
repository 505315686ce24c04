"""Reads a trace by FORMAT.md alone, and compares its rows with the rows of the C reader.

    read_trace.py FORMAT.md PROGRAM

PROGRAM writes a trace without compression to the file it is given and prints its rows. This script takes the tables
of families from FORMAT.md itself, and its code follows FORMAT.md's text. If the script does not understand the trace,
FORMAT.md is wrong.
"""
import re
import struct
import subprocess
import sys
import tempfile

MASK = (1 << 64) - 1
PLAIN, DELTA, LAST, LENGTH, GAP, SLOTS, TEXT = range(7)


class Bytes:
    def __init__(self, data):
        self.data = data
        self.at = 0

    def take(self, size):
        taken = self.data[self.at:self.at + size]
        assert len(taken) == size, "the bytes end too early"
        self.at += size
        return taken

    def u8(self):
        return self.take(1)[0]

    def u32(self):
        return struct.unpack("<I", self.take(4))[0]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.u8()
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    def zigzag(self):
        return unzigzag(self.varint())


def unzigzag(number):
    return -(number + 1 >> 1) if number & 1 else number >> 1


def packed_sequence(head, planes, count):
    width = head.u8()
    exceptions = {}
    at = 0
    for _ in range(head.varint()):
        at += head.varint()
        exceptions[at] = head.varint()
        at += 1
    parts = [planes.take(count) for _ in range(width)]
    return [exceptions.get(i, sum(part[i] << (8 * k) for k, part in enumerate(parts))) for i in range(count)]


def read_slots(head, planes, count):
    """Returns the index of each row's value among the distinct values, and the distinct values."""
    distinct_count = head.varint()
    codes = packed_sequence(head, planes, count) if distinct_count > 1 else None
    value, distinct = 0, []
    for difference in packed_sequence(head, planes, distinct_count):
        value = (value + unzigzag(difference)) & MASK
        distinct.append(value)
    if codes is None:
        return [0] * count, distinct
    slots, table, before, two_before, seen = [], [0] * 4096, 0, 0, 0
    for code in codes:
        place = (before * 0x9e3779b1 & 0xffffffff ^ two_before * 0x85ebca77 & 0xffffffff) >> 20
        slot = seen + 1 - code if code else table[place]
        seen += slot == seen
        slots.append(slot)
        table[place] = slot
        before, two_before = slot, before
    return slots, distinct


def with_remembered(residuals, keys):
    memory, before, values = {}, 0, []
    for residual, key in zip(residuals, keys):
        before = (memory.get(key, before) + residual) & MASK
        memory[key] = before
        values.append(before)
    return values


class Frame:
    def __init__(self, payload, rows):
        self.rows = rows
        self.values, self.slots, self.lengths = {}, {}, {}
        everything = Bytes(payload)
        self.head = Bytes(everything.take(everything.u32()))
        self.planes = Bytes(everything.take(len(payload) - everything.at))
        for _ in range(self.head.u8()):
            self.read_column()
        for column, (base, lengths) in self.lengths.items():
            self.values[column] = [start + length for start, length in zip(self.values[base], lengths)]

    def read_column(self):
        column, coding, base, key, group = self.head.take(5)
        sizes = self.head.u32(), self.head.u32()
        head, planes = Bytes(self.head.take(sizes[0])), Bytes(self.planes.take(sizes[1]))
        if coding == TEXT:
            lengths = packed_sequence(head, planes, self.rows)
            self.values[column] = [planes.take(length) for length in lengths]
        elif coding == SLOTS:
            self.slots[column], distinct = read_slots(head, planes, self.rows)
            self.values[column] = [distinct[slot] for slot in self.slots[column]]
        else:
            groups, start = self.read_groups(head, planes, group) if coding == GAP else (None, 0)
            numbers = self.read_numbers(head, planes, coding, key)
            if coding == LENGTH:
                self.lengths[column] = base, numbers
            elif coding == GAP:
                self.join_gaps(column, base, numbers, groups, start)
            else:
                self.values[column] = numbers

    def read_groups(self, head, planes, column):
        listed, start, slots = head.u8(), head.zigzag(), self.slots[column]
        if not listed:
            return slots, start
        group_of = packed_sequence(head, planes, max(slots) + 1)
        return [group_of[slot] for slot in slots], start

    def read_numbers(self, head, planes, coding, key):
        bias, shift = head.zigzag(), head.u8()
        residuals = [bias + (unzigzag(number) << shift) for number in packed_sequence(head, planes, self.rows)]
        if coding == PLAIN:
            return residuals
        return with_remembered(residuals, [0] * self.rows if coding == DELTA else self.slots[key])

    def join_gaps(self, column, ends_column, gaps, groups, start):
        _, lengths = self.lengths.pop(ends_column)
        ends, self.values[column], self.values[ends_column] = {}, [], []
        for gap, length, group in zip(gaps, lengths, groups):
            begin = ends.get(group, start) + gap
            ends[group] = begin + length
            self.values[column].append(begin)
            self.values[ends_column].append(ends[group])


def shown(value, kind):
    if kind == "text":
        return value.hex()
    bits = int(kind[1:])
    value &= (1 << bits) - 1
    return str(value - (1 << bits) if kind[0] == "i" and value >> (bits - 1) else value)


def families_of(document):
    sections = re.findall(r"^### (\d+) `(\w+)`\n(.*?)(?=^### |\Z)", document, re.S | re.M)
    return {int(number): (name, re.findall(r"^\| `\w+` \| (\w+) \|", text, re.M)) for number, name, text in sections}


def read_trace(data, families):
    assert data[:16] == b"wallshim trace\n\0"
    at, lines, sequence = 64, [], 0
    while data[at:at + 4] == b"WSfr":
        family, _, flags, _, number, _, rows, stored, _ = struct.unpack_from("<HBBIIQIII", data, at + 4)
        assert number == sequence and not flags & 1
        sequence += 1
        if family in families and not flags & 2:
            name, kinds = families[family]
            frame = Frame(data[at + 72:at + 72 + stored], rows)
            for row in range(rows):
                values = [shown(frame.values[column][row], kind) for column, kind in enumerate(kinds)]
                lines.append(" ".join([name] + values))
        at += 72 + stored
    assert data[at:at + 8] == b"WSendtrc" and len(data) == at + 32
    return lines


def main():
    with open(sys.argv[1], encoding="utf-8") as document:
        families = families_of(document.read())
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/plain.wst"
        expected = subprocess.run([sys.argv[2], path], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
        with open(path, "rb") as trace:
            lines = read_trace(trace.read(), families)
    for line, (got, wanted) in enumerate(zip(lines, expected)):
        if got != wanted:
            sys.exit(f"row {line}: FORMAT.md gives\n    {got}\nthe reader\n    {wanted}")
    if len(lines) != len(expected) or not lines:
        sys.exit(f"{len(lines)} rows by FORMAT.md, {len(expected)} by the reader")
    print(f"{len(lines)} rows agree")


if __name__ == "__main__":
    main()
