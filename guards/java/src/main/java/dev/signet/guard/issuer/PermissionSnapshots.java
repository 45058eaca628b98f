package dev.signet.guard.issuer;

import dev.signet.guard.AuthContext;
import dev.signet.guard.KeySet;
import dev.signet.guard.PermissionSnapshot;
import dev.signet.guard.PermissionSnapshot.Key;
import dev.signet.guard.Result;
import dev.signet.guard.kernel.Claims;
import dev.signet.guard.kernel.Snapshots;
import dev.signet.guard.kernel.Values;
import dev.signet.guard.token.Json;
import dev.signet.guard.token.JwtVerifier;
import java.net.URI;
import java.time.Clock;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * What callers were granted, asked of the issuer once for each version of it, and kept: what a version is never
 * changes. The service's own token has the scope {@code auth.permissions.read}. At most 1,000 snapshots of 32 Mi
 * characters together are held. Thread-safe.
 */
public final class PermissionSnapshots implements PermissionSnapshot.Finder {
  private static final Http.Limits LIMITS = new Http.Limits(5_000, Snapshots.MAX_LENGTH + 1_024);
  private static final int DEFAULT_CAPACITY = 1_000;
  private static final long MAX_HELD_LENGTH = 33_554_432;

  private final String issuer;
  private final String baseUrl;
  private final KeySet statementKeys;
  private final ServiceToken token;
  private final Http http;
  private final int capacity;
  private final JwtVerifier<Map<String, Object>> verifier;
  private final SharedRun<Held> shared = new SharedRun<>(LIMITS.timeoutMs());
  private final LinkedHashMap<Key, Held> held = new LinkedHashMap<>();
  private long heldLength;

  /** A snapshot; without one, the version is outdated. */
  private record Held(PermissionSnapshot snapshot, String kid, int length) {}

  /**
   * A client.
   *
   * @param issuer the {@code iss} that is taken
   * @param baseUrl where the issuer answers. Configured, never from a request or a token.
   * @param statementKeys the keys at {@code /.well-known/statement-keys.json}; with a feed, its {@code withoutRevoked}
   * @param token this service's own token
   * @param capacity how many are held
   */
  public PermissionSnapshots(
      String issuer, String baseUrl, KeySet statementKeys, ServiceToken token, Http http, Clock clock, int capacity) {
    Http.address(baseUrl);
    this.issuer = issuer;
    this.baseUrl = baseUrl;
    this.statementKeys = statementKeys;
    this.token = token;
    this.http = http;
    this.capacity = capacity;
    this.verifier =
        new JwtVerifier<>(
            new JwtVerifier.Options<>(
                "perm+jwt", statementKeys, clock, 0, Snapshots.MAX_LENGTH, PermissionSnapshots::timely,
                (reason, header, payload) -> reason));
  }

  /** A client with the JDK's HTTP client and the system's clock. */
  public PermissionSnapshots(String issuer, String baseUrl, KeySet statementKeys, ServiceToken token) {
    this(issuer, baseUrl, statementKeys, token, Http.create(), Clock.systemUTC(), DEFAULT_CAPACITY);
  }

  @Override
  public PermissionSnapshot find(AuthContext caller) throws Exception {
    var key = Key.of(caller);
    var known = remembered(key);
    if (known == null) known = shared.run(nameOf(key), () -> load(key));
    keep(key, known);
    return known.snapshot();
  }

  @Override
  public PermissionSnapshot held(AuthContext caller) {
    var known = remembered(Key.of(caller));
    return known == null ? null : known.snapshot();
  }

  private static Result<Map<String, Object>> timely(Map<String, Object> payload, long nowMs) {
    var late = Claims.untimely(payload, nowMs);
    return late == null ? Result.of(payload) : Result.refused(late);
  }

  /** One for each key: no id has a space. */
  private static String nameOf(Key key) {
    return String.join(
        " ", key.principalId(), key.appId(), String.valueOf(key.tenantId()), String.valueOf(key.contextId()),
        String.valueOf(key.permVer()));
  }

  private Held load(Key key) throws Exception {
    var jws = ask(key);
    if (jws == null) return new Held(null, null, 0);
    var payload = verifier.verify(jws);
    var snapshot = payload.isRefused() ? null : Snapshots.parse(payload.value(), issuer, key);
    if (snapshot == null) throw new IllegalStateException("the issuer's snapshot does not match the request");
    return new Held(snapshot, JwtVerifier.kidIn(jws), jws.length());
  }

  /** Null when permissions have changed since this version. */
  private String ask(Key key) throws Exception {
    var query = new StringBuilder("?appId=").append(ServiceToken.encoded(key.appId()));
    if (key.tenantId() != null) query.append("&tenantId=").append(ServiceToken.encoded(key.tenantId()));
    if (key.contextId() != null) query.append("&contextId=").append(ServiceToken.encoded(key.contextId()));
    query.append("&permVer=").append(key.permVer());
    var address = URI.create(baseUrl + "/auth/permissions/" + ServiceToken.encoded(key.principalId()) + query);
    try {
      var answer = Values.object(Json.parse(token.run(own -> http.get(address, own, LIMITS))).value());
      if (answer == null || !(answer.get("jws") instanceof String jws)) {
        throw new IllegalStateException("the response is not a snapshot");
      }
      return jws;
    } catch (Http.StatusException error) {
      // SNAPSHOT_OUTDATED is the one conflict that there is.
      if (error.status == 409) return null;
      throw error;
    }
  }

  /** A key that was withdrawn takes its snapshots with it. */
  private Held remembered(Key key) {
    Held known;
    synchronized (held) {
      known = held.get(key);
    }
    if (known == null || known.snapshot() == null) return known;
    if (!statementKeys.find(known.kid()).isRefused()) return known;
    synchronized (held) {
      forget(key);
    }
    return null;
  }

  /** Behind what was not asked for since: the oldest go first. */
  private void keep(Key key, Held one) {
    synchronized (held) {
      forget(key);
      held.put(key, one);
      heldLength += one.length();
      while (held.size() > capacity || (heldLength > MAX_HELD_LENGTH && held.size() > 1)) {
        forget(held.keySet().iterator().next());
      }
    }
  }

  private void forget(Key key) {
    var gone = held.remove(key);
    if (gone != null) heldLength -= gone.length();
  }
}
