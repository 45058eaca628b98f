"""A service behind the guard for Python: HTTP, the revocation feed, introspection and permission snapshots.

Usage: guarded.py GUARD  (settings as one JSON object on standard input; prints the port; ends with standard input)
"""
import json
import sys
import threading
from wsgiref.simple_server import WSGIRequestHandler, make_server

sys.path.insert(0, sys.argv[1])

from signet_guard import (  # noqa: E402
    NOT_LOADED,
    PATH,
    Freshness,
    Guard,
    Introspection,
    KeySet,
    PermissionSnapshots,
    ResourceRef,
    RevocationFeed,
    Route,
    ServiceToken,
    kinds,
    resource_action,
)
from signet_guard.wsgi import WsgiGuard, call_of  # noqa: E402

given = json.loads(sys.stdin.readline())
url = given["url"]


def token(credentials):
    return ServiceToken(url=f"{url}/auth/token", audience=given["authAudience"], **credentials)


statement_keys = KeySet(f"{url}/.well-known/statement-keys.json")
feed = RevocationFeed(
    issuer=given["issuer"],
    base_url=url,
    statement_keys=statement_keys,
    token=token(given["reader"]),
    wait_seconds=1,
    on_problem=lambda problem, cause: print(problem, repr(cause), file=sys.stderr),
)
guard = Guard(
    issuer=given["issuer"],
    audience="svc-notes",
    app_id=given["appId"],
    key_set=KeySet(f"{url}/.well-known/jwks.json"),
    revocations=feed,
    introspect=Introspection(url=f"{url}/auth/token/introspect", token=token(given["reader"])),
    permissions=PermissionSnapshots(
        issuer=given["issuer"],
        base_url=url,
        statement_keys=statement_keys,
        token=token(given["notes"]),
        revocations=feed,
    ),
)


def app(environ, start_response):
    start_response("200 OK", [("content-type", "application/json")])
    caller = call_of(environ).caller
    roles = None if caller.roles is NOT_LOADED else sorted(caller.roles)
    return [json.dumps({"caller": caller.principal.id, "roles": roles}).encode("ascii")]


edit = resource_action("notes.note.edit", type="note", source=PATH, field="note_id")
guarded = WsgiGuard(
    app,
    guard=guard,
    routes=[
        Route("GET", "/whoami", kinds("USER")),
        Route("PUT", "/notes/{note_id}", edit),
    ],
    find_resource=lambda kind, note_id: ResourceRef(kind, note_id, given["appId"]) if note_id != "none" else None,
)

# Without a feed what is known is as old as the token.
asking = Guard(
    issuer=given["issuer"],
    audience="svc-notes",
    app_id=given["appId"],
    key_set=KeySet(f"{url}/.well-known/jwks.json"),
    introspect=Introspection(url=f"{url}/auth/token/introspect", token=token(given["reader"])),
)
fresh = WsgiGuard(
    app,
    guard=asking,
    routes=[Route("GET", "/now", kinds("USER", freshness=Freshness(1_500, "INTROSPECT")))],
)


def both(environ, start_response):
    return (fresh if environ["PATH_INFO"] == "/now" else guarded)(environ, start_response)


class Quiet(WSGIRequestHandler):
    def log_message(self, *_):
        pass


server = make_server("127.0.0.1", 0, both, handler_class=Quiet)
feed.start()
threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
print(server.server_port, flush=True)
sys.stdin.read()
feed.stop()
server.shutdown()
