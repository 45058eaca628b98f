package dev.signet.guard.grpc;

import static dev.signet.guard.Vectors.map;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.protobuf.Any;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.UnknownFieldSet;
import com.google.rpc.ErrorInfo;
import dev.signet.authz.v1.Denial;
import dev.signet.guard.AuthContext;
import dev.signet.guard.DecisionWorld;
import dev.signet.guard.Reason;
import io.grpc.CallOptions;
import io.grpc.Metadata;
import io.grpc.ServerInterceptors;
import io.grpc.ServerServiceDefinition;
import io.grpc.StatusRuntimeException;
import io.grpc.inprocess.InProcessChannelBuilder;
import io.grpc.inprocess.InProcessServerBuilder;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.ServerCalls;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** decisions.json by gRPC: requirements as method options, requests as messages. */
class GrpcDecisionsTest {
  @TestFactory
  Stream<DynamicTest> decidesAsTheTableSays() {
    return DecisionWorld.cases().stream()
        .map(one -> DynamicTest.dynamicTest(one.get("requirement") + " / " + one.get("situation"), () -> check(one)));
  }

  private static void check(Map<String, Object> one) throws Exception {
    var world = new DecisionWorld((String) one.get("situation"));
    var requirement = (String) one.get("requirement");
    var seen = call(new TestService(WireRequirement.of(DecisionWorld.requirement(requirement)), false), world);
    assertEquals(map(one.get("expected")), seen);
  }

  private static Map<String, Object> call(TestService service, DecisionWorld world) throws Exception {
    var told = new AtomicReference<AuthContext>();
    var definition =
        ServerServiceDefinition.builder("test.v1.Service")
            .addMethod(
                service.descriptor(),
                ServerCalls.asyncUnaryCall(
                    (request, answer) -> {
                      told.set(GrpcGuard.CALLER.get());
                      answer.onNext(DynamicMessage.getDefaultInstance(service.method.getOutputType()));
                      answer.onCompleted();
                    }))
            .build();
    var guard = GrpcGuard.of(world.guard(), List.of(definition));
    var name = InProcessServerBuilder.generateName();
    var server =
        InProcessServerBuilder.forName(name)
            .directExecutor()
            .addService(ServerInterceptors.intercept(definition, guard))
            .build()
            .start();
    var channel = InProcessChannelBuilder.forName(name).directExecutor().build();
    try {
      var headers = new Metadata();
      if (world.authorization() != null) {
        headers.put(Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER), world.authorization());
      }
      var caller = io.grpc.ClientInterceptors.intercept(channel, MetadataUtils.newAttachHeadersInterceptor(headers));
      ClientCalls.blockingUnaryCall(caller, service.descriptor(), CallOptions.DEFAULT, request(service, world));
      return DecisionWorld.allowed(told.get());
    } catch (StatusRuntimeException error) {
      return outcome(error);
    } finally {
      channel.shutdownNow();
      server.shutdownNow();
    }
  }

  private static DynamicMessage request(TestService service, DecisionWorld world) {
    var message = DynamicMessage.newBuilder(service.input());
    world
        .request()
        .forEach(
            (field, value) -> {
              if (field.equals("tenant_id")) message.setField(service.input().findFieldByName(field), value);
              else if (field.equals("note.id")) {
                var note = DynamicMessage.newBuilder(service.input().findFieldByName("note").getMessageType());
                note.setField(note.getDescriptorForType().findFieldByName("id"), value);
                message.setField(service.input().findFieldByName("note"), note.build());
              } else message.setUnknownFields(UnknownFieldSet.getDefaultInstance());
            });
    return message.build();
  }

  private static Map<String, Object> outcome(StatusRuntimeException error) throws InvalidProtocolBufferException {
    var seen = new HashMap<String, Object>();
    seen.put("allow", false);
    for (Any detail : StatusProto.fromThrowable(error).getDetailsList()) {
      if (detail.is(ErrorInfo.class)) {
        var info = detail.unpack(ErrorInfo.class);
        assertEquals("signet", info.getDomain());
        seen.put("reason", info.getReason());
        seen.put("metadata", info.getMetadataMap());
      } else {
        var denial = detail.unpack(Denial.class);
        assertEquals(seen.get("reason"), denial.getReason().name());
        seen.put("status", (long) denial.getStatusCode());
        seen.put("message", denial.getSafeMessage());
      }
    }
    var code = Reason.valueOf((String) seen.get("reason")).code();
    assertEquals(code, error.getStatus().getCode().name().toLowerCase());
    seen.put(
        "challenge",
        error.getTrailers().get(Metadata.Key.of("www-authenticate", Metadata.ASCII_STRING_MARSHALLER)));
    return seen;
  }
}
