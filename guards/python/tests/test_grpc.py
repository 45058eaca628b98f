"""gRPC: what stops the program, what is refused, and what a handler sees."""
import unittest
from concurrent.futures import ThreadPoolExecutor

try:
    import grpc
    from google.protobuf import descriptor_pb2
    from signet.authz.v1 import context_pb2, requirement_pb2

    import grpc_targets
    from signet_guard.grpc import GrpcGuard, caller_of
    from signet_guard.grpc_aio import AioGrpcGuard, current_caller
    from signet_guard.proto import parse_requirement, requirement_of, wire_context
except ImportError as error:  # grpcio and protobuf are extras
    raise unittest.SkipTest(str(error))

from signet_guard import (
    ANY_APP,
    BODY,
    Grants,
    HEADER,
    PATH,
    TOKEN,
    Guard,
    Refused,
    Requirement,
    all_of,
    kinds,
    public,
    resource_action,
    scope,
    tenant,
)
from signet_guard.context import with_grants
from signet_guard.requirement import Device

from world import Keys, SwitchedGuard, World, read_vectors

WORLD = World(read_vectors("decisions.json"))
TENANT = WORLD.vectors["claims"]["tenant_id"]


def guard_of():
    return Guard(
        issuer=WORLD.vectors["issuer"],
        audience=WORLD.vectors["audience"],
        app_id=ANY_APP,
        key_set=Keys(WORLD.issuer),
        clock=WORLD.clock,
    )


def build(requirement, **options):
    contract = grpc_targets.Contract([requirement])
    return GrpcGuard(SwitchedGuard(), **{"services": [contract.service], **options})


class Requirements(unittest.TestCase):
    def test_what_cannot_be_checked_stops_the_program_and_names_the_method(self):
        for wrong, message in [
            (None, r"no \(signet.authz.v1.requires\)"),
            (scope(""), "an empty scope"),
            (all_of(), "an empty all_of"),
            (all_of(scope("a"), public()), "public inside a composite"),
            (kinds(), "kinds must have at least one kind"),
            (tenant(BODY, "tenant"), 'has no single field "tenant"'),
            (tenant(BODY, "tags"), 'has no single field "tags"'),
            (tenant(BODY, "tenant_id.more"), "has no single field"),
            (tenant(PATH, "count"), "is not a singular string field"),
            (tenant(BODY, "note"), "is not a singular string field"),
            (tenant(HEADER, "X-Tenant"), "HEADER has no field"),
            (tenant(TOKEN, "tenant_id"), "the token's tenant has no field"),
            (tenant(BODY, ""), "an empty field"),
            (resource_action("edit", type="note", source=BODY, field="note.id"), "must have the form service.resource.verb"),
            (resource_action("a.b.c", type="note", source=TOKEN, field="note.id"), "a token names no resource"),
            (resource_action("a.b.c", type="note", source=BODY, field="note.id"), "find_resource is required"),
            (Requirement(Device(proof=True)), "cannot verify a device proof"),
            (Requirement(public().check, max_auth_age_seconds=1), "uses no token"),
        ]:
            with self.subTest(message), self.assertRaisesRegex(ValueError, message) as raised:
                build(wrong)
            if "find_resource" not in message:
                self.assertIn("Service.Unary0", str(raised.exception))

    def test_a_stream_of_requests_has_no_one_field(self):
        contract = grpc_targets.Contract([scope("a")])
        file = descriptor_pb2.FileDescriptorProto()
        contract.service.file.CopyToProto(file)
        file.name, file.package = "signet.guard.test.streams.proto", "signet.guard.test.streams"
        for message in file.message_type:
            for field in message.field:
                if field.type_name:
                    field.type_name = ".signet.guard.test.streams.Note"
        for method in file.service[0].method:
            method.input_type, method.output_type = (f".{file.package}.{name}" for name in ("Request", "Response"))
            method.client_streaming = True
            grpc_targets.wire_of(tenant(BODY, "tenant_id"), method.options.Extensions[requirement_pb2.requires])
        from google.protobuf import descriptor_pool

        descriptor_pool.Default().AddSerializedFile(file.SerializeToString())
        service = descriptor_pool.Default().FindServiceByName("signet.guard.test.streams.Service")
        with self.assertRaisesRegex(ValueError, "a client stream has no single request field"):
            requirement_of(service.methods[0])

    def test_what_a_newer_contract_asks_for_is_not_passed_over(self):
        wire = requirement_pb2.AuthRequirement.FromString
        unknown = b"\xfa\x0f\x01x"  # field 255
        scoped = requirement_pb2.AuthRequirement(scope="a").SerializeToString()
        self.assertEqual(parse_requirement(wire(scoped)), scope("a"))
        with self.assertRaisesRegex(ValueError, "does not support"):
            parse_requirement(wire(scoped + unknown))
        nested = requirement_pb2.AuthRequirement()
        nested.all_of.of.add().MergeFromString(scoped + unknown)
        with self.assertRaisesRegex(ValueError, "does not support"):
            parse_requirement(nested)
        for text, message in [
            (requirement_pb2.AuthRequirement(), "must have a check"),
            (requirement_pb2.AuthRequirement(public=False), "public is false"),
            (requirement_pb2.AuthRequirement(kinds={"of": [0]}), "unknown kind"),
            (requirement_pb2.AuthRequirement(kinds={"of": [99]}), "unknown kind"),
            (requirement_pb2.AuthRequirement(tenant={"field": "a"}), "unknown source"),
            (requirement_pb2.AuthRequirement(scope="a", freshness={"on_stale": 9}), "unknown on_stale"),
            (requirement_pb2.AuthRequirement(scope="a", freshness={}), "without max_staleness"),
        ]:
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                parse_requirement(text)

    def test_a_graph_is_none_of_an_rpc(self):
        wire = requirement_pb2.AuthRequirement(tenant={"field": "a", "from": requirement_pb2.GRAPH})
        with self.assertRaisesRegex(ValueError, "no graph"):
            parse_requirement(wire)


