"""Verifies access tokens locally: the issuer's key set, and nothing else of the issuer's."""
import base64
import json
import re
import time
import urllib.request

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from notes_claims import check_claims, is_number

SKEW_SECONDS = 30
BEARER = re.compile(r"[Bb][Ee][Aa][Rr][Ee][Rr] +([A-Za-z0-9\-._~+/]+=*)")
PART = re.compile(r"[A-Za-z0-9_-]*")
KID = re.compile(r"[A-Za-z0-9_-]{1,128}")
# Names in a header that change how a token is read or with which key: our issuer writes none of them.
FORBIDDEN = ("crit", "b64", "jku", "jwk", "x5u", "x5c", "zip")
# What providers sign with: such a token of another issuer is told apart, for the developer who sent it.
PROVIDER_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA")


class Refused(Exception):
    """Why a call is refused: a reason of signet.authz.v1.Reason, the step that failed, and a missing scope."""

    def __init__(self, reason, step=0, scope=None):
        super().__init__(reason)
        self.reason, self.step = reason, step
        self.metadata = {} if scope is None else {"scope": scope}


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args):
        return None


OPENER = urllib.request.build_opener(NoRedirect)


class KeySet:
    """The issuer's public keys: fetched seldom, kept long, bounded in size and time."""

    MAX_BYTES, MAX_KEYS, MAX_AGE, MAX_STALE, COOLDOWN = 65536, 16, 300, 86400, 30

    def __init__(self, url):
        self.url, self.keys, self.fetched, self.tried = url, None, 0.0, -1e9

    def find(self, kid):
        now = time.monotonic()
        if self.keys is None or kid not in self.keys or now - self.fetched > self.MAX_AGE:
            # What a forged kid can cause is one fetch in 30 s.
            if now - self.tried > self.COOLDOWN:
                self.tried = now
                try:
                    self.keys, self.fetched = self.fetch(), now
                except (OSError, ValueError, LookupError, TypeError, AttributeError):
                    pass  # What was fetched before serves on, up to MAX_STALE.
        if self.keys is None or now - self.fetched > self.MAX_STALE:
            raise Refused("UNAVAILABLE")
        if kid not in self.keys:
            raise Refused("KEY_UNKNOWN")
        return self.keys[kid]

    def fetch(self):
        with OPENER.open(self.url, timeout=5) as response:
            text = response.read(self.MAX_BYTES + 1)
        jwks = json.loads(text)["keys"] if len(text) <= self.MAX_BYTES else None
        if not isinstance(jwks, list) or len(jwks) > self.MAX_KEYS:
            raise ValueError("not a JWK Set")
        keys = {}
        for jwk in jwks:
            kid = jwk.get("kid")
            if (jwk.get("kty"), jwk.get("crv"), jwk.get("use")) != ("EC", "P-256", "sig"):
                continue
            if jwk.get("alg", "ES256") != "ES256" or not isinstance(kid, str) or not KID.fullmatch(kid):
                continue
            x, y = decode_part(jwk["x"]), decode_part(jwk["y"])
            if x is None or y is None or len(x) != 32 or len(y) != 32 or kid in keys:
                raise ValueError("a key that is none")
            numbers = ec.EllipticCurvePublicNumbers(int.from_bytes(x, "big"), int.from_bytes(y, "big"), ec.SECP256R1())
            keys[kid] = numbers.public_key()
        return keys


class Verifier:
    """Takes access tokens of one issuer for one audience."""

    def __init__(self, issuer, audience, keys):
        self.issuer, self.audience, self.keys = issuer, audience, keys

    def authenticate(self, headers):
        """The claims of the caller's token. Raises Refused."""
        if not headers:
            raise Refused("NO_CREDENTIAL")
        match = BEARER.fullmatch(", ".join(headers))
        if match is None:
            raise Refused("MALFORMED_CREDENTIAL")
        token = match[1]
        if token.startswith("sgpat_"):
            raise Refused("PAT_NOT_BEARER")
        if token.startswith("sgrt_"):
            raise Refused("REFRESH_TOKEN_NOT_BEARER")
        return self.verify(token)

    def verify(self, token):
        parts = token.split(".")
        if len(token) > 8192 or len(parts) != 3 or not parts[0] or not parts[1]:
            raise Refused("MALFORMED_CREDENTIAL")
        key = self.keys.find(self.kid_of(parts[0], parts[1]))
        signature = decode_part(parts[2])
        if signature is None or len(signature) != 64:
            raise Refused("SIGNATURE_INVALID")
        r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
        try:
            signed = f"{parts[0]}.{parts[1]}".encode("ascii")
            key.verify(encode_dss_signature(r, s), signed, ec.ECDSA(hashes.SHA256()))
        except InvalidSignature:
            raise Refused("SIGNATURE_INVALID") from None
        claims = decode_object(parts[1])
        if claims is None:
            raise Refused("MALFORMED_CREDENTIAL")
        self.check(claims)
        return claims

    def kid_of(self, part, payload):
        header = decode_object(part, unique=True)
        if header is None or any(name in header for name in FORBIDDEN):
            raise Refused("MALFORMED_CREDENTIAL")
        for name, value in (("alg", "ES256"), ("typ", "at+jwt")):
            if header.get(name) != value:
                raise Refused(self.provider_token_or(f"{name.upper()}_NOT_ALLOWED", header, payload))
        kid = header.get("kid")
        if not isinstance(kid, str) or not KID.fullmatch(kid):
            raise Refused("KEY_UNKNOWN")
        return kid

    def provider_token_or(self, reason, header, payload):
        if header.get("typ", "JWT") != "JWT" or header.get("alg") not in PROVIDER_ALGORITHMS:
            return reason
        issuer = (decode_object(payload) or {}).get("iss")
        return "PROVIDER_TOKEN_NOT_ACCEPTED" if isinstance(issuer, str) and issuer != self.issuer else reason

    def check(self, claims):
        """Issuer, audience and times, before anything else is believed."""
        if claims.get("iss") != self.issuer:
            raise Refused("ISSUER_MISMATCH")
        if claims.get("aud") != self.audience:
            raise Refused("AUDIENCE_MISMATCH")
        now = time.time()
        if is_number(claims.get("exp")) and claims["exp"] + SKEW_SECONDS <= now:
            raise Refused("TOKEN_EXPIRED")
        for name in ("nbf", "iat"):
            if is_number(claims.get(name)) and claims[name] > now + SKEW_SECONDS:
                raise Refused("TOKEN_NOT_YET_VALID")
        reason = check_claims(claims)
        if reason is not None:
            raise Refused(reason)


def decode_part(text):
    """The bytes of base64url without padding; None for any text that no encoder writes."""
    if not isinstance(text, str) or not PART.fullmatch(text) or len(text) % 4 == 1:
        return None
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    return data if base64.urlsafe_b64encode(data).decode("ascii").rstrip("=") == text else None


def decode_object(part, unique=False):
    """The JSON object in base64url; None when it is none. unique: also when a name comes twice in one object."""

    def object_of(pairs):
        members = dict(pairs)
        if unique and len(members) != len(pairs):
            raise ValueError("a name twice")
        return members

    def no_constant(name):
        raise ValueError(name)

    data = decode_part(part)
    if data is None:
        return None
    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=object_of, parse_constant=no_constant)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
