package dev.signet.guard.grpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.DynamicMessage;
import com.google.protobuf.UnknownFieldSet;
import dev.signet.authz.v1.AuthRequirement;
import dev.signet.authz.v1.Composite;
import dev.signet.authz.v1.DeviceBound;
import dev.signet.authz.v1.Freshness;
import dev.signet.authz.v1.PrincipalKinds;
import dev.signet.authz.v1.ResourceAction;
import dev.signet.authz.v1.Source;
import dev.signet.authz.v1.TenantBound;
import dev.signet.guard.DecisionWorld;
import dev.signet.guard.Guard;
import dev.signet.guard.Reason;
import dev.signet.guard.Refused;
import dev.signet.guard.Result;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.ServerInterceptors;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.inprocess.InProcessChannelBuilder;
import io.grpc.inprocess.InProcessServerBuilder;
import io.grpc.stub.ServerCalls;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

class GrpcGuardTest {
  private static final AuthRequirement SCOPE = AuthRequirement.newBuilder().setScope("notes.read").build();

  private static Guard guard() {
    return Guard.builder()
        .issuer("https://auth.example")
        .audience("svc-notes")
        .appId(Guard.ANY_APP)
        .keySet(kid -> Result.refused(Reason.KEY_UNKNOWN))
        .build();
  }

  private static ServerServiceDefinition definition(TestService service, AtomicInteger runs) {
    var answering =
        ServerCalls.<DynamicMessage, DynamicMessage>asyncUnaryCall(
            (request, answer) -> {
              runs.incrementAndGet();
              answer.onNext(DynamicMessage.getDefaultInstance(service.method.getOutputType()));
              answer.onCompleted();
            });
    return ServerServiceDefinition.builder("test.v1.Service").addMethod(service.descriptor(), answering).build();
  }

  private static AuthRequirement tenant(Source from, String field) {
    return AuthRequirement.newBuilder()
        .setTenant(TenantBound.newBuilder().setFrom(from).setField(field))
        .build();
  }

  private static AuthRequirement any(AuthRequirement... of) {
    return AuthRequirement.newBuilder().setAnyOf(Composite.newBuilder().addAllOf(List.of(of))).build();
  }

  @TestFactory
  Stream<DynamicTest> doesNotStartWithARequirementThatCannotBeChecked() {
    var open = AuthRequirement.newBuilder().setPublic(true);
    var action = ResourceAction.newBuilder().setAction("a.b.c").setType("note").setFrom(Source.BODY).setField("note.id");
    var unknown = UnknownFieldSet.newBuilder();
    unknown.addField(99, UnknownFieldSet.Field.newBuilder().addVarint(1).build());
    return Map.ofEntries(
            Map.entry("no check", AuthRequirement.getDefaultInstance()),
            Map.entry("public is false", AuthRequirement.newBuilder().setPublic(false).build()),
            Map.entry("public in a composite", any(open.build())),
            Map.entry("an empty composite", any()),
            Map.entry("an empty scope", AuthRequirement.newBuilder().setScope("").build()),
            Map.entry("no kind", AuthRequirement.newBuilder().setKinds(PrincipalKinds.newBuilder()).build()),
            Map.entry("an unknown kind", AuthRequirement.newBuilder().setKinds(PrincipalKinds.newBuilder().addOfValue(9)).build()),
            Map.entry("an action of two words", AuthRequirement.newBuilder().setAction("notes.read").build()),
            Map.entry("a tenant from nowhere", tenant(Source.SOURCE_UNSPECIFIED, "tenant_id")),
            Map.entry("a tenant of a graph", tenant(Source.GRAPH, "tenant_id")),
            Map.entry("a field that there is not", tenant(Source.BODY, "tenant")),
            Map.entry("a field of a text", tenant(Source.BODY, "tenant_id.id")),
            Map.entry("a message", tenant(Source.BODY, "note")),
            Map.entry("a number", tenant(Source.BODY, "count")),
            Map.entry("a list", tenant(Source.BODY, "tags")),
            Map.entry("a header in capitals", tenant(Source.HEADER, "X-Tenant")),
            Map.entry("a header of bytes", tenant(Source.HEADER, "x-tenant-bin")),
            Map.entry("a field of the token", tenant(Source.TOKEN, "tenant_id")),
            Map.entry("a resource of the token", AuthRequirement.newBuilder().setResourceAction(action.clone().setFrom(Source.TOKEN)).build()),
            Map.entry("a resource without a type", AuthRequirement.newBuilder().setResourceAction(action.clone().setType("")).build()),
            Map.entry("a device's proof", AuthRequirement.newBuilder().setDevice(DeviceBound.newBuilder().setProof(true)).build()),
            Map.entry("freshness without an age", SCOPE.toBuilder().setFreshness(Freshness.newBuilder()).build()),
            Map.entry("a fresh public method", open.clone().setMaxAuthAgeSeconds(1).build()),
            Map.entry("an option that nobody knows", SCOPE.toBuilder().setUnknownFields(unknown.build()).build()))
        .entrySet().stream()
        .map(one -> DynamicTest.dynamicTest(one.getKey(), () -> doesNotStart(one.getValue(), false)));
  }

