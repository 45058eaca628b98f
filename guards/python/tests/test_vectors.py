"""Tokens, key sets, the revocation feed and permission snapshots, as the vectors describe them."""
import json
import unittest
from urllib.parse import parse_qs, urlsplit

from signet_guard import (
    ANY_APP,
    NOT_LOADED,
    FeedError,
    Guard,
    Introspection,
    KeySet,
    PermissionSnapshots,
    Refused,
    RequestFacts,
    RevocationFeed,
    StatusError,
)
from signet_guard.access_token import create_verifier
from signet_guard.bearer import parse_bearer
from signet_guard.context import AuthContext, thawed
from signet_guard.jwks import parse_jwks
from signet_guard.requirement import ResourceAction, checks_in, resource_key
from signet_guard.strict_json import decode_object

from world import read_vectors, requirement_of, resource_of

ANYBODY = {"is": "kinds", "of": ["USER", "SERVICE"], "allowDelegated": True}


class Clock:
    def __init__(self, seconds=0):
        self.seconds = seconds

    def __call__(self):
        return self.seconds * 1_000


class Published:
    """A JWK Set without a network."""

    def __init__(self, jwks):
        self._keys = parse_jwks(json.dumps(jwks))

    def find(self, kid):
        return self._keys.get(kid, "KEY_UNKNOWN")


def own_token(refused=None):
    return "own"


def principal_of(principal):
    return None if principal is None else {"id": principal.id, "kind": principal.kind}


def keys_of(held):
    return None if held is NOT_LOADED else sorted(held)


def context_of(context):
    """An AuthContext as tokens.json writes it."""
    delegation = context.delegation
    return {
        "principal": principal_of(context.principal),
        "identityId": context.identity_id,
        "appId": context.app_id,
        "tenantId": context.tenant_id,
        "contextId": context.context_id,
        "sessionId": context.session_id,
        "deviceId": context.device_id,
        "tokenId": context.token_id,
        "credentialId": context.credential_id,
        "issuer": context.issuer,
        "audience": context.audience,
        "scopes": sorted(context.scopes),
        "roles": keys_of(context.roles),
        "permissions": keys_of(context.permissions),
        "method": context.method,
        "actor": principal_of(context.actor),
        "delegation": delegation
        and {
            "actor": principal_of(delegation.actor),
            "actorClientId": delegation.actor_client_id,
            "jobId": delegation.job_id,
            "originSessionId": delegation.origin_session_id,
            "expiresAtMs": delegation.expires_at_ms,
            "depth": delegation.depth,
        },
        "authTimeMs": context.auth_time_ms,
        "issuedAtMs": context.issued_at_ms,
        "expiresAtMs": context.expires_at_ms,
        "permVer": context.perm_ver,
        "versions": {"principal": context.versions.principal, "policy": context.versions.policy},
    }


def sorted_sets(expected):
    context = expected.get("context")
    if context is None:
        return expected
    return {"context": {**context, "scopes": sorted(context["scopes"])}}


