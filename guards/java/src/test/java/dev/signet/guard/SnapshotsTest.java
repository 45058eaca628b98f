package dev.signet.guard;

import static dev.signet.guard.Vectors.map;
import static dev.signet.guard.Vectors.maps;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.signet.guard.FakeIssuer.Answer;
import dev.signet.guard.issuer.Http;
import dev.signet.guard.issuer.PermissionSnapshots;
import dev.signet.guard.issuer.ServiceToken;
import dev.signet.guard.kernel.Values;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** snapshots.json */
class SnapshotsTest {
  private static final Http HTTP = Http.create();

  private final Map<String, Object> vectors = Vectors.read("snapshots.json");

  @TestFactory
  Stream<DynamicTest> asksForPermissionsOnce() {
    return maps(vectors.get("sequences")).stream()
        .map(one -> DynamicTest.dynamicTest((String) one.get("name"), () -> run(one)));
  }

  private void run(Map<String, Object> of) throws Exception {
    var clock = new Vectors.SetClock();
    Deque<Map<String, Object>> exchanges = new ArrayDeque<>();
    var unexpected = new String[1];
    try (var issuer =
        new FakeIssuer(
            (path, body) -> {
              var exchange = exchanges.poll();
              if (exchange == null || !path.equals(exchange.get("asked"))) unexpected[0] = path;
              var given = exchange == null ? null : map(exchange.get("answer"));
              if (given == null) return Answer.UNREACHABLE;
              return given.get("status") instanceof Long status
                  ? Answer.status(status.intValue())
                  : Answer.ok(Vectors.json(given));
            })) {
      clock.nowMs = (Long) vectors.get("now") * 1_000;
      var credentials = new ServiceToken.Credentials("svc", "secret", "auth", "auth.permissions.read");
      var token = new ServiceToken(issuer.url() + "/auth/token", credentials, HTTP, clock);
      var capacity = of.get("capacity") instanceof Long most ? most.intValue() : 1_000;
      var name = (String) vectors.get("issuer");
      var guard =
          Guard.builder()
              .issuer(name)
              .audience((String) vectors.get("audience"))
              .appId(Guard.ANY_APP)
              .keySet(Vectors.keys(vectors.get("jwks")))
              .clock(clock)
              .permissions(
                  new PermissionSnapshots(
                      name, issuer.url(), Vectors.keys(vectors.get("statementJwks")), token, HTTP, clock, capacity))
              .build();
      for (var step : maps(of.get("steps"))) {
        clock.nowMs = (Long) step.get("now") * 1_000;
        exchanges.clear();
        exchanges.addAll(maps(step.get("exchanges")));
        var caller = guard.authenticate("Bearer " + map(vectors.get("tokens")).get(step.get("token")));
        assertEquals(expected(step), seen(guard, caller, step), step::toString);
        assertEquals(null, unexpected[0]);
        assertEquals(0, exchanges.size());
      }
    }
  }

  private RequestFacts facts(Requirement requirement, Map<String, Object> step) {
    var resources = new HashMap<String, ResourceRef>();
    var found = step.get("resource") == null ? null : map(vectors.get("resources")).get(step.get("resource"));
    requirement
        .checks()
        .forEach(
            check -> {
              if (check instanceof Requirement.ResourceAction action && found != null) {
                resources.put(RequestFacts.resourceKey(action), Vectors.resource(found));
              }
            });
    return new RequestFacts(Map.of(), resources, null);
  }

  /** Grants, empty where they are not loaded, or a reason. */
  private static Object expected(Map<String, Object> step) {
    var expected = map(step.get("expected"));
    if (!Boolean.TRUE.equals(expected.get("allow"))) return expected.get("reason");
    if (expected.get("roles") == null) return Optional.empty();
    var roles = Set.copyOf(Values.texts(expected.get("roles")));
    return Optional.of(new AuthContext.Grants(roles, Set.copyOf(Values.texts(expected.get("permissions")))));
  }

  private Object seen(Guard guard, Caller caller, Map<String, Object> step) {
    if ("loadGrants".equals(step.get("requirement"))) {
      try {
        return Optional.of(guard.loadGrants(caller.context()));
      } catch (Refused refused) {
        return refused.reason().name();
      }
    }
    var requirement = Vectors.requirement(step.get("requirement"));
    var decision = guard.authorize(caller, requirement, facts(requirement, step));
    if (decision instanceof Decision.Allow allow) return allow.context().grants();
    return ((Decision.Deny) decision).reason().name();
  }
}
