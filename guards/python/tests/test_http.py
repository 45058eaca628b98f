"""Sockets and threads: the limits of requests, the targets' edges, the feed in the background."""
import asyncio
import io
import json
import threading
import time
import unittest

from signet_guard import (
    ANY_APP,
    BODY,

    Guard,
    KeySet,
    KeySetLimits,
    Refused,
    RevocationFeed,
    Route,
    ServiceToken,
    Target,
    any_of,
    body_credential,
    kinds,
    public,
    scope,
    tenant,
)
from signet_guard.asgi import AsgiGuard
from signet_guard.fetch import Cancel, FetchError, FetchRequest, StatusError, fetch_text
from signet_guard.jwks import parse_jwks
from signet_guard.problem import challenge_of
from signet_guard.routes import json_field
from signet_guard.service_token import with_token
from signet_guard.wsgi import WsgiGuard, call_of

from http_issuer import HttpIssuer, cut, drip, text
from world import Keys, Signer, World, read_vectors

WORLD = World(read_vectors("decisions.json"))
TENANT = WORLD.vectors["claims"]["tenant_id"]


def guard_of(keys=None):
    return Guard(
        issuer=WORLD.vectors["issuer"],
        audience=WORLD.vectors["audience"],
        app_id=ANY_APP,
        key_set=Keys(WORLD.issuer) if keys is None else keys,
        clock=WORLD.clock,
    )


def bearer():
    return WORLD.authorization_of("user")


