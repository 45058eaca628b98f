"""ES256 (RFC 7518 section 3.4), the one algorithm that the issuer signs with."""
from __future__ import annotations

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from .strict_json import decode_base64url

_ES256 = ec.ECDSA(hashes.SHA256())


class VerifyKey:
    """A public key on P-256."""

    def __init__(self, key: ec.EllipticCurvePublicKey) -> None:
        self._key = key

    def verify(self, signature: bytes, data: bytes) -> bool:
        """True when the signature, r and s of 32 bytes each (IEEE P1363), is this key's over the data."""
        r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
        try:
            self._key.verify(encode_dss_signature(r, s), data, _ES256)
        except InvalidSignature:
            return False
        return True


def import_key(x: str, y: str) -> VerifyKey:
    """Returns the key of two coordinates, 32 bytes each as base64url.

    Raises ValueError when they are no point of the curve.
    """
    x_bytes, y_bytes = decode_base64url(x), decode_base64url(y)
    if x_bytes is None or y_bytes is None or len(x_bytes) != 32 or len(y_bytes) != 32:
        raise ValueError("a coordinate is not 32 bytes of base64url")
    numbers = ec.EllipticCurvePublicNumbers(
        int.from_bytes(x_bytes, "big"), int.from_bytes(y_bytes, "big"), ec.SECP256R1()
    )
    return VerifyKey(numbers.public_key())
