package dev.signet.guard;

import static dev.signet.guard.Vectors.map;
import static dev.signet.guard.Vectors.maps;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.signet.guard.AuthContext.PrincipalKind;
import dev.signet.guard.FakeIssuer.Answer;
import dev.signet.guard.issuer.Http;
import dev.signet.guard.issuer.Introspection;
import dev.signet.guard.issuer.RevocationFeed;
import dev.signet.guard.issuer.ServiceToken;
import dev.signet.guard.token.Json;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Base64;
import java.util.Deque;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** feed.json */
class FeedTest {
  private static final Http HTTP = Http.create();
  private static final Requirement ANYBODY =
      Requirement.kinds(PrincipalKind.USER, PrincipalKind.SERVICE).orOnBehalf();

  private final Map<String, Object> vectors = Vectors.read("feed.json");

  @TestFactory
  Stream<DynamicTest> followsTheFeed() {
    return maps(vectors.get("sequences")).stream()
        .map(one -> DynamicTest.dynamicTest((String) one.get("name"), () -> new Sequence(one).run()));
  }

  private final class Sequence {
    private final Map<String, Object> of;
    private final Vectors.SetClock clock = new Vectors.SetClock();
    private final Deque<Map<String, Object>> exchanges = new ArrayDeque<>();
    private volatile String introspection;
    private volatile String unexpected;

    Sequence(Map<String, Object> of) {
      this.of = of;
    }

    private synchronized Answer answer(String path, String body) {
      if (path.equals("/auth/token/introspect")) return introspected(body);
      var exchange = exchanges.poll();
      if (exchange == null || !path.equals(exchange.get("asked"))) unexpected = path + ", not " + exchange;
      var given = exchange == null ? null : map(exchange.get("answer"));
      if (given == null) return Answer.UNREACHABLE;
      return given.get("status") instanceof Long status
          ? Answer.status(status.intValue())
          : Answer.ok(Vectors.json(given));
    }

    private Answer introspected(String body) {
      if (introspection == null || introspection.equals("down")) return Answer.UNREACHABLE;
      if (introspection.equals("inactive")) return Answer.ok("{\"active\":false}");
      var token = URLDecoder.decode(body.substring("token=".length()), StandardCharsets.UTF_8);
      var payload = map(Json.parse(new String(Base64.getUrlDecoder().decode(token.split("\\.")[1]))).value());
      var jti = introspection.equals("active") ? (String) payload.get("jti") : "jti_another";
      return Answer.ok("{\"active\":true,\"jti\":" + Json.quote(jti) + "}");
    }

    void run() throws Exception {
      try (var issuer = new FakeIssuer(this::answer)) {
        var name = (String) vectors.get("issuer");
        clock.nowMs = (Long) vectors.get("now") * 1_000;
        var credentials = new ServiceToken.Credentials("svc", "secret", "auth", "auth.revocations.read");
        var token = new ServiceToken(issuer.url() + "/auth/token", credentials, HTTP, clock);
        var capacity = of.get("capacity") instanceof Long most ? most.intValue() : 1_000;
        var feed =
            new RevocationFeed(
                new RevocationFeed.Options(
                    name, issuer.url(), Vectors.keys(vectors.get("statementJwks")), token, HTTP, clock, capacity, 3,
                    (problem, cause) -> {}));
        var guard =
            Guard.builder()
                .issuer(name)
                .audience((String) vectors.get("audience"))
                .appId(Guard.ANY_APP)
                .keySet(Vectors.keys(vectors.get("jwks")))
                .clock(clock)
                .revocations(feed)
                .introspection(new Introspection(issuer.url() + "/auth/token/introspect", token, HTTP, clock))
                .build();
        for (var step : maps(of.get("steps"))) {
          clock.nowMs = (Long) step.get("now") * 1_000;
          if (step.containsKey("token")) call(guard, step);
          else read(feed, step);
        }
      }
    }

    private void call(Guard guard, Map<String, Object> step) {
      introspection = (String) step.get("introspection");
      var requirement = step.containsKey("requirement") ? Vectors.requirement(step.get("requirement")) : ANYBODY;
      var caller = guard.authenticate("Bearer " + map(vectors.get("tokens")).get(step.get("token")));
      var decision = guard.authorize(caller, requirement, new RequestFacts(Map.of(), Map.of(), null));
      assertEquals(
          step.get("expected"),
          decision instanceof Decision.Deny deny ? deny.reason().name() : "allow",
          () -> step.toString());
    }

    private void read(RevocationFeed feed, Map<String, Object> step) throws Exception {
      exchanges.clear();
      exchanges.addAll(maps(step.get("exchanges")));
      String problem = null;
      try {
        feed.refresh();
      } catch (RevocationFeed.FeedException error) {
        problem = error.problem();
      }
      assertEquals(null, unexpected);
      assertEquals(0, exchanges.size());
      assertEquals(step.get("problem"), problem, () -> step.toString());
      assertEquals(step.get("seq"), feed.seq());
      assertEquals(step.get("size"), (long) feed.size());
      assertEquals(step.get("asOf"), feed.asOfMs() / 1_000);
    }
  }
}
