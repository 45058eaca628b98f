package signet.example.notes;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.util.JsonFormat;
import dev.signet.authz.v1.AuthRequirement;
import dev.signet.guard.Caller;
import dev.signet.guard.Decision.Deny;
import dev.signet.guard.Guard;
import dev.signet.guard.RequestFacts;
import dev.signet.guard.Requirement;
import dev.signet.guard.grpc.GrpcGuard;
import dev.signet.guard.grpc.MethodRequirement;
import dev.signet.guard.issuer.HttpKeySet;
import dev.signet.guard.kernel.Claims;
import dev.signet.guard.kernel.Values;
import dev.signet.guard.token.Json;
import io.grpc.BindableService;
import io.grpc.InsecureServerCredentials;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import signet.example.notes.v1.ForgetfulServiceGrpc.ForgetfulServiceImplBase;
import signet.example.notes.v1.MistakenServiceGrpc.MistakenServiceImplBase;

/**
 * A service of somebody else's: it knows Signet's contract and nothing else of it.
 *
 * <p>{@code serve SERVICE} serves until standard input ends and prints its port, {@code decide} answers the decision
 * vectors on standard input, {@code call} calls Signet. What each needs comes as JSON in one line on standard input.
 */
public final class Main {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Map<String, BindableService> SERVICES =
      Map.of(
          "NotesService", new NotesService(),
          "ForgetfulService", new ForgetfulServiceImplBase() {},
          "MistakenService", new MistakenServiceImplBase() {});
  // The longest token is 8,192 characters, which gRPC would have for all metadata together.
  private static final int MAX_METADATA_BYTES = 32 * 1024;

  public static void main(String[] args) throws Exception {
    var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    var given = JSON.readTree(input.readLine());
    switch (args[0]) {
      case "serve" -> serve(SERVICES.get(args[1]), given, input);
      case "decide" -> System.out.println(JSON.writeValueAsString(decide(given)));
      case "call" -> Client.look(given);
      default -> throw new IllegalArgumentException("usage: serve SERVICE | decide | call");
    }
  }

  private static void serve(BindableService service, JsonNode given, BufferedReader input) throws Exception {
    var guard =
        Guard.builder()
            .issuer(given.get("issuer").asText())
            .audience(given.get("audience").asText())
            .appId(Guard.ANY_APP)
            .keySet(new HttpKeySet(given.get("jwksUrl").asText()))
            .build();
    var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    var server =
        NettyServerBuilder.forAddress(address, InsecureServerCredentials.create())
            .maxInboundMetadataSize(MAX_METADATA_BYTES)
            .intercept(GrpcGuard.of(guard, service))
            .addService(service)
            .build()
            .start();
    System.out.println(server.getPort());
    while (input.readLine() != null) {}
    server.shutdownNow();
  }

  private static List<Map<String, Object>> decide(JsonNode cases) throws Exception {
    var decisions = new ArrayList<Map<String, Object>>();
    for (var one : cases) {
      var required = AuthRequirement.newBuilder();
      JsonFormat.parser().merge(one.get("requirement").toString(), required);
      // By source and field: "BODY tenant_id".
      var tenants = new HashMap<String, String>();
      one.get("tenants").fields().forEachRemaining(named -> tenants.put(named.getKey(), named.getValue().asText()));
      decisions.add(decide(MethodRequirement.parse(required.build()), one.get("claims"), tenants));
    }
    return decisions;
  }

  /** Decides at the time at which the token was issued. */
  private static Map<String, Object> decide(Requirement required, JsonNode claims, Map<String, String> tenants) {
    var guard =
        Guard.builder()
            .issuer(claims.get("iss").asText())
            .audience(claims.get("aud").asText())
            .appId(Guard.ANY_APP)
            .clock(Clock.fixed(Instant.ofEpochSecond(claims.get("iat").asLong()), ZoneOffset.UTC))
            .build();
    var context = Claims.contextOf(Values.object(Json.parse(claims.toString()).value())).value();
    var facts = new RequestFacts(tenants, Map.of(), null);
    if (!(guard.authorize(Caller.known(context, ""), required, facts) instanceof Deny deny)) {
      return Map.of("allow", true);
    }
    var told = new HashMap<String, Object>();
    told.put("allow", false);
    told.put("reason", deny.reason().name());
    told.put("status", deny.statusCode());
    told.put("message", deny.safeMessage());
    if (!deny.metadata().isEmpty()) told.put("metadata", deny.metadata());
    return told;
  }
}