class Tokens(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.vectors = read_vectors("tokens.json")

    def verifier(self, clock, cache_size):
        vectors = self.vectors
        key_set = KeySet("https://auth.example/jwks", clock=clock, fetch=lambda _: json.dumps(vectors["jwks"]))
        verify = create_verifier(
            issuer=vectors["issuer"],
            audience=vectors["audience"],
            key_set=key_set,
            clock=clock,
            cache_size=cache_size,
        )

        def authenticate(authorization):
            bearer = parse_bearer(authorization)
            return bearer if isinstance(bearer, str) else verify(bearer.token)

        return authenticate

    def test_each_header_is_accepted_or_refused_for_its_reason(self):
        wrong = []
        for case in self.vectors["cases"]:
            found = self.verifier(Clock(self.vectors["now"]), 0)(case["authorization"])
            seen = {"reason": found} if isinstance(found, str) else {"context": context_of(found)}
            if seen != sorted_sets(case["expected"]):
                wrong.append((case["name"], seen, case["expected"]))
            if isinstance(found, AuthContext):
                payload = decode_object(case["authorization"].split(".")[1])
                self.assertEqual(thawed(found.claims), payload, case["name"])
        self.assertEqual(wrong, [])
        self.assertGreater(len(self.vectors["cases"]), 200)

    def test_sequences(self):
        for sequence in self.vectors["sequences"]:
            clock = Clock()
            authenticate = self.verifier(clock, 100)
            for number, step in enumerate(sequence["steps"]):
                clock.seconds = step["now"]
                found = authenticate(step["authorization"])
                seen = found if isinstance(found, str) else "accepted"
                self.assertEqual(seen, step["expected"], (sequence["name"], number))


class KeySets(unittest.TestCase):
    def setUp(self):
        self.vectors = read_vectors("key-sets.json")

    def test_documents(self):
        kids = sorted({kid for one in self.vectors["documents"] for kid in one["expected"] or ()})
        for document in self.vectors["documents"]:
            text = document["text"].ljust(document.get("padTo", 0))
            key_set = KeySet("https://auth.example/jwks", clock=Clock(self.vectors["now"]), fetch=answering(text))
            expected = document["expected"]
            if expected is None:
                self.assertEqual(key_set.find("key-1"), "UNAVAILABLE", document["name"])
            for kid in (*kids, "rsa-1", "hmac", "ed"):
                found = key_set.find(kid)
                seen = found if isinstance(found, str) else "found"
                otherwise = "UNAVAILABLE" if expected is None else "KEY_UNKNOWN"
                self.assertEqual(seen, "found" if kid in (expected or ()) else otherwise, (document["name"], kid))

    def test_sequences(self):
        for sequence in self.vectors["sequences"]:
            clock, fetches, answer = Clock(), [], "unreachable"

            def fetch(request):
                fetches.append(request.url)
                if answer == "unreachable":
                    raise OSError("unreachable")
                if answer["status"] != 200:
                    raise StatusError(answer["status"])
                return answering(answer["text"])(request)

            key_set = KeySet("https://auth.example/jwks", clock=clock, fetch=fetch)
            for number, step in enumerate(sequence["steps"]):
                clock.seconds = step["now"]
                answer = step.get("answer", answer)
                found = key_set.find(step["find"])
                seen = (found if isinstance(found, str) else "found", len(fetches))
                self.assertEqual(seen, (step["expected"], step["fetches"]), (sequence["name"], number))


def answering(text):
    """The issuer's answer within the limit that the request has; fetch_text enforces it over a socket."""

    def fetch(request):
        if len(text.encode("utf-8")) > request.max_bytes:
            raise ValueError("too large")
        return text[1:] if text.startswith("\ufeff") else text

    return fetch


class Exchanges:
    """The issuer: expects the requests of a step, in order."""

    def __init__(self, test):
        self.test, self.left, self.introspection = test, [], None

    def fetch(self, request):
        url = urlsplit(request.url)
        if url.path == "/auth/token/introspect":
            return self.introspect(request)
        exchange = self.left.pop(0) if self.left else {"asked": None, "answer": "unreachable"}
        self.test.assertEqual(f"{url.path}?{url.query}", exchange["asked"])
        self.test.assertEqual(request.headers["authorization"], "Bearer own")
        answer = exchange["answer"]
        if not isinstance(answer, dict):
            raise OSError("unreachable")
        if "status" in answer:
            raise StatusError(answer["status"])
        return json.dumps(answer)

    def introspect(self, request):
        if self.introspection in (None, "down"):
            raise OSError("unreachable")
        token = parse_qs(request.body.decode("ascii"))["token"][0]
        jti = decode_object(token.split(".")[1])["jti"]
        if self.introspection == "inactive":
            return json.dumps({"active": False})
        return json.dumps({"active": True, "jti": jti if self.introspection == "active" else "jti_another"})


class Feed(unittest.TestCase):
    def test_sequences(self):
        vectors = read_vectors("feed.json")
        for sequence in vectors["sequences"]:
            with self.subTest(sequence["name"]):
                self.follow(vectors, sequence)
        self.assertGreater(len(vectors["sequences"]), 50)

    def follow(self, vectors, sequence):
        clock, exchanges, issuer = Clock(), Exchanges(self), vectors["issuer"]
        feed = RevocationFeed(
            issuer=issuer,
            base_url=issuer,
            statement_keys=Published(vectors["statementJwks"]),
            token=own_token,
            clock=clock,
            fetch=exchanges.fetch,
            capacity=sequence.get("capacity", 1_000),
        )
        guard = Guard(
            issuer=issuer,
            audience=vectors["audience"],
            app_id=ANY_APP,
            clock=clock,
            key_set=Published(vectors["jwks"]),
            revocations=feed,
            introspect=Introspection(
                url=f"{issuer}/auth/token/introspect", token=own_token, clock=clock, fetch=exchanges.fetch
            ),
        )
        for number, step in enumerate(sequence["steps"]):
            clock.seconds = step["now"]
            if "token" in step:
                exchanges.introspection = step.get("introspection")
                caller = guard.authenticate(f"Bearer {vectors['tokens'][step['token']]}")
                requirement = requirement_of(step.get("requirement", ANYBODY))
                decision = guard.authorize(caller, requirement, RequestFacts())
                seen = getattr(decision, "reason", "allow")
                self.assertEqual(seen, step["expected"], (number, step["token"]))
                continue
            exchanges.left = list(step["exchanges"])
            problem = None
            try:
                feed.refresh()
            except FeedError as error:
                problem = error.problem
            seen = (problem, feed.seq, len(feed), feed.as_of_ms / 1_000, exchanges.left)
            self.assertEqual(seen, (step["problem"], step["seq"], step["size"], step["asOf"], []), number)


class Snapshots(unittest.TestCase):
    def test_sequences(self):
        vectors = read_vectors("snapshots.json")
        for sequence in vectors["sequences"]:
            with self.subTest(sequence["name"]):
                self.follow(vectors, sequence)
        self.assertGreater(len(vectors["sequences"]), 50)

    def follow(self, vectors, sequence):
        clock, exchanges, issuer = Clock(), Exchanges(self), vectors["issuer"]
        guard = Guard(
            issuer=issuer,
            audience=vectors["audience"],
            app_id=ANY_APP,
            clock=clock,
            key_set=Published(vectors["jwks"]),
            permissions=PermissionSnapshots(
                issuer=issuer,
                base_url=issuer,
                statement_keys=Published(vectors["statementJwks"]),
                token=own_token,
                clock=clock,
                fetch=exchanges.fetch,
                capacity=sequence.get("capacity", 1_000),
            ),
        )
        for number, step in enumerate(sequence["steps"]):
            clock.seconds = step["now"]
            exchanges.left = list(step["exchanges"])
            caller = guard.authenticate(f"Bearer {vectors['tokens'][step['token']]}")
            expected = dict(step["expected"])
            for name in ("roles", "permissions"):
                if expected.get(name) is not None:
                    expected[name] = sorted(expected[name])
            if step["requirement"] == "loadGrants":
                try:
                    loaded = guard.load_grants(caller)
                    seen = {"allow": True, "roles": sorted(loaded.roles), "permissions": sorted(loaded.permissions)}
                except Refused as refused:
                    seen = {"allow": False, "reason": refused.reason}
                self.assertEqual((seen, exchanges.left), (expected, []), (number, step["token"]))
                continue
            requirement = requirement_of(step["requirement"])
            facts = RequestFacts()
            if step.get("resource") in vectors["resources"]:
                resource = resource_of(vectors["resources"][step["resource"]])
                checks = [check for check in checks_in(requirement) if isinstance(check, ResourceAction)]
                facts = RequestFacts(resources={resource_key(check): resource for check in checks})
            decision = guard.authorize(caller, requirement, facts)
            seen = {"allow": False, "reason": getattr(decision, "reason", None)}
            if seen["reason"] is None:
                held = decision.context
                seen = {"allow": True, "roles": keys_of(held.roles), "permissions": keys_of(held.permissions)}
            self.assertEqual((seen, exchanges.left), (expected, []), (number, step["token"]))


if __name__ == "__main__":
    unittest.main()
