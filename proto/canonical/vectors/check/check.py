"""Checks the vectors without any code of this repository: what a reader in another language needs, and no more.

Python 3.9 with `cryptography` (for Ed25519). Prints what it checked; exits 1 at the first disagreement.

    /usr/bin/python3 proto/canonical/vectors/check/check.py [folder of the vectors]
"""
import base64
import hashlib
import json
import pathlib
import re
import sys

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

VECTORS = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent


def load(name):
    return json.loads((VECTORS / f"{name}.json").read_text())


SCHEMA = load("schema")
KEYS = {key["name"]: key for key in load("keys")["keys"]}


class Refused(Exception):
    """The code that bytes are refused with."""


def ensure(holds, code):
    if not holds:
        raise Refused(code)


# --- CPB1 ------------------------------------------------------------------------------------------------------------


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


def from_plain(name, plain):
    """Fields as the vectors write them: bytes in hexadecimal, 64-bit numbers as strings."""
    kinds = {field["name"]: field for field in SCHEMA[name]["fields"]}

    def value_of(field, value):
        if field["kind"] == "message":
            return [from_plain(field["message"], each) for each in value]
        return {"number": int, "bytes": bytes.fromhex, "string": str}[field["kind"]](value)

    return {key: value_of(kinds[key], value) for key, value in plain.items()}


# --- hashes and signatures -------------------------------------------------------------------------------------------


def H(label, data):
    return hashlib.sha256(b"SIGNET1H\0" + label.encode() + b"\0" + data).digest()


def key_id(public_key):
    return H("key-id", public_key)[:8]


def signature_input(name, body):
    return b"SIGNET1\0" + SCHEMA[name]["label"].encode() + b"\0" + len(body).to_bytes(4, "big") + body


P = 2**255 - 19
D = -121665 * pow(121666, -1, P) % P
ORDER_8 = 0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD83D3D706A17C7
SMALL_ORDER = {0, 1, P - 1, ORDER_8, P - ORDER_8}