class Fetch(unittest.TestCase):
    def test_limits(self):
        elsewhere = text("", 302, [("location", "/keys")])
        answers = {
            "/keys": text('{"keys":[]}'),
            "/elsewhere": elsewhere,
            "/large": text("x" * 65_537),
            "/full": text("x" * 65_536),
            "/drip": drip,
            "/cut": cut,
            "/latin": text(b"\xff"),
            "/bom": text(b"\xef\xbb\xbf{}"),
        }
        with HttpIssuer(answers) as issuer:

            def fetch(path, **options):
                return fetch_text(FetchRequest(f"{issuer.url}{path}", **options))

            self.assertEqual(fetch("/keys"), '{"keys":[]}')
            self.assertEqual(len(fetch("/full")), 65_536)
            self.assertEqual(fetch("/bom"), "{}")
            with self.assertRaises(StatusError) as refused:
                fetch("/elsewhere")
            self.assertEqual(refused.exception.status, 302)
            self.assertEqual(issuer.asked.count("/keys"), 1)
            for path in ("/large", "/cut", "/latin"):
                with self.subTest(path), self.assertRaises((FetchError, ValueError, OSError)):
                    fetch(path)
            began = time.monotonic()
            with self.assertRaises(FetchError):
                fetch("/drip", timeout_ms=200)
            self.assertLess(time.monotonic() - began, 1.5)

    def test_only_http_addresses(self):
        for url in ("file:///etc/passwd", "ftp://127.0.0.1/", "http://a@127.0.0.1/", "//127.0.0.1/", "keys"):
            with self.subTest(url), self.assertRaises(FetchError):
                fetch_text(FetchRequest(url))

    def test_a_request_ends_when_it_is_canceled(self):
        with HttpIssuer({"/drip": drip}) as issuer:
            cancel = Cancel()
            threading.Timer(0.1, cancel.set).start()
            began = time.monotonic()
            with self.assertRaises(FetchError):
                fetch_text(FetchRequest(f"{issuer.url}/drip", cancel=cancel))
            self.assertLess(time.monotonic() - began, 2)

    def test_an_environments_proxy_is_not_used(self):
        import os
        from unittest import mock

        with HttpIssuer({"/keys": text("{}")}) as issuer:
            with mock.patch.dict(os.environ, {"http_proxy": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9"}):
                self.assertEqual(fetch_text(FetchRequest(f"{issuer.url}/keys")), "{}")


class Threads(unittest.TestCase):
    def test_many_threads_share_one_fetch(self):
        signer, fetches = Signer(), []

        def fetch(request):
            fetches.append(request)
            time.sleep(0.05)
            return json.dumps({"keys": [signer.jwk()]})

        keys = KeySet("https://auth.example/jwks", clock=WORLD.clock, fetch=fetch)
        guard = guard_of(keys)
        header = f"Bearer {signer.sign(WORLD.vectors['header'], WORLD.vectors['claims'])}"
        found = []
        threads = [threading.Thread(target=lambda: found.append(guard.authenticate(header))) for _ in range(24)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(fetches), 1)
        self.assertEqual({caller.principal.id for caller in found}, {WORLD.vectors["claims"]["sub"]})

    def test_a_cache_that_is_full_forgets_the_oldest_and_stays_right(self):
        signer = Signer()
        guard = Guard(
            issuer=WORLD.vectors["issuer"],
            audience=WORLD.vectors["audience"],
            app_id=ANY_APP,
            key_set=Keys(signer),
            clock=WORLD.clock,
            cache_size=3,
        )
        headers = {}
        for i in range(10):
            claims = {**WORLD.vectors["claims"], "jti": f"jti-{i}"}
            headers[f"jti-{i}"] = f"Bearer {signer.sign(WORLD.vectors['header'], claims)}"
        wrong = []

        def call():
            for _ in range(5):
                for jti, header in headers.items():
                    caller = guard.authenticate(header)
                    if isinstance(caller, str) or caller.token_id != jti:
                        wrong.append((jti, caller))

        threads = [threading.Thread(target=call) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])
        self.assertLessEqual(len(guard._verify._verified), 3)


def wsgi_call(app, method="GET", path="/notes", headers=None, body=b"", **environ):
    started = []
    asked = {
        "REQUEST_METHOD": method,
        "PATH_INFO": path,
        "CONTENT_LENGTH": str(len(body)),
        "CONTENT_TYPE": "application/json",
        "wsgi.input": io.BytesIO(body),
        **(headers or {}),
        **environ,
    }
    told = b"".join(app(asked, lambda status, lines: started.append((int(status[:3]), dict(lines)))))
    return (*started[0], told)


class Wsgi(unittest.TestCase):
    def app(self, *routes, **options):
        def echo(environ, start_response):
            start_response("200 OK", [])
            return [environ["wsgi.input"].read()]

        routes = [Route(*route) for route in routes]
        return WsgiGuard(echo, guard=guard_of(), routes=routes, **options)

    def test_what_is_not_listed_is_refused(self):
        app = self.app(("GET", "/notes", public()), ("GET", "/notes/{id}", public()))
        for method, path, status in [
            ("GET", "/notes", 200),
            ("HEAD", "/notes", 200),
            ("GET", "/notes/1", 200),
            ("GET", "/Notes", 404),
            ("GET", "/notes/", 404),
            ("GET", "//notes", 404),
            ("GET", "/notes/1/2", 404),
            ("POST", "/notes", 404),
            ("OPTIONS", "/notes", 404),
            ("get", "/notes", 404),
            ("WEBSOCKET", "/notes", 404),
        ]:
            with self.subTest(f"{method} {path}"):
                self.assertEqual(wsgi_call(app, method, path)[0], status)
        problem = json.loads(wsgi_call(app, "GET", "/other")[2])
        self.assertEqual(problem["reason"], "METHOD_UNKNOWN")

    def test_a_route_is_what_the_application_routes_on_whatever_script_name_says(self):
        app = self.app(("GET", "/public/{page}", public()), ("GET", "/admin", scope("notes.admin")))
        self.assertEqual(wsgi_call(app, path="/public/1", SCRIPT_NAME="/api")[0], 200)
        # Some servers take it from a header of the caller.
        self.assertEqual(wsgi_call(app, path="/admin", SCRIPT_NAME="/public")[0], 401)

    def test_a_body_is_believed_only_when_it_is_read_in_one_way(self):
        app = self.app(("POST", "/notes", tenant(BODY, "tenant_id")), max_body_bytes=200)
        auth = {"HTTP_AUTHORIZATION": bearer()}
        good = json.dumps({"tenant_id": TENANT}).encode("ascii")
        self.assertEqual(wsgi_call(app, "POST", headers=auth, body=good)[::2], (200, good))
        camel = json.dumps({"tenantId": TENANT}).encode("ascii")
        self.assertEqual(wsgi_call(app, "POST", headers=auth, body=camel)[0], 200)
        for body, environ in [
            (json.dumps({"tenant_id": TENANT, "tenantId": TENANT}).encode(), {}),
            (json.dumps({"tenant_id": TENANT, "TENANT_ID": "ten_other"}).encode(), {}),
            (json.dumps({"tenantId": TENANT, "TENANT_ID": "ten_other"}).encode(), {}),
            (json.dumps({"TENANT_ID": TENANT}).encode(), {}),
            (good, {"CONTENT_TYPE": "application/json; charset=utf-7"}),
            (f'{{"tenant_id":"x","tenant_id":"{TENANT}"}}'.encode(), {}),
            (json.dumps({"tenant_id": [TENANT]}).encode(), {}),
            (json.dumps([{"tenant_id": TENANT}]).encode(), {}),
            (good + b" " * 200, {}),
            (good, {"CONTENT_TYPE": "text/plain"}),
            (good, {"CONTENT_TYPE": ""}),
            (good, {"CONTENT_LENGTH": ""}),
            (good, {"CONTENT_LENGTH": "-1"}),
            (good[:-1], {}),
            (b"\xff" + good, {}),
            (b"NaN", {}),
            (b"[" * 150, {}),
        ]:
            with self.subTest(body[:40]):
                status, _, told = wsgi_call(app, "POST", headers=auth, body=body, **environ)
                self.assertEqual((status, json.loads(told)["reason"]), (403, "TENANT_MISMATCH"))

    def test_a_body_that_is_too_long_to_decide_by_still_reaches_the_handler(self):
        either = any_of(kinds("USER"), tenant(BODY, "tenant_id"))
        app = self.app(("POST", "/notes", either), max_body_bytes=10)
        body = json.dumps({"text": "x" * 20_000}).encode("ascii")
        self.assertEqual(wsgi_call(app, "POST", headers={"HTTP_AUTHORIZATION": bearer()}, body=body)[::2], (200, body))

    def test_the_body_of_a_caller_that_is_unknown_is_not_read(self):
        app = self.app(("POST", "/notes", tenant(BODY, "tenant_id")))
        body = io.BytesIO(b"{}")
        status, headers, _ = wsgi_call(app, "POST", body=b"{}", **{"wsgi.input": body})
        self.assertEqual((status, body.tell()), (401, 0))
        self.assertEqual(headers["www-authenticate"], 'Bearer realm="signet"')

    def test_denials_are_heard_with_their_true_reason(self):
        heard = []
        app = self.app(
            ("GET", "/notes", scope("notes.write")), on_deny=lambda deny, caller: heard.append((deny.reason, caller))
        )
        wsgi_call(app, headers={"HTTP_AUTHORIZATION": bearer()})
        self.assertEqual(heard[0][0], "MISSING_SCOPE")
        self.assertEqual(heard[0][1].principal.id, WORLD.vectors["claims"]["sub"])

    def test_a_request_that_passed_no_guard_has_no_caller(self):
        for environ in ({}, {"signet.call": "prn_1"}):
            with self.assertRaises(KeyError):
                call_of(environ)


class Asgi(unittest.TestCase):
    def drive(self, app, scope_, *messages):
        sent, left = [], list(messages)

        async def receive():
            return left.pop(0)

        async def send(message):
            sent.append(message)

        asyncio.run(app({"headers": [], **scope_}, receive, send))
        return sent, left

    def app(self, *routes, **options):
        async def echo(scope_, receive, send):
            data = b""
            if scope_["type"] == "http":
                while True:
                    message = await receive()
                    data += message.get("body", b"")
                    if not message.get("more_body"):
                        break
            await send({"type": "ran", "body": data})

        routes = [Route(*route) for route in routes]
        return AsgiGuard(echo, guard=guard_of(), routes=routes, **options)

    def test_a_body_in_parts_is_read_and_read_again(self):
        app = self.app(("POST", "/notes", tenant(BODY, "tenant_id")))
        body = json.dumps({"tenant_id": TENANT}).encode("ascii")
        parts = [
            {"type": "http.request", "body": body[:5], "more_body": True},
            {"type": "http.request", "body": body[5:], "more_body": False},
        ]
        headers = [(b"Authorization", bearer().encode()), (b"content-type", b"application/json; charset=utf-8")]
        asked = {"type": "http", "method": "POST", "path": "/notes", "headers": headers}
        sent, left = self.drive(app, asked, *parts)
        self.assertEqual((sent, left), ([{"type": "ran", "body": body}], []))
        # A body that is too long decides nothing, and is not lost.
        either = self.app(("POST", "/notes", any_of(kinds("USER"), tenant(BODY, "t"))), max_body_bytes=3)
        self.assertEqual(self.drive(either, asked, *parts), ([{"type": "ran", "body": body}], []))

    def test_the_body_of_a_caller_that_is_unknown_is_not_read(self):
        app = self.app(("POST", "/notes", tenant(BODY, "tenant_id")))
        message = {"type": "http.request", "body": b"{}"}
        sent, left = self.drive(app, {"type": "http", "method": "POST", "path": "/notes"}, message)
        self.assertEqual((sent[0]["status"], left), (401, [message]))

    def test_two_authorization_headers_are_refused(self):
        app = self.app(("GET", "/notes", scope("notes.read")))
        line = (b"authorization", bearer().encode())
        sent, _ = self.drive(app, {"type": "http", "method": "GET", "path": "/notes", "headers": [line, line]})
        self.assertEqual(json.loads(sent[1]["body"])["reason"], "MALFORMED_CREDENTIAL")

    def test_a_websocket_is_guarded_before_it_is_accepted(self):
        app = self.app(("GET", "/feed", public()), ("WEBSOCKET", "/live", scope("notes.read")))
        asked = {"type": "websocket", "path": "/live"}
        connect = {"type": "websocket.connect"}
        sent, _ = self.drive(app, asked, connect)
        self.assertEqual(sent, [{"type": "websocket.close", "code": 1008, "reason": "NO_CREDENTIAL"}])
        sent, _ = self.drive(app, {**asked, "extensions": {"websocket.http.response": {}}}, connect)
        self.assertEqual((sent[0]["type"], sent[0]["status"]), ("websocket.http.response.start", 401))
        # A route for GET does not let a WebSocket pass.
        sent, _ = self.drive(app, {**asked, "path": "/feed"}, connect)
        self.assertEqual(sent[0]["reason"], "METHOD_UNKNOWN")
        headers = [(b"authorization", bearer().encode())]
        sent, _ = self.drive(app, {**asked, "headers": headers}, connect)
        self.assertEqual(sent[0]["type"], "ran")
        with self.assertRaisesRegex(ValueError, "BODY has no field"):
            self.app(("WEBSOCKET", "/live", tenant(BODY, "tenant_id")))

    def test_lifespan_passes_and_what_is_unknown_does_not(self):
        app = self.app()
        self.assertEqual(self.drive(app, {"type": "lifespan"})[0][0]["type"], "ran")
        with self.assertRaises(ValueError):
            self.drive(app, {"type": "webtransport", "path": "/"})


class Feed(unittest.TestCase):
    def test_it_follows_in_the_background_and_stops(self):
        vectors = read_vectors("feed.json")
        first = vectors["sequences"][0]["steps"]
        pages = [step["exchanges"][0]["answer"] for step in first if "exchanges" in step]
        told, problems = iter([pages[0], {"statement": "no statement"}, pages[1]]), []
        last = threading.Event()

        def answer(handler):
            page = next(told, None)
            if page is None:
                last.set()
                return drip(handler)
            return text(json.dumps(page))(handler)

        from test_vectors import Published

        answers = {"/auth/revocations/snapshot": answer, "/auth/revocations": answer}
        with HttpIssuer(answers) as issuer:
            feed = RevocationFeed(
                issuer=vectors["issuer"],
                base_url=issuer.url,
                statement_keys=Published(vectors["statementJwks"]),
                token=lambda refused: "own",
                clock=lambda: (vectors["now"] + 1) * 1_000,
                on_problem=lambda problem, cause: problems.append(problem),
            )
            feed.start()
            feed.start()
            self.assertEqual([thread.name for thread in threading.enumerate()].count("signet-revocations"), 1)
            self.assertTrue(last.wait(10))
            self.assertEqual((feed.seq, len(feed), problems), (1, 1, ["MALFORMED_CREDENTIAL"]))
            began = time.monotonic()
            feed.stop()
            self.assertLess(time.monotonic() - began, 2)
            self.assertEqual(len(issuer.asked), 4)

    def test_a_token_that_was_refused_is_replaced_once(self):
        issued = iter(["one", "two", "three"])
        answers = {"/token": lambda handler: text(json.dumps({"access_token": next(issued), "expires_in": 600}))(handler)}
        with HttpIssuer(answers) as issuer:
            token = ServiceToken(url=f"{issuer.url}/token", client_id="c", client_secret="s", audience="auth", scope="a b")
            self.assertEqual([token(), token(), token("none of these")], ["one"] * 3)
            used = []

            def call(own):
                used.append(own)
                raise StatusError(401)

            with self.assertRaises(StatusError):
                with_token(token, call)
            self.assertEqual((used, token()), (["one", "two"], "two"))


class Small(unittest.TestCase):
    def test_a_kid_of_another_shape_reaches_no_key_set(self):
        asked = []

        class Asked:
            def find(self, kid):
                asked.append(kid)
                return "KEY_UNKNOWN"

        guard = guard_of(Asked())
        for kid in ("../key-1", "k" * 129, "", "key 1", "key-1\n", "other"):
            token = WORLD.issuer.sign({**WORLD.vectors["header"], "kid": kid}, WORLD.vectors["claims"])
            self.assertEqual(guard.authenticate(f"Bearer {token}"), "KEY_UNKNOWN")
        self.assertEqual(asked, ["other"])
        self.assertEqual(list(parse_jwks(json.dumps({"keys": [Signer("a b").jwk(), Signer("ab").jwk()]}))), ["ab"])

    def test_a_public_route_looks_at_no_token(self):
        class Untouched(Guard):
            def authenticate(self, header):
                raise AssertionError("a token was looked at")

        guard = Untouched(issuer="i", audience="a", app_id=ANY_APP, key_set=Keys())
        target = Target(guard, public(), {})
        self.assertIsNone(target.authorize(target.authenticate("Bearer stale"), dict).context)

    def test_a_credential_in_the_body_brings_an_actor_only_where_that_is_allowed(self):
        header = WORLD.authorization_of("on behalf")
        for allowed in (False, True):
            target = Target(guard_of(), body_credential(allow_delegated=allowed), {})
            context = target.authorize(target.authenticate(header), dict).context
            self.assertEqual(context is not None, allowed)

    def test_a_challenge_cannot_be_broken_out_of(self):
        refused = Refused("MISSING_SCOPE", metadata={"scope": 'a"\r\nset-cookie: b=\\c\u00e9'})
        self.assertEqual(
            challenge_of(refused), 'Bearer realm="signet", error="insufficient_scope", scope="aset-cookie: b=c"'
        )

    def test_a_reason_that_does_not_exist_is_a_fault(self):
        with self.assertRaises(KeyError):
            Refused("NO_SUCH_REASON")

    def test_nothing_in_a_context_changes(self):
        caller = guard_of().authenticate(bearer())
        with self.assertRaises(AttributeError):
            caller.tenant_id = "ten_other"
        with self.assertRaises(TypeError):
            caller.claims["tenant_id"] = "ten_other"
        with self.assertRaises(AttributeError):
            caller.claims["scp"].append("notes.write")
        with self.assertRaises(AttributeError):
            caller.scopes.add("notes.write")

    def test_a_field_that_a_handler_could_read_otherwise_is_none(self):
        self.assertEqual(json_field({"note": {"tenantId": "t"}}, "note.tenant_id"), "t")
        for value in (None, [], {"note": None}, {"note": {"tenant_id": ""}}, {"note": {"tenant_id": 1}}):
            self.assertIsNone(json_field(value, "note.tenant_id"))

    def test_limits_are_the_documented_ones(self):
        self.assertEqual(
            KeySetLimits(), (5_000, 65_536, 300_000, 86_400_000, 30_000, 5_000, 60_000, 1_000)
        )


if __name__ == "__main__":
    unittest.main()