  private static void doesNotStart(AuthRequirement requirement, boolean isStream) {
    var service = definition(new TestService(requirement, isStream), new AtomicInteger());
    var error = assertThrows(IllegalArgumentException.class, () -> GrpcGuard.of(guard(), List.of(service)));
    assertTrue(error.getMessage().startsWith("test.v1.Service.Call: "), error.getMessage());
  }

  @Test
  void doesNotStartWithoutARequirement() {
    doesNotStart(null, false);
  }

  @Test
  void doesNotStartWithAFieldOfAStream() {
    doesNotStart(tenant(Source.BODY, "tenant_id"), true);
  }

  @Test
  void aHandlerSeesNothingOfASecondMessage() throws Exception {
    var world = new DecisionWorld("own tenant");
    var service = new TestService(tenant(Source.BODY, "tenant_id"), false);
    var runs = new AtomicInteger();
    var definition = definition(service, runs);
    var closed = new CompletableFuture<Status>();
    call(world, service, definition, closed, world.request().get("tenant_id"), "ten_another");
    assertEquals(Status.Code.INTERNAL, closed.get(20, TimeUnit.SECONDS).getCode());
    assertEquals(0, runs.get());
    var one = new CompletableFuture<Status>();
    call(world, service, definition, one, world.request().get("tenant_id"));
    assertEquals(Status.Code.OK, one.get(20, TimeUnit.SECONDS).getCode());
    var none = new CompletableFuture<Status>();
    call(world, service, definition, none);
    assertEquals(Status.Code.INTERNAL, none.get(20, TimeUnit.SECONDS).getCode());
    assertEquals(1, runs.get());
  }

  @Test
  void aMethodThatItWasNotBuiltForIsUnknown() throws Exception {
    var world = new DecisionWorld("user");
    var runs = new AtomicInteger();
    var service = new TestService(SCOPE, false);
    var closed = new CompletableFuture<Status>();
    var guard = GrpcGuard.of(world.guard(), List.of());
    start(guard, world, service, definition(service, runs), closed, "ten");
    assertEquals(Status.Code.UNIMPLEMENTED, closed.get(20, TimeUnit.SECONDS).getCode());
    assertEquals(0, runs.get());
  }

  private static void call(
      DecisionWorld world, TestService service, ServerServiceDefinition definition,
      CompletableFuture<Status> closed, Object... tenants)
      throws Exception {
    start(GrpcGuard.of(world.guard(), List.of(definition)), world, service, definition, closed, tenants);
  }

  private static void start(
      GrpcGuard guard, DecisionWorld world, TestService service, ServerServiceDefinition definition,
      CompletableFuture<Status> closed, Object... tenants)
      throws Exception {
    var name = InProcessServerBuilder.generateName();
    var server =
        InProcessServerBuilder.forName(name).addService(ServerInterceptors.intercept(definition, guard)).build();
    server.start();
    var channel = InProcessChannelBuilder.forName(name).build();
    closed.whenComplete((status, error) -> server.shutdownNow());
    var headers = new Metadata();
    headers.put(Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER), world.authorization());
    // By hand: a stub sends one message and no more.
    var call = channel.newCall(service.descriptor(), CallOptions.DEFAULT);
    call.start(
        new ClientCall.Listener<>() {
          @Override
          public void onClose(Status status, Metadata trailers) {
            closed.complete(status);
          }
        },
        headers);
    call.request(2);
    for (var tenant : tenants) {
      var message = DynamicMessage.newBuilder(service.input());
      call.sendMessage(message.setField(service.input().findFieldByName("tenant_id"), tenant).build());
    }
    call.halfClose();
    closed.get(20, TimeUnit.SECONDS);
    channel.shutdownNow();
  }

  @Test
  void everyReasonHasAnErrorWithItsCode() {
    for (var reason : Reason.values()) {
      var code = GrpcErrors.of(new Refused(reason)).getStatus().getCode().name();
      assertEquals(reason.code().replace("canceled", "cancelled"), code.toLowerCase());
    }
  }
}
