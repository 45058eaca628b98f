package dev.signet.guard.servlet;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.signet.guard.DecisionWorld;
import dev.signet.guard.Requirement;
import dev.signet.guard.Requirement.Source;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

class GuardFilterTest {
  private static final DecisionWorld WORLD = new DecisionWorld("own tenant");
  private static final String OWN = (String) WORLD.request().get("tenant_id");
  private static TestServer server;

  @BeforeAll
  static void start() throws Exception {
    server = new TestServer();
  }

  @AfterAll
  static void stop() throws Exception {
    server.close();
  }

  private static GuardFilter bodyFilter(Requirement requirement) {
    return GuardFilter.builder(WORLD.guard()).path("POST", "/notes", requirement).maxBodyBytes(1_000).build();
  }

  @TestFactory
  Stream<DynamicTest> believesABodyThatCanBeReadInOneWay() {
    var json = "application/json";
    var named = "{\"tenant_id\":\"" + OWN + "\"}";
    var twice = "{\"tenant_id\":\"" + OWN + "\",\"tenant_id\":\"" + OWN + "\"}";
    var spelled = "{\"tenant_id\":\"" + OWN + "\",\"tenantId\":\"ten_other\"}";
    var camel = "{\"tenantId\":\"" + OWN + "\"}";
    var longer = "{\"tenant_id\":\"" + OWN + "\",\"x\":\"" + "x".repeat(1_000) + "\"}";
    return Stream.of(
            List.of("json", json, named, 200),
            List.of("json in lowerCamelCase", json, camel, 200),
            List.of("json with a charset", "Application/JSON; charset=UTF-8", named, 200),
            List.of("a name twice", json, twice, 403),
            List.of("a name in two spellings", json, spelled, 403),
            List.of("and in other capitals", json, "{\"TENANT_ID\":\"ten_other\"," + named.substring(1), 403),
            List.of("two of one name", json, "{\"TENANT_ID\":\"ten_other\"," + camel.substring(1), 403),
            List.of("in capitals alone", json, named.replace("tenant_id", "TENANT_ID"), 403),
            List.of("too long", json, longer, 403),
            List.of("another charset", "application/json; charset=utf-16", named, 403),
            List.of("two charsets", "application/json; charset=utf-8; charset=IBM037", named, 403),
            List.of("another type", "text/plain", named, 403),
            List.of("a type that looks like it", "application/jsonp", named, 403),
            List.of("no json", json, named + "x", 403),
            List.of("a list", json, "[" + named + "]", 403),
            List.of("a number", json, "{\"tenant_id\":1}", 403))
        .map(
            one ->
                DynamicTest.dynamicTest(
                    (String) one.get(0),
                    () -> {
                      server.filter = bodyFilter(Requirement.tenant(Source.BODY, "tenant_id"));
                      var answer =
                          server.post(
                              "/notes", (String) one.get(2), "content-type", (String) one.get(1), "authorization",
                              WORLD.authorization());
                      assertEquals(one.get(3), answer.statusCode(), answer.body());
                      if (answer.statusCode() == 200) assertTrue(answer.body().endsWith((String) one.get(2)));
                    }));
  }

  @Test
  void aHandlerReadsALongBodyToItsEnd() throws Exception {
    server.filter = bodyFilter(Requirement.anyOf(Requirement.scope("notes.read"), Requirement.tenant(Source.BODY, "t")));
    var body = "{\"x\":\"" + "x".repeat(300_000) + "\"}";
    var answer =
        server.post("/notes", body, "content-type", "application/json", "authorization", WORLD.authorization());
    assertEquals(200, answer.statusCode());
    assertTrue(answer.body().endsWith(" " + body));
  }

