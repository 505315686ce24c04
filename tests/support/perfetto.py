"""Perfetto traces as Kineto (libkineto/src/PerfettoTraceBuilder.cpp) and PyTorch
(torch/csrc/profiler/cupti/monitor_pftrace.cpp) write them, made from the events of Kineto's JSON. Field numbers
are from Perfetto's protos."""
import decimal
import json
import struct

BEGIN, END, INSTANT = 1, 2, 3
CLEARED, NEEDS = 1, 2


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7f:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def field(number, value):
    """Encodes one field of a message. The value is a number, a text, or another message (bytes)."""
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def message(*pairs):
    return b"".join(field(number, value) for number, value in pairs if value is not None)


def packet(*pairs):
    return field(1, message(*pairs))


def annotation(name, value):
    pairs = [] if name is None else [(10, name)]
    if isinstance(value, bool):
        pairs.append((2, int(value)))
    elif isinstance(value, int):
        pairs.append((4, value))
    elif isinstance(value, dict):
        pairs += [(11, annotation(key, part)) for key, part in value.items()]
    elif isinstance(value, list):
        pairs += [(12, annotation(None, part)) for part in value]
    else:
        pairs.append((5 if isinstance(value, float) else 6, value))
    return message(*pairs)


def ns(microseconds):
    return int(decimal.Decimal(str(microseconds)) * 1000)


def slices(events):
    """The events that last for some time, and the instants of memory events, each with its begin and end."""
    for one in events:
        if one.get("ph") == "X" or one.get("cat") == "cpu_instant_event":
            begin = ns(one["ts"])
            yield one, begin, begin + ns(one.get("dur", 0))


def number(value):
    return value if isinstance(value, int) else sum(map(ord, str(value))) % 1000 + 100000


def thread_names(events):
    return {(one.get("pid"), one.get("tid")): one["args"]["name"] for one in events if one.get("name") == "thread_name"}


def of_kineto(events, metadata=None, devices=None):
    """Kineto's form: each slice is on a track of its own, and all its arguments are in one annotation."""
    out, tracks, uuid, names = [packet((10, 7), (60, message((1, 1), (2, "Kineto Trace"), (3, message((1, 0), (6, "Kineto Trace"))))))], {}, 1, thread_names(events)
    for key, value in (metadata or {}).items():
        out.append(packet((10, 7), (11, message((9, INSTANT), (23, "trace_metadata"), (11, 1), (4, annotation(key, value))))))
    if devices:
        text = ", ".join(json.dumps(device) for device in devices)
        out.append(packet((10, 7), (11, message((9, INSTANT), (23, "device_properties"), (11, 1), (4, annotation("properties", text))))))
    for one, begin, end in slices(events):
        if one.get("cat") == "Trace":
            out.append(packet((10, 7), (8, begin), (11, message((9, BEGIN), (23, one["name"]), (11, 1)))))
            out.append(packet((10, 7), (8, end), (11, message((9, END), (11, 1)))))
            continue
        place = (one.get("pid"), one.get("tid"))
        if place not in tracks:
            uuid += 1
            tracks[place] = uuid
            thread = message((1, number(place[0])), (2, number(place[1])), (5, names.get(place, "PLACE_HOLDER")))
            out.append(packet((10, 7), (60, message((1, uuid), (5, 1), (2, "thread"), (4, thread)))))
        uuid += 1
        arguments = one.get("args", {})
        out.append(packet((60, message((1, uuid), (5, tracks[place]), (2, "thread")))))
        annotations = [(4, annotation("metadata", json.dumps(arguments, indent=1)[1:-1]))] if arguments else []
        if "correlation" in arguments:
            annotations.append((4, annotation("correlation_id", arguments["correlation"])))
        out.append(packet((10, 7), (8, begin), (11, message((9, BEGIN), (23, one["name"]), (11, uuid), *annotations))))
        out.append(packet((10, 7), (8, end), (11, message((9, END), (11, uuid)))))
    return b"".join(out)


def of_pytorch(events):
    """PyTorch's form: each name is written once, each argument is an annotation, and all begins of a kind of event
    come before all ends."""
    out, tracks, groups, iids, names = [], {}, {}, {}, thread_names(events)
    for one, begin, end in slices(events):
        if one.get("cat") == "Trace":
            continue
        groups.setdefault(one.get("cat"), []).append((one, begin, end))
        iids.setdefault(one["name"], len(iids) + 1)
        place = (number(one.get("pid")), number(one.get("tid")))
        if place not in tracks:
            tracks[place] = len(tracks) + 1000
            thread = message((1, place[0]), (2, place[1]), (5, names.get((one.get("pid"), one.get("tid")), "thread")))
            out.append(packet((60, message((1, tracks[place]), (4, thread)))))
    table = message(*((2, message((1, iid), (2, name))) for name, iid in iids.items()))
    out.append(packet((10, 1), (13, CLEARED), (12, table)))
    for group in groups.values():
        for one, begin, _ in group:
            track = tracks[number(one.get("pid")), number(one.get("tid"))]
            annotations = [(4, annotation(key, value)) for key, value in one.get("args", {}).items()]
            out.append(packet((8, begin), (10, 1), (13, NEEDS), (11, message((9, BEGIN), (11, track), (10, iids[one["name"]]), *annotations))))
        for one, _, end in group:
            track = tracks[number(one.get("pid")), number(one.get("tid"))]
            out.append(packet((8, end), (10, 1), (11, message((9, END), (11, track)))))
    return b"".join(out)
