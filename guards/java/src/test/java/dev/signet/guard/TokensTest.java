package dev.signet.guard;

import static dev.signet.guard.Vectors.map;
import static dev.signet.guard.Vectors.maps;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.signet.guard.AuthContext.Delegation;
import dev.signet.guard.AuthContext.Principal;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** tokens.json */
class TokensTest {
  private final Map<String, Object> vectors = Vectors.read("tokens.json");
  private final Vectors.SetClock clock = new Vectors.SetClock();

  private Guard guard(int cacheSize) {
    return Guard.builder()
        .issuer((String) vectors.get("issuer"))
        .audience((String) vectors.get("audience"))
        .appId(Guard.ANY_APP)
        .keySet(Vectors.keys(vectors.get("jwks")))
        .clock(clock)
        .cacheSize(cacheSize)
        .build();
  }

  @TestFactory
  Stream<DynamicTest> takesAHeaderOrRefusesItForItsReason() {
    return maps(vectors.get("cases")).stream()
        .map(one -> DynamicTest.dynamicTest((String) one.get("name"), () -> check(one)));
  }

  private void check(Map<String, Object> one) {
    clock.nowMs = (Long) vectors.get("now") * 1_000;
    var caller = guard(0).authenticate((String) one.get("authorization"));
    Map<String, Object> seen =
        caller.context() == null
            ? Map.of("reason", caller.reason().name())
            : Map.of("context", jsonContext(caller.context()));
    assertEquals(map(one.get("expected")), seen);
  }

  @TestFactory
  Stream<DynamicTest> remembersTokens() {
    return maps(vectors.get("sequences")).stream()
        .map(one -> DynamicTest.dynamicTest((String) one.get("name"), () -> checkSteps(one)));
  }

  private void checkSteps(Map<String, Object> one) {
    var guard = guard(100);
    for (var step : maps(one.get("steps"))) {
      clock.nowMs = (Long) step.get("now") * 1_000;
      var caller = guard.authenticate((String) step.get("authorization"));
      assertEquals(step.get("expected"), caller.context() == null ? caller.reason().name() : "accepted");
    }
  }

  /** The AuthContext without its claims, as the vectors have it. */
  private static Map<String, Object> jsonContext(AuthContext of) {
    var json = new LinkedHashMap<String, Object>();
    json.put("principal", principal(of.principal()));
    json.put("identityId", of.identityId());
    json.put("appId", of.appId());
    json.put("tenantId", of.tenantId());
    json.put("contextId", of.contextId());
    json.put("sessionId", of.sessionId());
    json.put("deviceId", of.deviceId());
    json.put("tokenId", of.tokenId());
    json.put("credentialId", of.credentialId());
    json.put("issuer", of.issuer());
    json.put("audience", of.audience());
    json.put("scopes", List.copyOf(new ArrayList<>(of.scopes())));
    json.put("roles", of.grants().map(held -> List.copyOf(held.roles())).orElse(null));
    json.put("permissions", of.grants().map(held -> List.copyOf(held.permissions())).orElse(null));
    json.put("method", of.method().name());
    json.put("actor", of.actor() == null ? null : principal(of.actor()));
    json.put("delegation", of.delegation() == null ? null : delegation(of.delegation()));
    json.put("authTimeMs", of.authTimeMs());
    json.put("issuedAtMs", of.issuedAtMs());
    json.put("expiresAtMs", of.expiresAtMs());
    json.put("permVer", of.permVer());
    json.put("versions", Map.of("principal", of.versions().principal(), "policy", of.versions().policy()));
    return json;
  }

  private static Map<String, Object> principal(Principal of) {
    return Map.of("id", of.id(), "kind", of.kind().name());
  }

  private static Map<String, Object> delegation(Delegation of) {
    var json = new LinkedHashMap<String, Object>();
    json.put("actor", principal(of.actor()));
    json.put("actorClientId", of.actorClientId());
    json.put("jobId", of.jobId());
    json.put("originSessionId", of.originSessionId());
    json.put("expiresAtMs", of.expiresAtMs());
    json.put("depth", (long) of.depth());
    return json;
  }
}
