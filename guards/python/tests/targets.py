"""The targets that decide the golden vectors. Each gives what calls it: (authorization, request) -> outcome."""
import asyncio
import io
import json

from signet_guard import Allow, Route, Target
from signet_guard.asgi import AsgiGuard
from signet_guard.asgi import call_of as asgi_call_of
from signet_guard.problem import challenge_of
from signet_guard.requirement import checks_in
from signet_guard.wsgi import WsgiGuard
from signet_guard.wsgi import call_of as wsgi_call_of

from world import json_of, outcome_of


def reads_path(requirement):
    return any(getattr(check, "source", None) == "PATH" for check in checks_in(requirement))


def plain(guard, requirement, find_resource):
    """The target without a protocol."""
    anything = {source: lambda field: True for source in ("PATH", "BODY", "HEADER")}
    target = Target(guard, requirement, anything, find_resource)

    def call(authorization, request):
        decision = target.authorize(
            target.authenticate(authorization), lambda: lambda source, field: request.get(field)
        )
        if isinstance(decision, Allow):
            return {"allow": True, "caller": decision.context and decision.context.principal.id}
        refused = decision.refused()
        return {
            "allow": False,
            "reason": refused.reason,
            "status": refused.status,
            "message": refused.message,
            "metadata": dict(refused.metadata),
            "challenge": challenge_of(refused),
        }

    return call


def wsgi(guard, requirement, find_resource):
    def app(environ, start_response):
        start_response("200 OK", [])
        caller = wsgi_call_of(environ).caller
        sent = environ["wsgi.input"].read()
        return [json.dumps({"caller": caller and caller.principal.id, "sent": sent.decode("utf-8")}).encode("utf-8")]

    path = "/tenants/{tenant_id}" if reads_path(requirement) else "/"
    routes = [Route("POST", path, requirement)]
    guarded = WsgiGuard(app, guard=guard, routes=routes, find_resource=find_resource)

    def call(authorization, request):
        body = json.dumps(json_of(request)).encode("utf-8")
        environ = {
            "REQUEST_METHOD": "POST",
            "SCRIPT_NAME": "",
            "PATH_INFO": path.replace("{tenant_id}", request.get("tenant_id", "undefined")),
            "CONTENT_TYPE": "application/json",
            "CONTENT_LENGTH": str(len(body)),
            "wsgi.input": io.BytesIO(body),
        }
        if authorization is not None:
            environ["HTTP_AUTHORIZATION"] = authorization
        started = []
        told = b"".join(guarded(environ, lambda status, headers: started.append((status, dict(headers)))))
        return http_outcome(int(started[0][0].split()[0]), started[0][1], json.loads(told), body)

    return call


def asgi(guard, requirement, find_resource):
    async def app(scope, receive, send):
        message = await receive()
        caller = asgi_call_of(scope).caller
        told = {"caller": caller and caller.principal.id, "sent": message["body"].decode("utf-8")}
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": json.dumps(told).encode("utf-8")})

    path = "/tenants/{tenant_id}" if reads_path(requirement) else "/"
    routes = [Route("POST", path, requirement)]
    guarded = AsgiGuard(app, guard=guard, routes=routes, find_resource=find_resource)
    loop = asyncio.new_event_loop()

    def call(authorization, request):
        body = json.dumps(json_of(request)).encode("utf-8")
        headers = [(b"content-type", b"application/json")]
        if authorization is not None:
            headers.append((b"authorization", authorization.encode("latin-1")))
        scope = {
            "type": "http",
            "method": "POST",
            "path": path.replace("{tenant_id}", request.get("tenant_id", "undefined")),
            "headers": headers,
        }
        sent = []

        async def receive():
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message):
            sent.append(message)

        loop.run_until_complete(guarded(scope, receive, send))
        headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return http_outcome(sent[0]["status"], headers, json.loads(sent[1]["body"]), body)

    call.close = loop.close
    return call


def http_outcome(status, headers, told, body):
    if status == 200:
        # The handler reads the body as if the guard had not.
        assert told["sent"] == body.decode("utf-8"), told
        return {"allow": True, "caller": told["caller"]}
    assert headers["content-type"] == "application/problem+json"
    assert headers["cache-control"] == "no-store"
    assert told["status"] == status and told["domain"] == "signet"
    assert told["type"] == f"urn:signet:reason:{told['reason']}"
    return outcome_of(told, status, headers.get("www-authenticate"))
