"""CPB1, the canonical encoding, from the rules in schema.json."""
import re

SCHEMA = {}  # filled by check.py


class Refused(Exception):
    """The code that bytes are refused with."""


def ensure(holds, code):
    if not holds:
        raise Refused(code)


def read_varint(data, at):
    value = 0
    for count in range(10):
        ensure(at < len(data), "CPB_TRUNCATED")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            ensure(byte != 0 or count == 0, "CPB_NON_MINIMAL_VARINT")
            ensure(value < 1 << 64, "CPB_RANGE")
            return value, at
    raise Refused("CPB_RANGE")


def decode(name, data):
    """The fields of the message that these bytes are the one encoding of."""
    message = SCHEMA[name]
    ensure(len(data) <= message["max_size"], "CPB_TOO_LARGE")
    by_number = {field["number"]: field for field in message["fields"]}
    fields, order, at, last = {}, {}, 0, 0
    while at < len(data):
        tag, at = read_varint(data, at)
        number, wire = tag >> 3, tag & 7
        ensure(number != 0, "CPB_TRAILING")
        ensure(number in by_number, "CPB_UNKNOWN_FIELD")
        field = by_number[number]
        ensure(wire == (0 if field["kind"] == "number" else 2), "CPB_WIRE_TYPE")
        ensure(number >= last, "CPB_FIELD_ORDER")
        ensure(number > last or "repeated" in field, "CPB_DUPLICATE_FIELD")
        last = number
        elements = fields.setdefault(field["name"], []) if "repeated" in field else None
        ensure(elements is None or len(elements) < field["max_items"], "CPB_LENGTH")
        value, at = read_varint(data, at)
        if wire == 0:
            check_number(field, value)
            fields[field["name"]] = value
            continue
        ensure(value <= len(data) - at, "CPB_TRUNCATED")
        content, at = data[at : at + value], at + value
        ensure(content != b"", "CPB_DEFAULT_ENCODED")
        item = read_content(field, content)
        if elements is None:
            fields[field["name"]] = item
            continue
        ensure(field["repeated"] != "set" or order.get(number, b"") < content, "CPB_SET_ORDER")
        order[number] = content
        elements.append(item)
    for field in message["fields"]:
        ensure(not field["required"] or field["name"] in fields, "CPB_REQUIRED")
    return fields


def check_number(field, value):
    ensure(value != 0, "CPB_DEFAULT_ENCODED")
    ensure(int(field["min"]) <= value <= int(field["max"]), "CPB_RANGE")
    ensure("known" not in field or value in field["known"], "CPB_RANGE")
    ensure("known_bits" not in field or value & ~field["known_bits"] == 0, "CPB_RANGE")


def read_content(field, content):
    if field["kind"] == "message":
        return decode(field["message"], content)
    ensure(int(field["min"]) <= len(content) <= int(field["max"]), "CPB_LENGTH")
    if field["kind"] == "bytes":
        return content
    ensure(re.fullmatch(rb"[a-z0-9._:/-]+", content) is not None, "CPB_ASCII")
    return content.decode()


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def encode(name, fields):
    out = b""
    for field in SCHEMA[name]["fields"]:
        if field["name"] not in fields:
            continue
        value, tag = fields[field["name"]], field["number"] << 3
        if field["kind"] == "number":
            out += varint(tag) + varint(value)
            continue
        values = value if "repeated" in field else [value]
        contents = [encode(field["message"], each) if field["kind"] == "message" else each for each in values]
        contents = [each.encode() if isinstance(each, str) else each for each in contents]
        if field.get("repeated") == "set":
            contents.sort()
        out += b"".join(varint(tag | 2) + varint(len(each)) + each for each in contents)
    return out