class Calls(unittest.TestCase):
    """One server with methods of each kind, in threads and on asyncio."""

    def serve(self, requirement, handlers, **options):
        contract = grpc_targets.Contract([requirement])
        guard = GrpcGuard(guard_of(), services=[contract.service], **options)
        server = grpc.server(ThreadPoolExecutor(2), interceptors=[guard])
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(contract.service.full_name, handlers),))
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        self.addCleanup(lambda: server.stop(None).wait())
        channel = grpc.insecure_channel(f"127.0.0.1:{port}")
        self.addCleanup(channel.close)
        return contract, channel

    def reason_of(self, call):
        with self.assertRaises(grpc.RpcError) as raised:
            call()
        return raised.exception.code().name, grpc_targets.outcome_of(raised.exception)["reason"]

    def test_a_method_that_is_not_listed_is_refused_though_it_is_served(self):
        handler = grpc.unary_unary_rpc_method_handler(lambda request, context: b"ran")
        stream = grpc.unary_stream_rpc_method_handler(lambda request, context: iter([b"ran"]))
        contract, channel = self.serve(public(), {"Other": handler, "Others": stream, "Unary0": handler})
        self.assertEqual(channel.unary_unary(contract.path("Unary0"))(b""), b"ran")
        unlisted = channel.unary_unary(contract.path("Other"))
        self.assertEqual(self.reason_of(lambda: unlisted(b"")), ("UNIMPLEMENTED", "METHOD_UNKNOWN"))
        streamed = channel.unary_stream(contract.path("Others"))
        self.assertEqual(self.reason_of(lambda: list(streamed(b""))), ("UNIMPLEMENTED", "METHOD_UNKNOWN"))
        with self.assertRaises(grpc.RpcError) as raised:
            channel.unary_unary("/no.Service/Method")(b"")
        self.assertEqual(raised.exception.code(), grpc.StatusCode.UNIMPLEMENTED)

    def test_a_method_without_a_contract_of_its_own_is_listed_by_its_path(self):
        handler = grpc.unary_unary_rpc_method_handler(lambda request, context: b"ran")
        contract = grpc_targets.Contract([public()])
        path = f"/{contract.service.full_name}Health/Check"
        with self.assertRaisesRegex(ValueError, "BODY has no field"):
            build(public(), requirements={path: tenant(BODY, "tenant_id")})
        contract, channel = self.serve(
            scope("a"), {"Unary0": handler}, requirements={"/grpc.health.v1.Health/Check": public()}
        )
        self.assertEqual(
            self.reason_of(lambda: channel.unary_unary(contract.path("Unary0"))(b"")),
            ("UNAUTHENTICATED", "NO_CREDENTIAL"),
        )

    def test_the_message_of_a_caller_that_is_unknown_is_not_decoded(self):
        decoded = []

        def decode(data):
            decoded.append(data)
            raise ValueError("no message")

        handler = grpc.unary_unary_rpc_method_handler(lambda request, context: b"", request_deserializer=decode)
        contract, channel = self.serve(scope("notes.read"), {"Unary0": handler})
        call = channel.unary_unary(contract.path("Unary0"))
        self.assertEqual(self.reason_of(lambda: call(b"x"))[1], "NO_CREDENTIAL")
        self.assertEqual(decoded, [])
        metadata = (("authorization", WORLD.authorization_of("user")),)
        self.assertEqual(
            self.reason_of(lambda: call(b"x", metadata=metadata)), ("INVALID_ARGUMENT", "MALFORMED_REQUEST")
        )

    def test_two_authorization_headers_are_refused(self):
        handler = grpc.unary_unary_rpc_method_handler(lambda request, context: b"")
        contract, channel = self.serve(scope("notes.read"), {"Unary0": handler})
        line = ("authorization", WORLD.authorization_of("user"))
        call = channel.unary_unary(contract.path("Unary0"))
        self.assertEqual(self.reason_of(lambda: call(b"", metadata=(line, line)))[1], "MALFORMED_CREDENTIAL")

    def test_a_handler_refuses_in_the_same_words(self):
        def refuse(request, context):
            raise Refused("NOT_FOUND", "no such note", {"note": "1"})

        handler = grpc.unary_unary_rpc_method_handler(refuse)
        contract, channel = self.serve(public(), {"Unary0": handler})
        with self.assertRaises(grpc.RpcError) as raised:
            channel.unary_unary(contract.path("Unary0"))(b"")
        self.assertEqual(raised.exception.code(), grpc.StatusCode.NOT_FOUND)
        self.assertEqual(raised.exception.details(), "no such note")
        outcome = grpc_targets.outcome_of(raised.exception)
        self.assertEqual((outcome["reason"], outcome["metadata"]), ("NOT_FOUND", {"note": "1"}))

    def test_streams_of_requests_are_decided_before_they_are_read(self):
        ran = []

        def collect(messages, context):
            ran.append(caller_of(context).principal.id)
            return b",".join(messages)

        def echo(messages, context):
            ran.append(caller_of(context).principal.id)
            yield from messages

        for name, make, call_kind in [
            ("Unary0", grpc.stream_unary_rpc_method_handler(collect), "stream_unary"),
            ("Stream0", grpc.stream_stream_rpc_method_handler(echo), "stream_stream"),
        ]:
            with self.subTest(name):
                contract, channel = self.serve(scope("notes.read"), {name: make})
                method = getattr(channel, call_kind)(contract.path(name))

                def call(**options):
                    answer = method(iter([b"a", b"b"]), **options)
                    return answer if call_kind == "stream_unary" else b",".join(answer)

                self.assertEqual(self.reason_of(call)[1], "NO_CREDENTIAL")
                self.assertEqual(call(metadata=(("authorization", WORLD.authorization_of("user")),)), b"a,b")
        self.assertEqual(ran, [WORLD.vectors["claims"]["sub"]] * 2)

    def test_a_fault_of_a_callback_refuses_and_tells_nobody(self):
        def fail(*_):
            raise RuntimeError("secret of the database")

        handler = grpc.unary_unary_rpc_method_handler(lambda request, context: b"ran")
        contract, channel = self.serve(scope("notes.write"), {"Unary0": handler}, on_deny=fail)
        metadata = (("authorization", WORLD.authorization_of("user")),)
        with self.assertLogs("signet_guard", "ERROR"), self.assertRaises(grpc.RpcError) as raised:
            channel.unary_unary(contract.path("Unary0"))(b"", metadata=metadata)
        self.assertEqual(raised.exception.code(), grpc.StatusCode.INTERNAL)
        self.assertEqual(raised.exception.details(), "internal error")

    def test_a_header_names_the_tenant(self):
        handler = grpc.unary_unary_rpc_method_handler(lambda request, context: b"ran")
        contract, channel = self.serve(tenant(HEADER, "x-tenant"), {"Unary0": handler})
        call = channel.unary_unary(contract.path("Unary0"))
        authorization = ("authorization", WORLD.authorization_of("user"))
        self.assertEqual(call(b"", metadata=(authorization, ("x-tenant", TENANT))), b"ran")
        for lines in ((), (("x-tenant", ""),), (("x-tenant", TENANT), ("x-tenant", TENANT)), (("x-tenant", f" {TENANT}x"),)):
            self.assertEqual(self.reason_of(lambda: call(b"", metadata=(authorization, *lines)))[1], "TENANT_MISMATCH")

    def test_a_caller_exists_only_in_a_guarded_call(self):
        class Unguarded:
            pass

        with self.assertRaises(KeyError):
            caller_of(Unguarded())
        with self.assertRaises(LookupError):
            current_caller()

    def test_the_context_as_a_message(self):
        caller = guard_of().authenticate(WORLD.authorization_of("on behalf"))
        wire = wire_context(caller)
        self.assertEqual((wire.principal.id, wire.principal.kind), (caller.principal.id, context_pb2.USER))
        self.assertEqual(wire.method, context_pb2.ON_BEHALF_OF)
        self.assertEqual(wire.delegation.expires_at.seconds * 1_000, caller.expires_at_ms)
        self.assertEqual(wire.claims["act"]["sub"], caller.actor.id)
        self.assertEqual((wire.grants_loaded, list(wire.roles)), (False, []))
        wire = wire_context(with_grants(caller, Grants(frozenset(["editor"]), frozenset())))
        self.assertEqual((wire.grants_loaded, list(wire.roles)), (True, ["editor"]))

    def test_what_is_not_loaded_is_not_none(self):
        roles = guard_of().authenticate(WORLD.authorization_of("user")).roles
        for use in (bool, len, list, lambda held: "editor" in held):
            with self.assertRaisesRegex(TypeError, "not loaded"):
                use(roles)


