package dev.signet.guard;

import static dev.signet.guard.Vectors.map;

import dev.signet.guard.AuthContext.Versions;
import dev.signet.guard.Liveness.Facts;
import dev.signet.guard.Liveness.Revoked;
import dev.signet.guard.Liveness.Session;
import dev.signet.guard.Liveness.Standing;
import dev.signet.guard.PermissionSnapshot.Grant;
import dev.signet.guard.PermissionSnapshot.Resource;
import dev.signet.guard.PermissionSnapshot.Role;
import dev.signet.guard.kernel.Values;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** A guard, a store and a call as a situation of decisions.json describes them. */
public final class DecisionWorld {
  private static final Map<String, Object> VECTORS = Vectors.read("decisions.json");
  private static final TestSigner ISSUER = new TestSigner();
  private static final TestSigner STRANGER = new TestSigner();

  private final Map<String, Object> situation;

  /** @param name of the situation */
  public DecisionWorld(String name) {
    situation = map(map(VECTORS.get("situations")).get(name));
  }

  public static List<Map<String, Object>> cases() {
    return Vectors.maps(VECTORS.get("cases"));
  }

  public static Requirement requirement(String name) {
    return Vectors.requirement(map(VECTORS.get("requirements")).get(name));
  }

  /** What a case expects of a call that runs; the caller is null where it is told of none. */
  public static Map<String, Object> allowed(AuthContext caller) {
    var told = new HashMap<String, Object>(Map.of("allow", true));
    if (caller == null) told.put("caller", null);
    return told;
  }

  /** The fields that the request has, by name. */
  public Map<String, Object> request() {
    return situation.containsKey("request") ? map(situation.get("request")) : Map.of();
  }

  /** The Authorization header; null for none. */
  public String authorization() {
    if (situation.containsKey("authorization")) return (String) situation.get("authorization");
    var signer = "stranger".equals(situation.get("signer")) ? STRANGER : ISSUER;
    return "Bearer " + signer.sign(changed("header"), changed("claims"));
  }

  private Map<String, Object> changed(String name) {
    var changed = new LinkedHashMap<>(map(VECTORS.get(name)));
    if (situation.containsKey(name)) changed.putAll(map(situation.get(name)));
    changed.values().removeIf(value -> value == null);
    return changed;
  }

  public Guard guard() {
    var clock = new Vectors.SetClock();
    var now = (Long) VECTORS.get("now");
    clock.nowMs = now * 1_000;
    var builder =
        Guard.builder()
            .issuer((String) VECTORS.get("issuer"))
            .audience((String) VECTORS.get("audience"))
            .appId(situation.containsKey("targetApp") ? (String) situation.get("targetApp") : Guard.ANY_APP)
            .keySet(kid -> kid.equals("key-1") ? Result.of(ISSUER.key()) : Result.refused(Reason.KEY_UNKNOWN))
            .clock(clock)
            .resources((type, id) -> resource(id))
            .permissions(caller -> snapshot());
    var age = situation.get("livenessAgeSeconds") instanceof Long seconds ? seconds : 0;
    var liveness = situation.getOrDefault("liveness", Map.of());
    if (!"unknown".equals(liveness)) {
      builder.liveness(caller -> new Liveness(facts(liveness), (now - age) * 1_000));
    }
    if (situation.containsKey("introspection")) {
      var answer = situation.get("introspection");
      builder.introspection((caller, token) -> new Liveness(facts(answer), now * 1_000));
    }
    return builder.build();
  }

  private static ResourceRef resource(String id) {
    var found = map(VECTORS.get("resources")).get(id);
    return found == null ? null : Vectors.resource(found);
  }

  private static Facts facts(Object change) throws Exception {
    if ("down".equals(change)) throw new Exception("down");
    var of = new HashMap<>(map(VECTORS.get("liveness")));
    of.putAll(map(change));
    var session = new HashMap<>(map(map(VECTORS.get("liveness")).get("session")));
    session.putAll(map(of.get("session")));
    var minimum = map(of.get("minimum"));
    Set<Revoked> revoked =
        Values.texts(of.get("revoked")).stream().map(Revoked::valueOf).collect(Collectors.toSet());
    return new Facts(
        standing(of.get("principal")),
        standing(of.get("actor")),
        standing(of.get("identity")),
        new Session(
            standing(session.get("status")),
            (Long) session.get("idleExpiresAtMs"),
            (Long) session.get("absoluteExpiresAtMs")),
        standing(of.get("membership")),
        standing(of.get("app")),
        standing(of.get("tenant")),
        standing(of.get("context")),
        revoked,
        new Versions((Long) minimum.get("principal"), (Long) minimum.get("policy")));
  }

  private static Standing standing(Object of) {
    if (of == null) return Standing.NOT_ASKED;
    return of.equals("ACTIVE") ? Standing.ACTIVE : Standing.INACTIVE;
  }

  private PermissionSnapshot snapshot() throws Exception {
    var grants = situation.getOrDefault("grants", List.of());
    if ("down".equals(grants)) throw new Exception("down");
    if ("stale".equals(grants)) return null;
    var roles = new HashMap<String, Role>();
    map(VECTORS.get("roles"))
        .forEach(
            (key, role) ->
                roles.put(
                    key,
                    new Role(
                        key,
                        Set.copyOf(Values.texts(map(role).get("permissions"))),
                        (Boolean) map(role).get("inheritable"))));
    var scopes = new HashMap<String, Set<String>>();
    map(VECTORS.get("scopes")).forEach((scope, of) -> scopes.put(scope, Set.copyOf(Values.texts(of))));
    var held = new ArrayList<Grant>();
    for (var grant : Vectors.maps(grants)) {
      var on = grant.get("resource") == null ? null : map(grant.get("resource"));
      held.add(
          new Grant(
              (String) grant.get("role"),
              (String) map(VECTORS.get("claims")).get("app_id"),
              (String) grant.get("tenantId"),
              (String) grant.get("contextId"),
              on == null ? null : new Resource((String) on.get("type"), (String) on.get("id")),
              (Long) grant.get("expiresAtMs")));
    }
    return new PermissionSnapshot(roles, scopes, held);
  }
}
