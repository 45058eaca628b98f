"""An issuer, a guard and calls as the vectors describe them. Everything here is for tests."""
import base64
import json
import os
from pathlib import Path

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from signet_guard import (
    ANY_APP,
    AuthorityVersions,
    Freshness,
    Guard,
    HeldGrant,
    Liveness,
    LivenessFacts,
    PermissionSnapshot,
    Place,
    ResourceRef,
    SessionFacts,
    SnapshotRole,
)
from signet_guard import requirement as language
from signet_guard.token_crypto import VerifyKey

VECTORS = Path(os.environ.get("SIGNET_VECTORS") or Path(__file__).parents[3] / "server/guard/vectors")


def read_vectors(name):
    """The vectors in a file; None where the repository does not have it."""
    path = VECTORS / name
    return json.loads(path.read_text("utf-8")) if path.exists() else None


def encode(value):
    data = value if isinstance(value, bytes) else json.dumps(value, separators=(",", ":")).encode("utf-8")
    return base64.urlsafe_b64encode(data).decode("ascii").rstrip("=")


class Signer:
    """A key on P-256 that signs what it is told to, also what no issuer should."""

    def __init__(self, kid="key-1"):
        self.kid = kid
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.verify_key = VerifyKey(self._key.public_key())

    def jwk(self):
        numbers = self._key.public_key().public_numbers()
        x, y = numbers.x.to_bytes(32, "big"), numbers.y.to_bytes(32, "big")
        return {"kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": self.kid, "x": encode(x), "y": encode(y)}

    def sign_parts(self, header, payload):
        signed = f"{header}.{payload}"
        r, s = decode_dss_signature(self._key.sign(signed.encode("ascii"), ec.ECDSA(hashes.SHA256())))
        return f"{signed}.{encode(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"

    def sign(self, header, payload):
        return self.sign_parts(encode(header), encode(payload))


class Keys:
    """Keys without a network."""

    def __init__(self, *signers):
        self._keys = {signer.kid: signer.verify_key for signer in signers}

    def find(self, kid):
        return self._keys.get(kid, "KEY_UNKNOWN")


class Down(Exception):
    """Nobody answers."""


def requirement_of(value):
    """A requirement as the vectors write it."""
    options = {}
    if "freshness" in value:
        freshness = value["freshness"]
        options["freshness"] = Freshness(freshness["maxStalenessMs"], freshness["onStale"])
    if "maxAuthAgeSeconds" in value:
        options["max_auth_age_seconds"] = value["maxAuthAgeSeconds"]
    if "allowDelegated" in value:
        options["allow_delegated"] = value["allowDelegated"]
    return language.Requirement(_check_of(value), **options)


def _check_of(value):
    kind = value["is"]
    if kind == "public":
        return language.Public()
    if kind == "bodyCredential":
        return language.BodyCredential()
    if kind == "scope":
        return language.Scope(value["scope"])
    if kind == "action":
        return language.Action(value["action"])
    if kind == "role":
        return language.Role(value["role"])
    if kind == "resourceAction":
        return language.ResourceAction(value["action"], value["type"], value["from"], value["field"])
    if kind == "kinds":
        return language.Kinds(tuple(value["of"]))
    if kind == "tenant":
        return language.Tenant(value["from"], value["field"])
    if kind == "delegated":
        return language.Delegated(tuple(value["actors"]))
    if kind == "device":
        return language.Device(value["proof"])
    parts = tuple(requirement_of(part) for part in value["of"])
    return {"anyOf": language.AnyOf, "allOf": language.AllOf}[kind](parts)


def resource_of(value):
    return ResourceRef(value["type"], value["id"], value["appId"], value["tenantId"], value["contextId"])


