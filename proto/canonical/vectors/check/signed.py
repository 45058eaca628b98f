"""Hashes and signatures."""
import hashlib

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from codec import SCHEMA


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


def is_sound(point):
    """Canonical and not of small order. It may be no point of the curve."""
    y = int.from_bytes(point, "little") & (2**255 - 1)
    return len(point) == 32 and y < P and y not in SMALL_ORDER


def is_public_key(key):
    """A canonical point that is not of small order."""
    if not is_sound(key):
        return False
    y = int.from_bytes(key, "little") & (2**255 - 1)
    return pow((y * y - 1) * pow(D * y * y + 1, -1, P), (P - 1) // 2, P) == 1


def verify(public_key, message, signature):
    if len(signature) != 64 or not is_public_key(public_key) or not is_sound(signature[:32]):
        return False
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
        return True
    except InvalidSignature:
        return False
