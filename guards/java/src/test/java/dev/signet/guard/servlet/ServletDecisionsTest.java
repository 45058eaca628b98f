package dev.signet.guard.servlet;

import static dev.signet.guard.Vectors.map;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.signet.guard.DecisionWorld;
import dev.signet.guard.Requirement;
import dev.signet.guard.Vectors;
import dev.signet.guard.token.Json;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** decisions.json by HTTP: requirements as values, requests as JSON. */
class ServletDecisionsTest {
  private static TestServer server;

  @BeforeAll
  static void start() throws Exception {
    server = new TestServer();
  }

  @AfterAll
  static void stop() throws Exception {
    server.close();
  }

  @TestFactory
  Stream<DynamicTest> decidesAsTheTableSays() {
    return DecisionWorld.cases().stream()
        .map(one -> DynamicTest.dynamicTest(one.get("requirement") + " / " + one.get("situation"), () -> check(one)));
  }

  private static void check(Map<String, Object> one) throws Exception {
    var world = new DecisionWorld((String) one.get("situation"));
    var requirement = DecisionWorld.requirement((String) one.get("requirement"));
    var readsPath =
        requirement
            .checks()
            .anyMatch(check -> check instanceof Requirement.Tenant of && of.from() == Requirement.Source.PATH);
    var template = readsPath ? "/tenants/{tenant_id}" : "/";
    server.filter = GuardFilter.builder(world.guard()).path("POST", template, requirement).build();
    var path = readsPath ? "/tenants/" + world.request().get("tenant_id") : "/";
    var body = Vectors.json(nested(world.request()));
    var runs = server.runs;
    var answer =
        world.authorization() == null
            ? server.post(path, body, "content-type", "application/json")
            : server.post(path, body, "content-type", "application/json", "authorization", world.authorization());
    var seen = new HashMap<String, Object>();
    seen.put("allow", false);
    if (answer.statusCode() == 200) seen.putAll(DecisionWorld.allowed(server.caller));
    assertEquals(answer.statusCode() == 200 ? 1 : 0, server.runs - runs);
    if (answer.statusCode() != 200) {
      var problem = map(Json.parse(answer.body()).value());
      assertEquals("application/problem+json", answer.headers().firstValue("content-type").orElse(""));
      assertEquals("no-store", answer.headers().firstValue("cache-control").orElse(""));
      assertEquals("urn:signet:reason:" + problem.get("reason"), problem.get("type"));
      assertEquals((long) answer.statusCode(), problem.get("status"));
      seen.put("reason", problem.get("reason"));
      seen.put("status", problem.get("status"));
      seen.put("message", problem.get("detail"));
      seen.put("metadata", problem.get("metadata"));
      seen.put("challenge", answer.headers().firstValue("www-authenticate").orElse(null));
    }
    assertEquals(map(one.get("expected")), seen);
  }

  /** A name with a dot is a message in a message. */
  private static Map<String, Object> nested(Map<String, Object> request) {
    var json = new LinkedHashMap<String, Object>();
    request.forEach(
        (field, value) -> {
          var names = field.split("\\.");
          json.put(names[0], names.length == 1 ? value : Map.of(names[1], value));
        });
    return json;
  }
}
