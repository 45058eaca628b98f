"""Checks the vectors without any code of this repository: what a reader in another language needs, and no more.

Python 3.9 with `cryptography` (for Ed25519). Prints what it checked; exits 1 at the first disagreement.

    /usr/bin/python3 proto/canonical/vectors/check/check.py [folder of the vectors]
"""
import base64
import hashlib
import json
import pathlib
import sys

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

sys.dont_write_bytecode = True  # leaves nothing beside the sources

from codec import SCHEMA, Refused, decode, encode
from signed import H, key_id, signature_input, verify
from verifiers import ISSUER, VERIFIERS, verify_key_set

VECTORS = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent


def load(name):
    return json.loads((VECTORS / f"{name}.json").read_text())


SCHEMA.update(load("schema"))
KEYS = {key["name"]: key for key in load("keys")["keys"]}
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


def from_plain(name, plain):
    """Fields as the vectors write them: bytes in hexadecimal, 64-bit numbers as strings."""
    kinds = {field["name"]: field for field in SCHEMA[name]["fields"]}

    def value_of(field, value):
        if field["kind"] == "message":
            return [from_plain(field["message"], each) for each in value]
        return {"number": int, "bytes": bytes.fromhex, "string": str}[field["kind"]](value)

    return {key: value_of(kinds[key], value) for key, value in plain.items()}


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


def load_issuer():
    keys = load("keys")
    given = {
        "roots": [bytes.fromhex(KEYS["root"]["public_key"])],
        "issuer_id": bytes.fromhex(keys["issuer_id"]),
        "at_seconds": 1_800_000_000,
    }
    ISSUER.update(verify_key_set(bytes.fromhex(keys["key_set"]), given))


if __name__ == "__main__":
    load_issuer()
    count = 0
    for what, held in checks():
        count += 1
        if not held:
            sys.exit(f"disagrees: {what}")
    print(f"{count} checks agree")