class Aio(unittest.TestCase):
    def test_handlers_of_each_kind(self):
        with grpc_targets.AioServer() as aio:
            contract = grpc_targets.Contract([scope("notes.read")])
            seen = []

            async def collect(messages, context):
                seen.append(current_caller().principal.id)
                return b",".join([message async for message in messages])

            async def write(messages, context):
                seen.append(current_caller().principal.id)
                async for message in messages:
                    await context.write(message)

            async def refuse(request, context):
                raise Refused("NOT_FOUND")

            async def start():
                guard = AioGrpcGuard(
                    guard_of(),
                    services=[contract.service],
                    requirements={"/x.X/Refuse": public(), "/x.X/Sync": public()},
                )
                server = grpc.aio.server(interceptors=[guard])
                kinds_of = {
                    "Unary0": grpc.stream_unary_rpc_method_handler(collect),
                    "Stream0": grpc.stream_stream_rpc_method_handler(write),
                    "Unlisted": grpc.unary_unary_rpc_method_handler(refuse),
                }
                others = {
                    "Refuse": grpc.unary_unary_rpc_method_handler(refuse),
                    "Sync": grpc.unary_unary_rpc_method_handler(lambda request, context: b""),
                }
                name = contract.service.full_name
                server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, kinds_of),))
                server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("x.X", others),))
                port = server.add_insecure_port("127.0.0.1:0")
                await server.start()
                return server, port

            server, port = aio.run(start())
            channel = grpc.insecure_channel(f"127.0.0.1:{port}")
            metadata = (("authorization", WORLD.authorization_of("user")),)
            unary = channel.stream_unary(contract.path("Unary0"))
            stream = channel.stream_stream(contract.path("Stream0"))
            self.assertEqual(unary(iter([b"a", b"b"]), metadata=metadata), b"a,b")
            self.assertEqual(list(stream(iter([b"a", b"b"]), metadata=metadata)), [b"a", b"b"])
            self.assertEqual(seen, [WORLD.vectors["claims"]["sub"]] * 2)
            for call, reason in [
                (lambda: unary(iter([])), "NO_CREDENTIAL"),
                (lambda: list(stream(iter([]))), "NO_CREDENTIAL"),
                (lambda: channel.unary_unary(contract.path("Unlisted"))(b""), "METHOD_UNKNOWN"),
                (lambda: channel.unary_unary("/x.X/Refuse")(b""), "NOT_FOUND"),
            ]:
                with self.subTest(reason), self.assertRaises(grpc.RpcError) as raised:
                    call()
                self.assertEqual(grpc_targets.outcome_of(raised.exception)["reason"], reason)
            # A handler that is no coroutine does not run.
            with self.assertRaises(grpc.RpcError):
                channel.unary_unary("/x.X/Sync")(b"")
            channel.close()
            aio.run(server.stop(None))


if __name__ == "__main__":
    unittest.main()
