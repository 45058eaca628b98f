"""Removes one check at a time, and expects the vectors to notice.

A patch is a file, a text that is in it once, and what takes its place. "vectors": the golden vectors must fail.
"units": what only a socket, a start-up or a handler shows; test_http or test_requirements must fail.
Usage: mutants.py [--every=N] [word in the patched text…]: with N, each N-th patch.
"""
import asyncio  # noqa: F401  for the forks
import http.server  # noqa: F401
import json  # noqa: F401
import os
import shutil
import signal
import sys
import tempfile
import unittest
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec  # noqa: F401

PACKAGE = Path(__file__).parents[1]
SUITES = {
    "vectors": ["test_vectors", "test_decisions.Decisions.test_plain_target", "test_decisions.Decisions.test_wsgi"],
    "units": ["test_http", "test_requirements"],
}

VECTORS = [
    # The header.
    ("bearer.py", "_BEARER.fullmatch(header)", "_BEARER.match(header)"),
    ("bearer.py", 'token.startswith("sgpat_")', "False"),
    ("bearer.py", 'token.startswith("sgrt_")', "False"),
    ("jwt.py", "len(token) > self._max_length", "False"),
    ("jwt.py", "len(parts) != 3 or ", "len(parts) < 3 or "),
    ("jwt.py", "decode_object(part, unique_names=True)", "decode_object(part)"),
    ("jwt.py", "or any(name in header for name in _FORBIDDEN)", ""),
    ("jwt.py", 'header.get("alg") != "ES256"', "False"),
    ("jwt.py", 'header.get("typ") != self._typ', "False"),
    ("jwt.py", "signature is None or len(signature) != 64", "signature is None"),
    ("jwt.py", "if not key.verify(signature, signed):", "if False:"),
    ("jwt.py", "late = untimely(known.payload, self._clock())", "late = None"),
    ("jwt.py", "if not isinstance(self._key_set.find(known.kid), str):", "if True:"),
    ("jwt.py", "is_number(exp) and exp + SKEW_SECONDS <= now", "False"),
    ("jwt.py", "exp + SKEW_SECONDS <= now", "exp + SKEW_SECONDS < now"),
    ("jwt.py", "is_number(nbf) and nbf > now + SKEW_SECONDS", "False"),
    ("jwt.py", "is_number(iat) and iat > now + SKEW_SECONDS", "False"),
    ("strict_json.py", 'rstrip("=") == text', 'rstrip("=") != ""'),
    ("strict_json.py", "return value if isinstance(value, dict) else None", "return value"),
    ("strict_json.py", "parse_constant=_refuse_constant", "parse_constant=float"),
    ("token_crypto.py", "except InvalidSignature:\n            return False", "except InvalidSignature:\n            return True"),
    # The claims.
    ("access_token.py", 'payload.get("iss") != issuer', "False"),
    ("access_token.py", 'payload.get("aud") != audience', "False"),
    ("access_token.py", "untimely(payload, now_ms) or check_claims(payload)", "check_claims(payload)"),
    ("access_token.py", "untimely(payload, now_ms) or check_claims(payload)", "untimely(payload, now_ms)"),
    ("access_token.py", 'return "PROVIDER_TOKEN_NOT_ACCEPTED" if', 'return reason if'),
    ("claims.py", "if not is_count(exp):", "if False:"),
    ("claims.py", 'if not is_count(claims.get("nbf")) or not is_count(iat):', "if not is_count(iat):"),
    ("claims.py", 'if not is_count(claims.get("nbf")) or not is_count(iat):', 'if not is_count(claims.get("nbf")):'),
    ("claims.py", "if exp - iat > MAX_LIFETIME_SECONDS:", "if False:"),
    ("claims.py", 'not is_text(claims.get("jti")) or ', ""),
    ("claims.py", 'not is_text(claims.get("client_id")) or ', ""),
    ("claims.py", " or not is_count(perm_ver):", ":"),
    ("claims.py", 'if "pol_ver" in claims and not (is_count(claims["pol_ver"]) and', 'if "pol_ver" in claims and not ('),
    ("claims.py", 'claims["pol_ver"] <= perm_ver', "True"),
    ("claims.py", 'not is_texts(claims.get("scp")) or ', ""),
    ("claims.py", ' or not is_texts(claims.get("amr")):', ":"),
    ("claims.py", 'if "auth_time" in claims and not is_count(claims["auth_time"]):', "if False:"),
    ("claims.py", 'is_id("dev", claims["did"]) and ', ""),
    ("claims.py", ' and claims["gty"] == "session")', ")"),
    ("claims.py", 'not is_id("app", claims.get("app_id")) or ', ""),
    ("claims.py", ' or claims.get("principal_type") not in ("user", "service"):', ":"),
    ("claims.py", 'reason = _check_act(claims["act"], 1)', "reason = None"),
    ("claims.py", 'if not is_id("prn", claims.get("sub")):', "if False:"),
    ("claims.py", '    ("identity_id", "idn"),\n', ""),
    ("claims.py", '    ("tenant_id", "ten"),\n', ""),
    ("claims.py", '    ("context_id", "ctx"),\n', ""),
    ("claims.py", '    ("sid", "ses"),\n', ""),
    ("claims.py", '    ("osid", "ses"),\n', ""),
    ("claims.py", 'for name in ("cred_id", "job_id")', 'for name in ("job_id",)'),
    ("claims.py", 'for name in ("cred_id", "job_id")', 'for name in ("cred_id",)'),
    ("claims.py", "if not isinstance(gty, str) or gty not in _GRANTS:", "if False:"),
    ("claims.py", 'if is_user != ("identity_id" in claims):', "if False:"),
    ("claims.py", 'if ("sid" in claims) != (gty == "session"):', "if False:"),
    ("claims.py", 'if is_user == (gty == "client_credentials"):', "if False:"),
    ("claims.py", 'if "act" in claims and "job_id" in claims', 'if "act" in claims'),
    ("claims.py", 'if "act" in claims and "job_id" in claims', 'if "job_id" in claims'),
    ("claims.py", 'for name in ("act", "job_id", "osid")', 'for name in ("job_id", "osid")'),
    ("claims.py", 'for name in ("act", "job_id", "osid")', 'for name in ("act", "osid")'),
    ("claims.py", 'for name in ("act", "job_id", "osid")', 'for name in ("act", "job_id")'),
    ("claims.py", "if depth > MAX_ACT_DEPTH:", "if False:"),
    ("claims.py", 'not is_id("prn", act.get("sub")) or ', ""),
    ("claims.py", 'act.get("principal_type") != "service" or ', ""),
    ("claims.py", ' or not is_text(act.get("client_id")):', ":"),
    ("claims.py", 'return _check_act(act["act"], depth + 1) if "act" in act else None', "return None"),
    ("ids.py", "match[1] == kind", "True"),
    ("ids.py", "_ID.fullmatch(value)", "_ID.match(value)"),
    # The key set.
    ("jwks.py", 'len(jwk_set["keys"]) > MAX_KEYS', "False"),
    ("jwks.py", "if kid in keys:", "if False:"),
    ("jwks.py", '!= ("EC", "P-256", "sig")', '[:2] != ("EC", "P-256")'),
    ("jwks.py", 'or jwk.get("alg", "ES256") != "ES256"', ""),
    ("key_set.py", "loaded is None or self._clock() - loaded.fetched_at_ms > self._limits.max_age_ms", "loaded is None"),
    ("key_set.py", "loaded is None or self._clock() - loaded.fetched_at_ms > self._limits.max_stale_ms", "loaded is None"),
    ("key_set.py", "if now_ms - self._tried_at_ms < pause_ms:", "if False:"),
    ("key_set.py", "limits.first_cooldown_ms if self._loaded is None else limits.cooldown_ms", "limits.cooldown_ms"),
    ("key_set.py", "if self._is_known_unknown(kid):", "if False:"),
    ("key_set.py", "limits.timeout_ms, limits.max_bytes", "limits.timeout_ms, 10**9"),
    # Steps 1 to 3.
    ("authorize.py", 'return Allow(None) if is_open else denial_of(context)', "return Allow(None)"),
    ("authorize.py", "if inactive is not None:", "if False:"),
    ("authorize.py", "context.actor is not None and not outcome.takes_actor", "False"),
    ("liveness.py", 'facts.principal != "ACTIVE" or ', ""),
    ("liveness.py", ' or "PRINCIPAL" in revoked:', ":"),
    ("liveness.py", 'context.actor is not None and facts.actor != "ACTIVE"', "False"),
    ("liveness.py", 'context.identity_id is not None and facts.identity != "ACTIVE"', "False"),
    ("liveness.py", 'session.status != "ACTIVE" or ', ""),
    ("liveness.py", ' or "SESSION" in revoked:', ":"),
    ("liveness.py", " or session.absolute_expires_at_ms <= now_ms", ""),
    ("liveness.py", 'if "CREDENTIAL" in revoked:', "if False:"),
    ("liveness.py", 'if "TOKEN" in revoked:', "if False:"),
    ("liveness.py", "versions.principal >= minimum.principal and ", ""),
    ("liveness.py", " and versions.policy >= minimum.policy", ""),
    ("context.py", "None if context.delegation is None else context.delegation.origin_session_id", "None"),
    ("check.py", "call.now_ms - as_of_ms <= freshness.max_staleness_ms", "True"),
    ("check.py", 'isinstance(check, Device) and call.context.device_id is None', "False"),
    # Steps 4 to 8.
    ("check.py", "call.app_id is not None and call.app_id != context.app_id", "False"),
    ("authorize.py", "question.app_id is None or question.app_id == context.app_id", "True"),
    ("check.py", "if displaced is not None:", "if False:"),
    ("liveness.py", 'facts.app != "ACTIVE" or ', ""),
    ("liveness.py", 'or facts.tenant not in (None, "ACTIVE") ', ""),
    ("liveness.py", ' or facts.context not in (None, "ACTIVE"):', ":"),
    ("liveness.py", 'return None if facts.membership == "ACTIVE" else', "return None if True else"),
    ("check.py", "if context.tenant_id is None:", "if False:"),
    ("check.py", "request.tenants.get(tenant_key(check)) != context.tenant_id", "False"),
    ("check.py", "resource is not None and resource.type == check.type", "resource is not None"),
    ("check.py", "if problem is not None:", "if False:"),
    ("grants.py", "if role is None or role.key != key:", "if role is None:"),
    ("grants.py", "return grant.resource is None and _reaches(", "return _reaches("),
    ("guard.py", "caller.roles is not NOT_LOADED or ", "True or "),
    ("grants.py", "if resource.app_id != context.app_id:", "if False:"),
    ("grants.py", "if resource.tenant_id != context.tenant_id:", "if False:"),
    ("grants.py", "return None if resource.context_id == context.context_id else", "return None if True else"),
    ("check.py", "isinstance(check, Kinds) and call.context.principal.kind not in check.of", "False"),
    ("check.py", "isinstance(check, Scope) and check.scope not in call.context.scopes", "False"),
    ("check.py", "snapshot is None or not is_held_at(", "snapshot is not None and not is_held_at("),
    ("check.py", "if max_auth_age_seconds is None:", "if True:"),
    ("check.py", "auth_time_ms is not None and ", "auth_time_ms is None or "),
    ("check.py", "if is_held_on(call.snapshot, call.context, check.action, resource, call.now_ms):", "if True:"),
    ("check.py", 'return Failure(8, "ACTOR_REQUIRED") if isinstance(check, Delegated) else None', "return None"),
    ("check.py", "delegation.actor.id not in check.actors and delegation.actor_client_id not in check.actors", "False"),
    ("evaluate.py", "if passed if isinstance(check, AnyOf) else not failures:", "if passed:"),
    ("evaluate.py", "if passed if isinstance(check, AnyOf) else not failures:", "if not failures:"),
    ("evaluate.py", "(max if is_any else min)", "(min if is_any else max)"),
    ("evaluate.py", "any(failure.introspect for failure in failures)", "told.introspect"),
    ("evaluate.py", "if own_age > 0:", "if False:"),
    ("evaluate.py", "inherited.freshness if own.freshness is None else own.freshness", "inherited.freshness"),
    # What was granted.
    ("grants.py", "if not any(permission in snapshot.scopes.get(scope, ()) for scope in context.scopes):", "if False:"),
    ("grants.py", "role is None or permission not in role.permissions", "role is None"),
    ("grants.py", "grant.expires_at_ms is None or now_ms < grant.expires_at_ms", "True"),
    ("grants.py", "return is_inherited and _is_around(grant.place, resource.place)", "return _is_around(grant.place, resource.place)"),
    ("grants.py", "grant.place == resource.place and grant.resource ==", "grant.resource =="),
    ("grants.py", " and grant.resource == (resource.type, resource.id)", ""),
    ("grants.py", "outer.app_id == place.app_id\n        and outer.tenant_id in (None, place.tenant_id)", "outer.app_id == place.app_id"),
    ("grants.py", "\n        and outer.context_id in (None, place.context_id)", ""),
    ("grants.py", "for one in role.permissions if one in usable", "for one in role.permissions"),
    ("snapshot.py", 'payload.get("iss") == issuer', "True"),
    ("snapshot.py", '\n        and payload.get("sub") == key.principal_id', ""),
    ("snapshot.py", '\n        and payload.get("app_id") == key.place.app_id', ""),
    ("snapshot.py", '\n        and payload.get("tenant_id") == key.place.tenant_id', ""),
    ("snapshot.py", '\n        and payload.get("context_id") == key.place.context_id', ""),
    ("snapshot.py", '\n        and payload["perm_ver"] == key.perm_ver', ""),
    ("snapshot.py", 'or not isinstance(value.get("inheritable"), bool)', ""),
    ("snapshot.py", '"tenant_id" in value and not is_id("ten", value["tenant_id"])', "False"),
    ("snapshot.py", '"context_id" in value and not is_id("ctx", value["context_id"])', "False"),
    ("snapshot.py", '"expires_at_ms" in value and not is_safe_integer(value["expires_at_ms"])', "False"),
    ("permission_snapshots.py", "return untimely(payload, now_ms) or payload", "return payload"),
    ("permission_snapshots.py", "if error.status == 409:", "if False:"),
    ("permission_snapshots.py", 'typ="perm+jwt"', 'typ="at+jwt"'),
    ("permission_snapshots.py", "len(self._held) > self._capacity or ", ""),
    # The feed.
    ("statement.py", "if statement.issuer != issuer:", "if False:"),
    ("statement.py", "as_of_ms > now_ms + SKEW_SECONDS * 1_000 or ", ""),
    ("statement.py", " or as_of_ms < now_ms - _MAX_AGE_MS", ""),
    ("statement.py", "if statement.seq_from != 0:", "if False:"),
    ("statement.py", "if as_of_ms < position.as_of_ms:", "if False:"),
    ("statement.py", "known_ms = as_of_ms if is_whole else position.as_of_ms", "known_ms = as_of_ms"),
    ("statement.py", "if statement.head < position.head:", "if False:"),
    ("statement.py", "if statement.seq_from > position.seq:", "if False:"),
    ("statement.py", "max(position.as_of_ms, as_of_ms) if is_whole else position.as_of_ms", "max(position.as_of_ms, as_of_ms)"),
    ("statement.py", "start > end or end > newest or ", ""),
    ("statement.py", "entry is None or entry.seq <= start or entry.seq > end", "entry is None"),
    ("statement.py", "not isinstance(kind, str) or kind not in KINDS", "not isinstance(kind, str)"),
    ("statement.py", "if has_bound and not is_count(value[\"issued_before\"]):", "if False:"),
    ("statement.py", 'if (kind in ("AUTHORITY", "POLICY")) != ("min_version" in value):', "if False:"),
    ("statement.py", 'if kind == "ISSUER_EPOCH" and not has_bound:', "if False:"),
    ("revocation_set.py", "len(self._entries) >= self._capacity and name not in self._entries", "False"),
    ("revocation_set.py", "if _is_over(entry, now_ms):\n                    continue", "if False:\n                    continue"),
    ("revocation_set.py", "None if entry is None or _is_over(entry, now_ms) else entry", "entry"),
    ("revocation_set.py", 'return "before" if issued_at_ms < entry.issued_before_ms else None', "return None"),
    ("revocation_set.py", 'return "before" if issued_at_ms < entry.issued_before_ms else None', 'return "before"'),
    ("revocation_set.py", '"PRINCIPAL": principal == "all",', '"PRINCIPAL": False,'),
    ("revocation_set.py", '"SESSION": reach("SESSION", session_of(context)) is not None,', '"SESSION": False,'),
    ("revocation_set.py", '"CREDENTIAL": reach("CREDENTIAL", context.credential_id) is not None,', '"CREDENTIAL": False,'),
    ("revocation_set.py", 'is_old or reach("TOKEN", context.token_id) is not None', "is_old"),
    ("revocation_set.py", 'is_old or reach("TOKEN", context.token_id) is not None', 'reach("TOKEN", context.token_id) is not None'),
    ("revocation_set.py", 'actor="SUSPENDED" if actor == "all" else "ACTIVE"', 'actor="ACTIVE"'),
    ("revocation_set.py", 'app="SUSPENDED" if app == "all" else "ACTIVE"', 'app="ACTIVE"'),
    ("revocation_set.py", "tenant=_status_of(context.tenant_id, tenant)", "tenant=None"),
    ("revocation_set.py", "context=_status_of(context.context_id, place)", "context=None"),
    ("revocation_set.py", "AuthorityVersions(_min_version(authority), _min_version(policy))", "AuthorityVersions(0, _min_version(policy))"),
    ("revocation_set.py", "AuthorityVersions(_min_version(authority), _min_version(policy))", "AuthorityVersions(_min_version(authority), 0)"),
    ("revocation_feed.py", 'return "KEY_UNKNOWN" if self._revoked.is_key_revoked(kid, self._clock()) else', "return"),
    ("revocation_feed.py", "if not is_same or entry.seq > position.seq", ""),
    ("revocation_feed.py", "as_of_ms = max(self.as_of_ms, issued_at_ms) if is_told else issued_at_ms", "as_of_ms = now_ms"),
    ("revocation_feed.py", "beginnings < _MAX_BEGINNINGS", "False"),
    ("introspection.py", 'if answer.get("active") is False:', "if False:"),
    ("introspection.py", ' or answer.get("jti") != context.token_id', ""),
    ("guard.py", "default_freshness = _WITHOUT_LIVENESS if self._liveness is None else _WITH_LIVENESS", "default_freshness = _WITHOUT_LIVENESS"),
    ("guard.py", 'return self._decide(_Held("UNAVAILABLE", None), requirement, request, None)', "liveness = None"),
    ("guard.py", "if isinstance(snapshot, str):", "if False:"),
    ("guard.py", "key_set if revocations is None else revocations.without_revoked(key_set)", "key_set"),
    # HTTP.
    ("problem.py", 'if refused.reason in _WITHOUT_ERROR:', "if False:"),
    ("problem.py", 'if refused.status != 401:', "if True:"),
    ("target.py", "resource = self._find_resource(check.type, named)", "resource = None"),
]

