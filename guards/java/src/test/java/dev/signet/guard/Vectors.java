package dev.signet.guard;

import dev.signet.guard.AuthContext.PrincipalKind;
import dev.signet.guard.Requirement.Freshness;
import dev.signet.guard.Requirement.OnStale;
import dev.signet.guard.Requirement.Options;
import dev.signet.guard.Requirement.Source;
import dev.signet.guard.kernel.Values;
import dev.signet.guard.token.Json;
import dev.signet.guard.token.Jwks;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** The vectors that every guard passes: server/guard/vectors. */
public final class Vectors {
  private Vectors() {}

  /** A file of them. */
  public static Map<String, Object> read(String name) {
    try {
      return map(Json.parse(Files.readString(Path.of(System.getProperty("vectors"), name))).value());
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  public static Map<String, Object> map(Object value) {
    return Values.object(value);
  }

  public static List<Map<String, Object>> maps(Object value) {
    return ((List<?>) value).stream().map(Vectors::map).collect(Collectors.toList());
  }

  /** Keys of a JWK Set that nobody fetches. */
  public static KeySet keys(Object jwks) {
    var keys = Jwks.parse(json(jwks));
    return kid -> keys.containsKey(kid) ? Result.of(keys.get(kid)) : Result.refused(Reason.KEY_UNKNOWN);
  }

  /** A clock that is set. */
  public static final class SetClock extends Clock {
    public volatile long nowMs;

    @Override
    public long millis() {
      return nowMs;
    }

    @Override
    public Instant instant() {
      return Instant.ofEpochMilli(nowMs);
    }

    @Override
    public ZoneId getZone() {
      return ZoneOffset.UTC;
    }

    @Override
    public Clock withZone(ZoneId zone) {
      return this;
    }
  }

  /** JSON of parsed JSON. */
  public static String json(Object value) {
    if (value instanceof String text) return Json.quote(text);
    if (value instanceof List<?> list) {
      return list.stream().map(Vectors::json).collect(Collectors.joining(",", "[", "]"));
    }
    if (value instanceof Map<?, ?> map) {
      return map.entrySet().stream()
          .map(one -> Json.quote((String) one.getKey()) + ":" + json(one.getValue()))
          .collect(Collectors.joining(",", "{", "}"));
    }
    return String.valueOf(value);
  }

  /** A requirement as server/kernel/authz/requirement.ts writes it. */
  public static Requirement requirement(Object value) {
    var of = map(value);
    var check = check((String) of.get("is"), of);
    var freshness = map(of.get("freshness"));
    return check.with(
        new Options(
            freshness == null
                ? null
                : new Freshness(
                    (Long) freshness.get("maxStalenessMs"), OnStale.valueOf((String) freshness.get("onStale"))),
            of.get("maxAuthAgeSeconds") instanceof Long seconds ? seconds : 0,
            Boolean.TRUE.equals(of.get("allowDelegated"))));
  }

  private static Requirement check(String is, Map<String, Object> of) {
    switch (is) {
      case "public":
        return Requirement.publicAccess();
      case "bodyCredential":
        return Requirement.bodyCredential();
      case "scope":
        return Requirement.scope((String) of.get("scope"));
      case "action":
        return Requirement.action((String) of.get("action"));
      case "role":
        return Requirement.role((String) of.get("role"));
      case "resourceAction":
        return Requirement.resourceAction(
            (String) of.get("action"), (String) of.get("type"), source(of), (String) of.get("field"));
      case "kinds":
        return Requirement.kinds(
            Values.texts(of.get("of")).stream().map(PrincipalKind::valueOf).toArray(PrincipalKind[]::new));
      case "tenant":
        return Requirement.tenant(source(of), (String) of.get("field"));
      case "delegated":
        return Requirement.delegated(Values.texts(of.get("actors")).toArray(String[]::new));
      case "device":
        return new Requirement.Device(Boolean.TRUE.equals(of.get("proof")), Options.NONE);
      case "anyOf":
        return Requirement.anyOf(parts(of));
      case "allOf":
        return Requirement.allOf(parts(of));
      default:
        throw new IllegalArgumentException(is);
    }
  }

  private static Requirement[] parts(Map<String, Object> of) {
    return ((List<?>) of.get("of")).stream().map(Vectors::requirement).toArray(Requirement[]::new);
  }

  private static Source source(Map<String, Object> of) {
    return Source.valueOf((String) of.get("from"));
  }

  /** A resource as the vectors have it. */
  public static ResourceRef resource(Object value) {
    var of = map(value);
    return new ResourceRef(
        (String) of.get("type"), (String) of.get("id"), (String) of.get("appId"), (String) of.get("tenantId"),
        (String) of.get("contextId"));
  }
}