  @TestFactory
  Stream<DynamicTest> readsAPathInOneWay() {
    return Map.ofEntries(
            Map.entry("/tenants/" + OWN, 200),
            Map.entry("/tenants/" + OWN.replace("_", "%5F"), 200),
            Map.entry("/tenants/" + OWN.toUpperCase(), 403),
            Map.entry("/tenants/" + OWN + "/", 404),
            Map.entry("/tenants//" + OWN, 404),
            Map.entry("/tenants/", 404),
            Map.entry("/Tenants/" + OWN, 404),
            Map.entry("/tenants/" + OWN + ";x=1", 404),
            Map.entry("/%74enants/" + OWN, 200),
            Map.entry("/", 404))
        .entrySet().stream()
        .map(
            one ->
                DynamicTest.dynamicTest(
                    one.getKey(),
                    () -> {
                      server.filter =
                          GuardFilter.builder(WORLD.guard())
                              .path("POST", "/tenants/{tenant_id}", Requirement.tenant(Source.PATH, "tenant_id"))
                              .build();
                      var runs = server.runs;
                      var answer = server.post(one.getKey(), "", "authorization", WORLD.authorization());
                      // Jetty refuses some by itself.
                      var status = answer.statusCode() == 400 ? 404 : answer.statusCode();
                      assertEquals(one.getValue(), status);
                      assertEquals(one.getValue() == 200 ? 1 : 0, server.runs - runs);
                    }));
  }

  @TestFactory
  Stream<DynamicTest> aSegmentThatAContainerWouldResolveIsNoVariable() {
    var template = new PathTemplate("/notes/{note_id}");
    return Stream.of(
            "/notes/..", "/notes/%2e%2e", "/notes/a%2fb", "/notes/a%5Cb", "/notes/a%3bb", "/notes/%00", "/notes/%0a",
            "/notes/%", "/notes/%4", "/notes/%zz", "/notes/%ff", "/notes/%c0%ae", "/notes/a/b", "notes/a")
        .map(path -> DynamicTest.dynamicTest(path, () -> assertEquals(null, template.match(path))));
  }

  @Test
  void anEncodedLiteralIsTheLiteral() {
    assertEquals(Map.of(), new PathTemplate("/notes/export").match("/notes/%65xport"));
    assertEquals(null, new PathTemplate("/notes/export").match("/notes/%65xports"));
    assertEquals(null, new PathTemplate("/notes/export").match("/notes/%zz"));
  }

  @Test
  void twoHeadersAreNoToken() throws Exception {
    server.filter = GuardFilter.of(WORLD.guard(), Requirement.scope("notes.read"));
    var token = WORLD.authorization();
    var answer = server.post("/", "", "authorization", token, "authorization", token);
    assertEquals(401, answer.statusCode());
    assertTrue(answer.body().contains("MALFORMED_CREDENTIAL"));
  }

  @Test
  void twoTenantsInAHeaderAreNone() throws Exception {
    server.filter = GuardFilter.of(WORLD.guard(), Requirement.tenant(Source.HEADER, "x-tenant"));
    var token = WORLD.authorization();
    assertEquals(200, server.post("/", "", "authorization", token, "x-tenant", OWN).statusCode());
    assertEquals(
        403, server.post("/", "", "authorization", token, "x-tenant", OWN, "x-tenant", OWN).statusCode());
  }

  @Test
  void doesNotStartWithAVariableThatThePathHasNot() {
    var requirement = Requirement.tenant(Source.PATH, "tenant_id");
    var builder = GuardFilter.builder(WORLD.guard());
    assertThrows(IllegalArgumentException.class, () -> GuardFilter.of(WORLD.guard(), requirement));
    assertThrows(IllegalArgumentException.class, () -> builder.path("GET", "/tenants/{id}", requirement));
    assertThrows(IllegalArgumentException.class, () -> builder.path("get", "/", Requirement.scope("x")));
    assertThrows(IllegalArgumentException.class, () -> builder.path("GET", "/{id}/{id}", Requirement.scope("x")));
    assertThrows(IllegalArgumentException.class, () -> builder.path("GET", "/a{id}", Requirement.scope("x")));
    assertThrows(IllegalArgumentException.class, builder::build);
  }
}