UNITS = [
    ("jwt.py", "not isinstance(kid, str) or KID.fullmatch(kid) is None", "not isinstance(kid, str)"),
    ("jwks.py", "or KID.fullmatch(kid) is None", ""),
    ("authorize.py", "is_taken = context.actor is None or requirement.allow_delegated", "is_taken = True"),
    ("target.py", 'if isinstance(self.requirement.check, Public):', "if False:"),
    ("fetch.py", "if response.status != 200:", "if False:"),
    ("fetch.py", "if len(data) > request.max_bytes:", "if False:"),
    ("fetch.py", "if response.length:", "if False:"),
    ("fetch.py", "exchange.done.wait(request.timeout_ms / 1_000)", "exchange.done.wait()"),
    ("fetch.py", 'url.scheme not in ("http", "https") or ', ""),
    ("fetch.py", " or url.username is not None", ""),
    ("fetch.py", "request.cancel.add(exchange.end)", "pass"),
    ("fetch.py", '.decode("utf-8-sig")', '.decode("latin-1")'),
    ("shared_run.py", "joined = self._under_way.get(name)", "joined = None"),
    ("jwt.py", "while len(self._verified) >= self._cache_size and", "while False and"),
    ("jwt.py", "digest = hashlib.sha256(", "digest = hashlib.sha256(b'' and "),
    ("routes.py", "unique_names=True", "unique_names=False"),
    ("routes.py", "if len(spellings) != 1 or spellings[0] not in names:", "if not spellings:"),
    ("routes.py", "one.casefold() in folded", "one in names"),
    ("routes.py", 'if any(charset.lower() != "utf-8"', 'if any(False and charset.lower() != "utf-8"'),
    ("routes.py", "or _JSON_TYPE.match(content_type) is None", ""),
    ("routes.py", "earlier.template.covers(guarded.template)", "False"),
    ("routes.py", "if route.method != WEBSOCKET:", "if True:"),
    ("path_template.py", "if len(parts) != len(self._segments):", "if False:"),
    ("path_template.py", "if part != text:", "if False:"),
    ("wsgi.py", 'str(environ.get("PATH_INFO", ""))', 'f"{environ.get(\'SCRIPT_NAME\', \'\')}{environ.get(\'PATH_INFO\', \'\')}"'),
    ("wsgi.py", "if len(data) <= max_bytes:", "if True:"),
    ("asgi.py", "if not isinstance(caller, str):", "if True:"),
    ("asgi.py", 'raise ValueError(f"a scope of the type', 'return await self._app(scope, receive, send)\n            raise ValueError(f"a scope of the type'),
    ("asgi.py", 'f"{headers[name]}, {value}" if name in headers else value', "value"),
    ("asgi.py", 'WEBSOCKET if scope["type"] == "websocket" else scope["method"]', 'scope.get("method", "GET")'),
    ("asgi.py", "return messages.pop(0) if messages else await receive()", "return await receive()"),
    ("guard.py", 'app_id is not ANY_APP and not is_id("app", app_id)', "False"),
    ("target.py", "if self._resources and find_resource is None:", "if False:"),
    ("requirement.py", "check_requirement(part, readable, True)", "pass"),
    ("requirement.py", "if in_composite:", "if False:"),
    ("requirement.py", "if check.proof is not False:", "if False:"),
    ("requirement.py", "can_read is None or not can_read(field)", "False"),
    ("revocation_feed.py", "self._cancel.set()", "pass"),
    ("revocation_feed.py", "if self._thread is None and", "if True and"),
    ("service_token.py", "if self._held is not None and self._held.token == refused:", "if False:"),
    ("service_token.py", "if error.status != 401:", "if True:"),
    ("problem.py", '_NOT_QUOTABLE.sub("", value)', "value"),
    ("context.py", "claims=frozen(claims)", "claims=claims"),
]


