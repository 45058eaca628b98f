"""What is wrong with a requirement stops the program, with a message that says what."""
import unittest

from signet_guard import (
    ANY_APP,
    BODY,
    HEADER,
    PATH,
    TOKEN,
    Freshness,
    Guard,
    Requirement,
    Route,
    action,
    all_of,
    any_of,
    body_credential,
    delegated,
    kinds,
    public,
    resource_action,
    role,
    scope,
    tenant,
)
from signet_guard.requirement import Device
from signet_guard.wsgi import WsgiGuard

from world import Keys, SwitchedGuard

APP = "app_0000000001e008000000000000"


def build(requirement, path="/notes/{note_id}", method="POST", **options):
    routes = [Route(method, path, requirement)]
    return WsgiGuard(None, guard=SwitchedGuard(), **{"routes": routes, **options})


class Requirements(unittest.TestCase):
    def test_what_cannot_be_checked_stops_the_program(self):
        read = scope("notes.read")
        for wrong, message in [
            (None, "NoneType is not a Requirement"),
            ("public", "str is not a Requirement"),
            (Requirement("scope"), "an unknown check"),
            (scope(""), "scope is empty"),
            (action(""), "action is empty"),
            (role(""), "role is empty"),
            (kinds(), "at least one"),
            (kinds("HUMAN"), "kinds must have at least one of USER, SERVICE"),
            (delegated(), "must have at least one actor"),
            (delegated(""), "actor is empty"),
            (any_of(), "AnyOf is empty"),
            (all_of(read, any_of()), "AnyOf is empty"),
            (all_of(read, public()), "Public inside a composite"),
            (any_of(body_credential(), read), "BodyCredential inside a composite"),
            (Requirement(Device(proof=True)), "cannot verify a device proof"),
            (tenant(PATH, "tenant_id"), 'PATH has no field "tenant_id" here'),
            (tenant(HEADER, "X-Tenant"), 'HEADER has no field "X-Tenant" here'),
            (tenant(BODY, ""), 'BODY has no field "" here'),
            (tenant("GRAPH", "tenant"), "GRAPH has no field"),
            (tenant("QUERY", "tenant"), "QUERY has no field"),
            (tenant(TOKEN, "tenant"), "the token's tenant has no field"),
            (resource_action("a.b.c", type="note", source=TOKEN, field="x"), "a token names no resource"),
            (resource_action("a.b.c", type="", source=PATH, field="note_id"), "type is empty"),
            (resource_action("a.b.c", type="note", source=PATH, field="note_id"), "find_resource is required"),
            (scope("a", freshness=Freshness(-1)), "max_staleness_ms"),
            (scope("a", freshness=Freshness(float("nan"))), "max_staleness_ms"),
            (scope("a", freshness=Freshness(1, "MAYBE")), "on_stale must be one of"),
            (scope("a", max_auth_age_seconds=-1), "max_auth_age_seconds"),
            (scope("a", max_auth_age_seconds=True), "max_auth_age_seconds"),
            (scope("a", allow_delegated="no"), "allow_delegated"),
            (Requirement(public().check, Freshness(1)), "uses no token"),
        ]:
            with self.subTest(message), self.assertRaisesRegex(ValueError, f"POST /notes/.note_id.: .*{message}"):
                build(wrong)

    def test_what_can_be_checked_starts(self):
        for right in [
            public(),
            body_credential(allow_delegated=True),
            all_of(kinds("USER"), any_of(scope("a"), tenant(PATH, "note_id")), freshness=Freshness(0)),
            tenant(HEADER, "x-tenant"),
            tenant(BODY, "note.tenant_id"),
            tenant(TOKEN),
        ]:
            build(right)

    def test_the_app_is_said(self):
        options = {"issuer": "https://auth.example", "audience": "svc-notes", "key_set": Keys()}
        with self.assertRaisesRegex(TypeError, "app_id"):
            Guard(**options)
        for wrong in (None, "", "ten_0000000001e008000000000000", "*", APP.upper()):
            with self.assertRaisesRegex(ValueError, "app_id must be the id of an app"):
                Guard(**options, app_id=wrong)
        Guard(**options, app_id=APP)
        Guard(**options, app_id=ANY_APP)

    def test_routes_that_cannot_be_meant_stop_the_program(self):
        for routes, message in [
            ([("get", "/a")], "capitals"),
            ([("GET", "a")], "must begin with a slash"),
            ([("GET", "/{a}/{a}")], "occurs twice"),
            ([("GET", "/a{b}")], "is not a path variable"),
            ([("GET", "/{a}"), ("GET", "/new")], "list it before"),
            ([("GET", "/{a}"), ("GET", "/{b}")], "list it before"),
            ([("GET", "/a"), ("GET", "/a")], "list it before"),
        ]:
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                build(None, routes=[Route(method, path, public()) for method, path in routes])
        build(None, routes=[Route("GET", "/new", public()), Route("GET", "/{a}", public())])
        build(None, routes=[Route("GET", "/{a}", public()), Route("POST", "/new", public())])


if __name__ == "__main__":
    unittest.main()
