"""Each block of Python in the README runs: with an issuer on loopback, and the framework that it names."""
import asyncio
import importlib.util
import re
import sys
import tempfile
import time
import unittest
from pathlib import Path

from http_issuer import HttpIssuer, text
from world import Signer, World, encode, json, read_vectors

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
WORLD = World(read_vectors("decisions.json"))
SUBJECT, TENANT = WORLD.vectors["claims"]["sub"], WORLD.vectors["claims"]["tenant_id"]


def block_with(word):
    found = [block for block in BLOCKS if word in block]
    assert len(found) == 1, f"{len(found)} blocks with {word}"
    return found[0]


def needs(*modules):
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    return unittest.skipIf(missing, f"not installed: {', '.join(missing)}")


class Readme(unittest.TestCase):
    def setUp(self):
        self.signer = Signer()
        jwks = json.dumps({"keys": [self.signer.jwk()]})
        self.issuer = HttpIssuer({"/.well-known/jwks.json": text(jwks), "/auth/token": text("", 500)})
        self.addCleanup(self.issuer.__exit__)

    def run_block(self, word, **values):
        """The block's names. Only the issuer's address is another."""
        source = block_with(word).replace("https://auth.example", self.issuer.url)
        self.assertIn(self.issuer.url, source)
        module = type(sys)(f"readme_{word}")
        module.__dict__.update(values)
        sys.modules[module.__name__] = module
        exec(compile(source, f"README.md ({word})", "exec"), module.__dict__)
        return module

    def token(self, **changes):
        now = int(time.time())
        claims = {**WORLD.vectors["claims"], "iss": self.issuer.url, "iat": now, "nbf": now, "exp": now + 600, **changes}
        return self.signer.sign(WORLD.vectors["header"], claims)

    def check(self, get, caller_of):
        """get: status and body for an Authorization header; None for no header."""
        self.assertEqual(get(None)[0], 401)
        self.assertEqual(get("Bearer abc")[0], 401)
        self.assertEqual(get(f"Bearer {self.token(aud='svc-mail')}")[0], 401)
        self.assertEqual(get(f"Bearer {self.token(app_id='app_0000000002e008000000000000')}")[0], 403)
        status, body = get(f"Bearer {self.token()}")
        self.assertEqual((status, caller_of(body)), (200, SUBJECT))

    @needs("flask")
    def test_flask_in_ten_lines(self):
        block = block_with("import Flask")
        guarding = block.split("@app.get")[0]
        self.assertLessEqual(len([line for line in guarding.splitlines() if line]), 10)
        client = self.run_block("import Flask").app.test_client()

        def get(authorization):
            headers = {} if authorization is None else {"authorization": authorization}
            answer = client.get("/notes", headers=headers)
            return answer.status_code, answer.json

        self.check(get, lambda body: body["caller"])
        self.assertEqual(client.get("/other").status_code, 404)

    @needs("fastapi", "httpx")
    def test_fastapi(self):
        import httpx

        app = self.run_block("import FastAPI").app

        def get(authorization, tenant=TENANT):
            async def ask():
                transport = httpx.ASGITransport(app=app)
                async with httpx.AsyncClient(transport=transport, base_url="http://notes.example") as client:
                    headers = {} if authorization is None else {"authorization": authorization}
                    return await client.get(f"/tenants/{tenant}/notes", headers=headers)

            answer = asyncio.run(ask())
            return answer.status_code, answer.json()

        self.check(get, lambda body: body["caller"])
        self.assertEqual(get(f"Bearer {self.token()}", "ten_0000000002e008000000000000")[0], 403)

    @needs("django")
    def test_django(self):
        module = self.run_block("get_wsgi_application()")

        def get(authorization):
            from test_http import wsgi_call

            headers = {"SERVER_NAME": "notes.example", "SERVER_PORT": "80", "wsgi.url_scheme": "http"}
            if authorization is not None:
                headers["HTTP_AUTHORIZATION"] = authorization
            status, _, body = wsgi_call(module.application, path="/whoami", headers=headers)
            return status, json.loads(body)

        self.check(get, lambda body: body["caller"])

    @needs("grpc_tools", "grpc")
    def test_grpc(self):
        import grpc
        from grpc_tools import protoc

        option = re.search(r"```proto\n(.*?)```", README, re.DOTALL)[1]
        folder = Path(tempfile.mkdtemp())
        (folder / "notes/v1").mkdir(parents=True)
        (folder / "notes/v1/notes.proto").write_text(
            'syntax = "proto3";\npackage notes.v1;\nimport "signet/authz/v1/requirement.proto";\n'
            f"service NotesService {{\n{option}}}\n"
            "message ListNotesRequest {}\nmessage ListNotesResponse { repeated string text = 1; }\n",
            "utf-8",
        )
        contract = Path(__file__).parents[3] / "proto"
        well_known = Path(protoc.__file__).parent / "_proto"
        includes = [f"-I{path}" for path in (folder, contract, well_known)]
        outputs = [f"--python_out={folder}", f"--grpc_python_out={folder}"]
        self.assertEqual(protoc.main(["protoc", *includes, *outputs, "notes/v1/notes.proto"]), 0)
        sys.path.insert(0, str(folder))
        module = self.run_block("import GrpcGuard")
        self.addCleanup(lambda: module.server.stop(None).wait())
        channel = grpc.insecure_channel(f"127.0.0.1:{module.port}")
        self.addCleanup(channel.close)
        stub = module.notes_pb2_grpc.NotesServiceStub(channel)
        statuses = {grpc.StatusCode.UNAUTHENTICATED: 401, grpc.StatusCode.PERMISSION_DENIED: 403}

        def get(authorization):
            metadata = () if authorization is None else (("authorization", authorization),)
            try:
                return 200, stub.ListNotes(module.notes_pb2.ListNotesRequest(), metadata=metadata, timeout=20).text[0]
            except grpc.RpcError as error:
                return statuses[error.code()], None

        self.check(get, lambda body: body.split()[1])

    def test_revocations_and_permissions(self):
        module = self.run_block("import Guard, Introspection", print=lambda *_: None)
        self.addCleanup(module.feed.stop)
        self.assertEqual(module.guard.authenticate(f"Bearer {self.token()}").principal.id, SUBJECT)

    @needs("jwt", "cryptography")
    def test_the_alternative_lacks_what_the_readme_says(self):
        import jwt

        claims_of = self.run_block("jwt.PyJWKClient").claims_of
        self.assertEqual(claims_of(self.token())["sub"], SUBJECT)
        for wrong in ({"aud": "svc-mail"}, {"iss": "https://other.example"}, {"exp": 1}, {"nbf": time.time() + 99}):
            with self.assertRaises(jwt.InvalidTokenError):
                claims_of(self.token(**wrong))
        now = int(time.time())
        claims = {**WORLD.vectors["claims"], "iss": self.issuer.url, "iat": now, "nbf": now, "exp": now + 600}
        endless = {name: value for name, value in claims.items() if name != "exp"}
        accepted = [
            self.signer.sign({**WORLD.vectors["header"], "typ": "JWT"}, claims),
            self.signer.sign({**WORLD.vectors["header"], "jku": "https://other.example"}, claims),
            self.signer.sign_parts(encode(b'{"kid":"x","alg":"ES256","typ":"at+jwt","kid":"key-1"}'), encode(claims)),
            self.signer.sign(WORLD.vectors["header"], endless),
            self.token(exp=now + 86_400),
            self.token(aud=["svc-notes", "svc-mail"]),
            self.token(app_id="app_0000000002e008000000000000"),
            self.token(act={"sub": "prn_0000000002e008000000000000"}),
            self.token(scp="notes.read"),
        ]
        from signet_guard import Guard, KeySet

        keys = KeySet(f"{self.issuer.url}/.well-known/jwks.json")
        guard = Guard(issuer=self.issuer.url, audience="svc-notes", app_id=WORLD.vectors["claims"]["app_id"], key_set=keys)
        for i, token in enumerate(accepted):
            with self.subTest(i):
                self.assertEqual(claims_of(token)["sub"], SUBJECT)
                if i != 6:  # an app is refused when a call is authorized
                    self.assertIsInstance(guard.authenticate(f"Bearer {token}"), str)


if __name__ == "__main__":
    unittest.main()