def is_public_key(key):
    """A canonical point that is not of small order."""
    y = int.from_bytes(key, "little") & (2**255 - 1)
    if len(key) != 32 or y >= P or y in SMALL_ORDER:
        return False
    return pow((y * y - 1) * pow(D * y * y + 1, -1, P), (P - 1) // 2, P) == 1


def verify(public_key, message, signature):
    if len(signature) != 64 or not is_public_key(public_key):
        return False
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
        return True
    except InvalidSignature:
        return False


# --- what is signed --------------------------------------------------------------------------------------------------


def open_signed(prefix, name, data):
    try:
        signed = decode("SignedBytesV1", data)
        ensure(len(signed["body"]) <= SCHEMA[name]["max_size"], "CPB_TOO_LARGE")
        return signed
    except Refused:
        raise Refused(f"{prefix}_MALFORMED")


def open_body(prefix, name, body):
    try:
        return decode(name, body)
    except Refused:
        raise Refused(f"{prefix}_MALFORMED")


def verify_key_set(data, given):
    signed = open_signed("ISSUER_KEYS", "IssuerKeySetBodyV1", data)
    root = next((key for key in given["roots"] if key_id(key) == signed["key_id"]), None)
    ensure(root is not None, "ISSUER_KEYS_UNKNOWN_ROOT")
    good = verify(root, signature_input("IssuerKeySetBodyV1", signed["body"]), signed["signature"])
    ensure(good, "ISSUER_KEYS_BAD_SIGNATURE")
    body = open_body("ISSUER_KEYS", "IssuerKeySetBodyV1", signed["body"])
    ensure(body["not_before"] < body["not_after"], "ISSUER_KEYS_MALFORMED")
    seen_ids = {key_id(root)}
    for key in body["keys"]:
        sound = is_public_key(key["key"]) and key["key_id"] == key_id(key["key"]) and key["key_id"] not in seen_ids
        ensure(sound and key["not_before"] < key["not_after"], "ISSUER_KEYS_MALFORMED")
        seen_ids.add(key["key_id"])
    ensure(body["issuer_id"] == given["issuer_id"], "ISSUER_KEYS_WRONG_ISSUER")
    ensure(body["not_before"] <= given["at_seconds"], "ISSUER_KEYS_NOT_YET_VALID")
    ensure(given["at_seconds"] < body["not_after"], "ISSUER_KEYS_EXPIRED")
    seen = given.get("seen")
    if seen is not None:
        ensure(body["set_version"] >= seen["version"], "ISSUER_KEYS_ROLLBACK")
        same = H("issuer-keys", data) == seen["hash"]
        ensure(body["set_version"] > seen["version"] or same, "ISSUER_KEYS_FORK")
    return body


def open_issued(prefix, name, purpose, data, is_sound):
    issuer = ISSUER
    signed = open_signed(prefix, name, data)
    key = next((key for key in issuer["keys"] if key["key_id"] == signed["key_id"]), None)
    ensure(key is not None, f"{prefix}_UNKNOWN_ISSUER_KEY")
    ensure(key["purpose"] == purpose, f"{prefix}_ISSUER_KEY_PURPOSE")
    good = verify(key["key"], signature_input(name, signed["body"]), signed["signature"])
    ensure(good, f"{prefix}_BAD_SIGNATURE")
    body = open_body(prefix, name, signed["body"])
    ensure(is_sound(body), f"{prefix}_MALFORMED")
    ensure(body["issuer_id"] == issuer["issuer_id"], f"{prefix}_WRONG_ISSUER")
    return body, key


def ensure_key_time(prefix, key, at):
    ensure(key["not_before"] <= at < key["not_after"], f"{prefix}_ISSUER_KEY_NOT_VALID")


def credential_is_sound(body):
    return 0 < body["not_after"] - body["not_before"] <= 400 * 86400 and is_public_key(body["leaf_signature_key"])


def verify_credential(data, given):
    body, key = open_issued("CRED", "DeviceCredentialBodyV1", 1, data, credential_is_sound)
    at = given["at_seconds"]
    ensure_key_time("CRED", key, at)
    ensure(body.get("tenant_id") == given["tenant_id"], "CRED_WRONG_TENANT")
    ensure(body["app_id"] == given["app_id"], "CRED_WRONG_APP")
    ensure(body["leaf_signature_key"] == given["leaf_key"], "CRED_LEAF_KEY_MISMATCH")
    ensure(body["not_before"] <= at, "CRED_NOT_YET_VALID")
    ensure(at < body["not_after"], "CRED_EXPIRED")
    ensure(H("device-credential", data) not in given.get("revoked", []), "CRED_REVOKED")


CREATE, ADD, REMOVE, LEAVE, REJOIN = range(1, 6)


def proof_is_sound(body):
    added, removed = body.get("added", []), body.get("removed", [])
    shapes = {CREATE: not removed, ADD: not removed, REMOVE: not added, LEAVE: not added}
    creates = body["op"] == CREATE
    return (
        bool(added) != bool(removed)
        and shapes.get(body["op"], len(added) + len(removed) == 1)
        and creates == ("base_state_tag" not in body)
        and (not creates or ("base_epoch" not in body and "requester" in body))
        and all("key_package_ref" in subject for subject in added)
        and not any("key_package_ref" in subject for subject in removed)
        and 0 < body["expires_at"] - body["issued_at"] <= 300
    )


def verify_proof(data, given):
    body, key = open_issued("PROOF", "MembershipProofBodyV1", 2, data, proof_is_sound)
    at = given["at_seconds"]
    ensure_key_time("PROOF", key, at)
    ensure(body.get("tenant_id") == given["tenant_id"], "PROOF_WRONG_TENANT")
    ensure(body["app_id"] == given["app_id"], "PROOF_WRONG_APP")
    ensure(body["conversation_id"] == given["conversation_id"], "PROOF_WRONG_CONVERSATION")
    ensure(body["mls_group_id"] == given["mls_group_id"], "PROOF_WRONG_GROUP")
    epoch = body.get("base_epoch", 0)
    ensure(epoch >= given["base_epoch"], "PROOF_STALE")
    ensure(epoch <= given["base_epoch"], "PROOF_FUTURE_EPOCH")
    ensure(body["op"] == CREATE or body["base_state_tag"] == given["base_state_tag"], "PROOF_FORK")
    ensure(body["issued_at"] <= at, "PROOF_NOT_YET_VALID")
    ensure(at < body["expires_at"], "PROOF_EXPIRED")


def verify_receipt(data, given):
    body, key = open_issued("RECEIPT", "CommitReceiptBodyV1", 3, data, lambda _: True)
    accepted = body["accepted_at_ms"]
    ensure_key_time("RECEIPT", key, accepted // 1000)
    ensure(body["conversation_id"] == given["conversation_id"], "RECEIPT_WRONG_CONVERSATION")
    ensure(body["mls_group_id"] == given["mls_group_id"], "RECEIPT_WRONG_GROUP")
    ensure(body.get("epoch", 0) == given["epoch"], "RECEIPT_WRONG_EPOCH")
    ensure(body["seq"] == given["seq"], "RECEIPT_WRONG_SEQ")
    ensure(body["commit_hash"] == given["commit_hash"], "RECEIPT_WRONG_COMMIT")
    ensure(body.get("proof_hash") == given["proof_hash"], "RECEIPT_WRONG_PROOF")
    previous = given["previous"]
    if previous != "unknown":
        named = None if previous == "first" else previous["hash"]
        ensure(body.get("previous_receipt_hash") == named, "RECEIPT_FORK")
    if isinstance(previous, dict):
        ensure(accepted >= previous["accepted_at_ms"], "RECEIPT_TIME_BACKWARDS")
    ensure(accepted <= given["now_ms"] + 300_000, "RECEIPT_FROM_FUTURE")


def list_is_sound(body):
    devices = {entry["device_id"] for entry in body["entries"]}
    first = body["list_version"] == 1
    return first == ("previous_hash" not in body) and len(devices) == len(body["entries"])


def verify_list(data, given):
    body, key = open_issued("LIST", "DeviceListBodyV1", 4, data, list_is_sound)
    ensure_key_time("LIST", key, given["at_seconds"])
    ensure(body.get("tenant_id") == given["tenant_id"], "LIST_WRONG_TENANT")
    ensure(body["app_id"] == given["app_id"], "LIST_WRONG_APP")
    ensure(body["user_id"] == given["user_id"], "LIST_WRONG_USER")
    ensure(body["issued_at"] <= given["at_seconds"] + 300, "LIST_FROM_FUTURE")


def verify_request(data, given):
    signed = open_signed("REQUEST", "DeviceRequestBodyV1", data)
    body = open_body("REQUEST", "DeviceRequestBodyV1", signed["body"])
    leaf = body["leaf_signature_key"]
    ensure(is_public_key(leaf), "REQUEST_MALFORMED")
    ensure(signed["key_id"] == key_id(leaf), "REQUEST_KEY_MISMATCH")
    good = verify(leaf, signature_input("DeviceRequestBodyV1", signed["body"]), signed["signature"])
    ensure(good, "REQUEST_BAD_SIGNATURE")
    ensure(body["issuer_id"] == given["issuer_id"], "REQUEST_WRONG_ISSUER")
    ensure(body.get("tenant_id") == given["tenant_id"], "REQUEST_WRONG_TENANT")
    ensure(body["app_id"] == given["app_id"], "REQUEST_WRONG_APP")
    ensure(body["user_id"] == given["user_id"], "REQUEST_WRONG_USER")
    ensure(body["issued_at"] <= given["at_seconds"] + 300, "REQUEST_NOT_YET_VALID")
    ensure(given["at_seconds"] < body["issued_at"] + 300, "REQUEST_EXPIRED")


def verify_device_proof(data, given):
    signed = open_signed("DEVICE_PROOF", "DeviceProofBodyV1", data)
    body = open_body("DEVICE_PROOF", "DeviceProofBodyV1", signed["body"])
    ensure(signed["key_id"] == key_id(given["leaf_key"]), "DEVICE_PROOF_KEY_MISMATCH")
    good = verify(given["leaf_key"], signature_input("DeviceProofBodyV1", signed["body"]), signed["signature"])
    ensure(good, "DEVICE_PROOF_BAD_SIGNATURE")
    ensure(body["device_id"] == given["device_id"], "DEVICE_PROOF_WRONG_DEVICE")
    ensure(body["method_hash"] == H("method", given["method"].encode()), "DEVICE_PROOF_WRONG_METHOD")
    ensure(body["body_hash"] == H("request", given["request"]), "DEVICE_PROOF_WRONG_BODY")
    ensure(body["issued_at"] <= given["at_seconds"] + 60, "DEVICE_PROOF_NOT_YET_VALID")
    ensure(given["at_seconds"] <= body["issued_at"] + 60, "DEVICE_PROOF_EXPIRED")


VERIFIERS = {
    "issuer-keys": verify_key_set,
    "credential": verify_credential,
    "proof": verify_proof,
    "receipt": verify_receipt,
    "list": verify_list,
    "request": verify_request,
    "device-proof": verify_device_proof,
}
NUMBERS = {"at_seconds", "now_ms", "epoch", "seq", "base_epoch", "version", "accepted_at_ms"}
TEXTS = {"method"}


def expectation(key, value):
    if isinstance(value, dict):
        return {name: expectation(name, each) for name, each in value.items()}
    if isinstance(value, list):
        return [expectation(key, each) for each in value]
    if value is None or key in TEXTS or value in ("first", "unknown"):
        return value
    return int(value) if key in NUMBERS else bytes.fromhex(value)


# --- the vectors -----------------------------------------------------------------------------------------------------


def code_of(act):
    try:
        act()
        return "ok"
    except Refused as refused:
        return str(refused)


def check_message(vector):
    name, data = vector["message"], bytes.fromhex(vector["bytes"])
    fields = from_plain(name, vector["fields"])
    yield encode(name, fields) == data
    yield decode(name, data) == fields
    if "signed" not in vector:
        return
    key, signed = KEYS[vector["signer"]], bytes.fromhex(vector["signed"])
    message = signature_input(name, data)
    yield message.hex() == vector["signature_input"]
    signature = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(key["seed"])).sign(message)
    yield signature.hex() == vector["signature"]
    yield verify(bytes.fromhex(key["public_key"]), message, signature)
    envelope = {"body": data, "scheme": 0x0807, "key_id": bytes.fromhex(key["key_id"]), "signature": signature}
    yield encode("SignedBytesV1", envelope) == signed
    if "hash" in vector:
        yield H(vector["hash_label"], signed).hex() == vector["hash"]


def fingerprint_of(user):
    keys = [
        {"device_id": bytes.fromhex(each["device_id"]), "scheme": 0x0807, "key": bytes.fromhex(each["leaf_key"])}
        for each in user["devices"]
    ]
    user_id = bytes.fromhex(user["user_id"])
    fields = {"version": 1, "app_id": bytes.fromhex(user["app_id"]), "user_id": user_id, "keys": keys}
    if user["tenant_id"] is not None:
        fields["tenant_id"] = bytes.fromhex(user["tenant_id"])
    key_set = encode("UserKeySetV1", fields)
    digest = hashlib.sha512(b"\0\1" + key_set + user_id).digest()
    for _ in range(5200):
        digest = hashlib.sha512(digest + key_set).digest()
    return digest[:32]


def digits(fingerprint):
    groups = [fingerprint[at : at + 5] for at in range(0, 30, 5)]
    return " ".join(f"{int.from_bytes(group, 'big') % 100000:05}" for group in groups)


def check_safety(safety):
    device = safety["device"]
    fields = {name: bytes.fromhex(device[name]) for name in ("tenant_id", "app_id", "user_id", "device_id")}
    fields.update(scheme=0x0807, key=bytes.fromhex(device["leaf_key"]))
    yield H("device-fingerprint/v1", encode("DeviceFingerprintV1", fields)).hex() == device["fingerprint"]
    for user in safety["users"]:
        yield fingerprint_of(user).hex() == user["fingerprint"]
    number = safety["number"]
    halves = sorted(digits(bytes.fromhex(number[side])) for side in ("one", "other"))
    yield " ".join(halves) == number["digits"]
    qr = safety["qr"]
    text = qr["text"]
    code = decode("SafetyQrV1", base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    yield code["local_fingerprint"].hex() == qr["local"]["fingerprint"]
    yield code["remote_fingerprint"].hex() == qr["remote"]["fingerprint"]


def checks():
    """Every check as (what, whether it holds)."""
    for vector in load("hashes"):
        yield "hashes", H(vector["label"], bytes.fromhex(vector["input"])).hex() == vector["hash"]
    for key in KEYS.values():
        yield "keys", key_id(bytes.fromhex(key["public_key"])).hex() == key["key_id"]
    for vector in load("ed25519"):
        parts = [bytes.fromhex(vector[name]) for name in ("public_key", "message", "signature")]
        yield f"ed25519: {vector['name']}", verify(*parts) == vector["valid"]
    other = {"schema", "keys", "hashes", "ed25519", "malformed", "refusals", "safety-numbers"}
    for file in sorted(path.stem for path in VECTORS.glob("*.json") if path.stem not in other):
        for vector in load(file):
            for held in check_message(vector):
                yield f"{file}: {vector['name']}", held
    for held in check_safety(load("safety-numbers")):
        yield "safety-numbers", held
    for vector in load("malformed"):
        code = code_of(lambda: decode(vector["message"], bytes.fromhex(vector["bytes"])))
        yield f"malformed: {vector['message']}, {vector['name']}: {code}", code == vector["code"]
    for vector in load("refusals"):
        given, data = expectation("", vector["given"]), bytes.fromhex(vector["bytes"])
        code = code_of(lambda: VERIFIERS[vector["kind"]](data, given))
        yield f"refusals: {vector['kind']}, {vector['name']}: {code}", code == vector["code"]


ISSUER = verify_key_set(
    bytes.fromhex(load("keys")["key_set"]),
    {
        "roots": [bytes.fromhex(KEYS["root"]["public_key"])],
        "issuer_id": bytes.fromhex(load("keys")["issuer_id"]),
        "at_seconds": 1_800_000_000,
    },
)

if __name__ == "__main__":
    count = 0
    for what, held in checks():
        count += 1
        if not held:
            sys.exit(f"disagrees: {what}")
    print(f"{count} checks agree")
