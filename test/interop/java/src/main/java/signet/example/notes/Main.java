package signet.example.notes;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.util.JsonFormat;
import dev.signet.authz.v1.AuthRequirement;
import io.grpc.BindableService;
import io.grpc.InsecureServerCredentials;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
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
    var keys = new KeySet(URI.create(given.get("jwksUrl").asText()).toURL());
    var verifier = new Verifier(given.get("issuer").asText(), given.get("audience").asText(), keys);
    var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    var server =
        NettyServerBuilder.forAddress(address, InsecureServerCredentials.create())
            .maxInboundMetadataSize(MAX_METADATA_BYTES)
            .intercept(new Guard(verifier, service.bindService()))
            .addService(service)
            .build()
            .start();
    System.out.println(server.getPort());
    while (input.readLine() != null) {}
    server.shutdownNow();
  }

  private static ArrayList<Map<String, Object>> decide(JsonNode cases) throws Exception {
    var decisions = new ArrayList<Map<String, Object>>();
    for (var one : cases) {
      var required = AuthRequirement.newBuilder();
      JsonFormat.parser().merge(one.get("requirement").toString(), required);
      Requirements.checkRequirement(required.build(), null, false);
      // By source and field: "BODY tenant_id".
      var tenants = one.get("tenants");
      var claims = JSON.convertValue(one.get("claims"), new TypeReference<Map<String, Object>>() {});
      try {
        Authorizer.authorize(
            required.build(),
            Claims.contextOf(claims),
            tenant -> tenants.path(tenant.getFrom() + " " + tenant.getField()).asText());
        decisions.add(Map.of("allow", true));
      } catch (Refused why) {
        var told = new HashMap<String, Object>();
        told.put("allow", false);
        told.put("reason", why.reason);
        told.put("status", why.status());
        told.put("message", why.message());
        if (!why.metadata.isEmpty()) told.put("metadata", why.metadata);
        decisions.add(told);
      }
    }
    return decisions;
  }
}