def survives(patch, suite, folder):
    """Whether the tests pass although the check is gone."""
    name, before, after = patch
    file = folder / "signet_guard" / name
    text = file.read_text("utf-8")
    file.write_text(text.replace(before, after, 1), "utf-8")
    # A fork has what takes long to import already, and nothing of the guard.
    child = os.fork()
    if child == 0:
        run_tests(folder, SUITES[suite])
    status = os.waitpid(child, 0)[1]
    file.write_text(text, "utf-8")
    return status == 0


def run_tests(folder, names):
    """Ends the process: with 0 when all tests pass."""
    # Ends a child that hangs.
    signal.alarm(60)
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    sys.path.insert(0, str(folder))
    code = 1
    try:
        suite = unittest.defaultTestLoader.loadTestsFromNames(names)
        code = 0 if unittest.TextTestRunner(failfast=True).run(suite).wasSuccessful() else 1
    finally:
        os._exit(code)


def main():
    steps = [int(word.removeprefix("--every=")) for word in sys.argv[1:] if word.startswith("--every=")]
    words = [word for word in sys.argv[1:] if not word.startswith("--every=")]
    # What is patched is the copy: no other may be found, and none compiled before.
    sys.dont_write_bytecode = True
    sys.path[:] = [path for path in sys.path if Path(path or ".").resolve() != PACKAGE]
    patches = [("vectors", patch) for patch in VECTORS] + [("units", patch) for patch in UNITS]
    for _, (file, before, _) in patches:
        if before not in (PACKAGE / "signet_guard" / file).read_text("utf-8"):
            raise SystemExit(f"{file}: nothing there to remove: {before}")
    named = [(suite, patch) for suite, patch in patches if not words or any(word in str(patch) for word in words)]
    chosen = named[:: steps[0] if steps else 1]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for package in ("signet_guard", "signet"):
            shutil.copytree(PACKAGE / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
        survivors = [(suite, patch) for suite, patch in chosen if survives(patch, suite, folder)]
    for suite, (file, before, after) in survivors:
        print(f"not noticed by {suite}: {file}: {before!r} -> {after!r}")
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} removed checks were noticed")
    sys.exit(1 if survivors else 0)


if __name__ == "__main__":
    main()
