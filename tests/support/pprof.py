"""Decodes profiles of pprof (proto/profile.proto in github.com/google/pprof), as far as wallshim writes them."""
import gzip


def varint(data, at):
    value, shift = 0, 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data):
    """The fields of a message as [(number of the field, value)]. A value is a number or bytes."""
    at, found = 0, []
    while at < len(data):
        tag, at = varint(data, at)
        value, at = varint(data, at)
        assert tag & 7 in (0, 2), tag
        if tag & 7 == 2:
            value, at = data[at:at + value], at + value
            assert at <= len(data)
        found.append((tag >> 3, value))
    return found


def all_of(message, number):
    return [value for found, value in message if found == number]


def one(message, number):
    values = all_of(message, number)
    assert len(values) <= 1, message
    return values[0] if values else 0


def read(path):
    """Returns the list of value types, and a dictionary from stacks to their values. A stack has its outermost frame first,
    and a frame is (function, file, line)."""
    with gzip.open(path) as file:
        profile = fields(file.read())
    strings = [value.decode() for value in all_of(profile, 6)]
    assert strings[0] == "", strings[0]
    types = [(strings[one(fields(t), 1)], strings[one(fields(t), 2)]) for t in all_of(profile, 1)]
    functions, locations, stacks = {}, {}, {}
    for function in map(fields, all_of(profile, 5)):
        functions[one(function, 1)] = (strings[one(function, 2)], strings[one(function, 4)])
    for location in map(fields, all_of(profile, 4)):
        line = fields(one(location, 4))
        locations[one(location, 1)] = (*functions[one(line, 1)], one(line, 2))
    assert 0 not in functions and 0 not in locations, "an id must not be 0"
    for sample in map(fields, all_of(profile, 2)):
        stack = tuple(locations[location] for location in reversed(all_of(sample, 1)))
        values = [value - (1 << 64 if value >> 63 else 0) for value in all_of(sample, 2)]
        assert len(values) == len(types), (values, types)
        stacks[stack] = [a + b for a, b in zip(stacks.get(stack, [0] * len(types)), values)]
    return types, stacks
