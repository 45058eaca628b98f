package signet.example.notes;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.ErrorInfo;
import dev.signet.auth.v1.AuthServiceGrpc;
import dev.signet.auth.v1.AuthServiceGrpc.AuthServiceBlockingStub;
import dev.signet.auth.v1.MeRequest;
import dev.signet.authz.v1.Denial;
import io.grpc.ChannelCredentials;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.TlsChannelCredentials;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.MetadataUtils;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Calls Signet and prints what it saw. */
final class Client {
  /** Error details travel in trailers; gRPC takes 8 KiB in all, and what is more ends the call without a reason. */
  private static final int MAX_METADATA_BYTES = 128 * 1024;

  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  private final AuthServiceBlockingStub auth;
  private final ManagedChannel channel;

  private Client(ManagedChannel channel) {
    this.channel = channel;
    auth = AuthServiceGrpc.newBlockingStub(channel);
  }

  static void look(JsonNode given) throws IOException {
    var client = new Client(open(given.get("target").asText(), credentialsOf(given.get("ca").asText())));
    var crowded = new Client(open(given.get("crowded").asText(), InsecureChannelCredentials.create()));
    try {
      var seen = new LinkedHashMap<String, Object>();
      var mine = client.as(given.get("token").asText()).me(MeRequest.getDefaultInstance());
      seen.put("principal", mine.getPrincipal().getId());
      seen.put("anonymous", reasonOf(client.auth));
      seen.put("other", reasonOf(client.as(given.get("otherToken").asText())));
      seen.put("crowded", reasonOf(crowded.auth));
      var health = new ArrayList<String>();
      seen.put("ended", client.watch(health));
      seen.put("health", health);
      System.out.println(new ObjectMapper().writeValueAsString(seen));
    } finally {
      client.channel.shutdownNow();
      crowded.channel.shutdownNow();
    }
  }

  private static ManagedChannel open(String target, ChannelCredentials credentials) {
    return NettyChannelBuilder.forTarget(target, credentials).maxInboundMetadataSize(MAX_METADATA_BYTES).build();
  }

  /** @param ca The certificate to trust, as PEM; empty for HTTP/2 without TLS. */
  private static ChannelCredentials credentialsOf(String ca) throws IOException {
    if (ca.isEmpty()) return InsecureChannelCredentials.create();
    var trusted = new ByteArrayInputStream(ca.getBytes(StandardCharsets.US_ASCII));
    return TlsChannelCredentials.newBuilder().trustManager(trusted).build();
  }

  private AuthServiceBlockingStub as(String token) {
    var headers = new Metadata();
    headers.put(AUTHORIZATION, "Bearer " + token);
    return auth.withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers));
  }

  /** Follows the stream to its end. */
  private String watch(List<String> health) {
    var stub = HealthGrpc.newBlockingStub(channel).withDeadlineAfter(20, TimeUnit.SECONDS);
    try {
      var messages = stub.watch(HealthCheckRequest.getDefaultInstance());
      while (messages.hasNext()) {
        health.add(messages.next().getStatus().name());
        // Whoever started this stops the server now, and the stream says so.
        if (health.size() == 1) System.out.println("\"watching\"");
      }
      return Status.Code.OK.name();
    } catch (StatusRuntimeException error) {
      return error.getStatus().getCode().name();
    }
  }

  /** The typed reason: of google.rpc.ErrorInfo, and the status that signet.authz.v1.Denial has for REST. */
  private static List<Object> reasonOf(AuthServiceBlockingStub auth) throws InvalidProtocolBufferException {
    try {
      auth.withDeadlineAfter(20, TimeUnit.SECONDS).me(MeRequest.getDefaultInstance());
      return List.of();
    } catch (StatusRuntimeException error) {
      var seen = new ArrayList<Object>();
      var code = error.getStatus().getCode().name();
      seen.add(code.charAt(0) + code.substring(1).toLowerCase());
      var rich = StatusProto.fromThrowable(error);
      if (rich == null) return seen;
      for (var detail : rich.getDetailsList()) {
        if (detail.is(ErrorInfo.class)) {
          var info = detail.unpack(ErrorInfo.class);
          seen.add(info.getDomain());
          seen.add(info.getReason());
        } else if (detail.is(Denial.class)) {
          seen.add(detail.unpack(Denial.class).getStatusCode());
        }
      }
      return seen;
    }
  }
}