class World:
    """decisions.json: a guard and a call for each situation."""

    def __init__(self, vectors):
        self.vectors = vectors
        self.now_ms = vectors["now"] * 1_000
        self.issuer, self.stranger = Signer(), Signer()
        self.requirements = {name: requirement_of(one) for name, one in vectors["requirements"].items()}
        self._resources = [resource_of(one) for one in vectors["resources"].values()]
        self._guards = {}
        self._tokens = {}

    def find_resource(self, kind, resource_id):
        return next((one for one in self._resources if one.id == resource_id), None)

    def clock(self):
        return self.now_ms

    def guard_of(self, name):
        if name not in self._guards:
            self._guards[name] = self._build_guard(self.vectors["situations"][name])
        return self._guards[name]

    def _build_guard(self, situation):
        liveness, introspection = situation.get("liveness", {}), situation.get("introspection")
        as_of_ms = self.now_ms - situation.get("livenessAgeSeconds", 0) * 1_000
        return Guard(
            issuer=self.vectors["issuer"],
            audience=self.vectors["audience"],
            app_id=situation.get("targetApp", ANY_APP),
            key_set=Keys(self.issuer),
            clock=self.clock,
            liveness=None if liveness == "unknown" else lambda _: self._known(liveness, as_of_ms),
            introspect=None if introspection is None else lambda *_: self._known(introspection, self.now_ms),
            permissions=lambda _: self._snapshot_of(situation.get("grants", [])),
        )

    def _known(self, change, as_of_ms):
        if change == "down":
            raise Down
        facts = {**self.vectors["liveness"], **change}
        session = {**self.vectors["liveness"]["session"], **change.get("session", {})}
        return Liveness(
            LivenessFacts(
                principal=facts["principal"],
                actor=facts["actor"],
                identity=facts["identity"],
                session=SessionFacts(
                    session["status"], session["idleExpiresAtMs"], session["absoluteExpiresAtMs"]
                ),
                membership=facts["membership"],
                app=facts["app"],
                tenant=facts["tenant"],
                context=facts["context"],
                revoked=frozenset(facts["revoked"]),
                minimum=AuthorityVersions(facts["minimum"]["principal"], facts["minimum"]["policy"]),
            ),
            as_of_ms,
        )

    def _snapshot_of(self, grants):
        if grants == "down":
            raise Down
        if grants == "stale":
            return "PERMISSIONS_STALE"
        app_id = self.vectors["claims"]["app_id"]
        return PermissionSnapshot(
            roles={
                key: SnapshotRole(key, frozenset(role["permissions"]), role["inheritable"])
                for key, role in self.vectors["roles"].items()
            },
            scopes={scope: frozenset(permissions) for scope, permissions in self.vectors["scopes"].items()},
            grants=tuple(
                HeldGrant(
                    grant["role"],
                    Place(app_id, grant.get("tenantId"), grant.get("contextId")),
                    (grant["resource"]["type"], grant["resource"]["id"]) if "resource" in grant else None,
                    grant.get("expiresAtMs"),
                )
                for grant in grants
            ),
        )

    def authorization_of(self, name):
        """The Authorization header as sent; None for none."""
        situation = self.vectors["situations"][name]
        if "authorization" in situation:
            return situation["authorization"]
        if name not in self._tokens:
            claims = {**self.vectors["claims"], **situation.get("claims", {})}
            payload = {key: value for key, value in claims.items() if value is not None}
            signer = self.stranger if situation.get("signer") == "stranger" else self.issuer
            header = {**self.vectors["header"], **situation.get("header", {})}
            self._tokens[name] = signer.sign(header, payload)
        return f"Bearer {self._tokens[name]}"

    def subject_of(self, name):
        claims = self.vectors["situations"][name].get("claims", {})
        return claims.get("sub", self.vectors["claims"]["sub"])


class SwitchedGuard(Guard):
    """The guard of the situation that is tried now: targets are built once for a requirement."""

    def __init__(self):
        self.now = None

    def authenticate(self, header):
        return self.now.authenticate(header)

    def authorize(self, caller, requirement, request):
        return self.now.authorize(caller, requirement, request)


def json_of(request):
    """The request as JSON: a name with dots is a message in a message."""
    value = {}
    for path, text in request.items():
        first, _, second = path.partition(".")
        value[first] = {second: text} if second else text
    return value


def outcome_of(problem, status, challenge):
    return {
        "allow": False,
        "reason": problem["reason"],
        "status": status,
        "message": problem["detail"],
        "metadata": problem["metadata"],
        "challenge": challenge,
    }
