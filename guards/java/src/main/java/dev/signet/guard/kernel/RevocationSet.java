package dev.signet.guard.kernel;

import dev.signet.guard.AuthContext;
import dev.signet.guard.AuthContext.Versions;
import dev.signet.guard.Liveness.Facts;
import dev.signet.guard.Liveness.Revoked;
import dev.signet.guard.Liveness.Session;
import dev.signet.guard.Liveness.Standing;
import dev.signet.guard.kernel.RevocationEntry.Kind;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * What was revoked, as a verifier holds it: found by the claims of a token, bounded, and dropped when it has expired.
 * Many threads may read; one at a time may add.
 */
public final class RevocationSet {
  private static final long SWEEP_EVERY_MS = 10_000;
  private static final long SKEW_MS = Claims.SKEW_SECONDS * 1_000;

  private final int capacity;
  private final Map<Name, RevocationEntry> entries = new ConcurrentHashMap<>();
  private long sweptAtMs;

  private record Name(Kind kind, String key, String appId) {}

  /** How far an entry reaches: whatever is issued, or what was issued before an instant, as this token was. */
  private enum Reach {
    NONE,
    BEFORE,
    ALL
  }

  /** @param capacity the most entries */
  public RevocationSet(int capacity) {
    this.capacity = capacity;
  }

  /** False when there is no room: then the set knows less than there is. */
  public synchronized boolean add(List<RevocationEntry> added, long nowMs) {
    if (nowMs - sweptAtMs > SWEEP_EVERY_MS || entries.size() + added.size() > capacity) {
      entries.values().removeIf(entry -> isOver(entry, nowMs));
      sweptAtMs = nowMs;
    }
    for (var entry : added) {
      if (isOver(entry, nowMs)) continue;
      var name = new Name(entry.kind(), entry.key(), entry.appId() == null ? "" : entry.appId());
      if (entries.size() >= capacity && !entries.containsKey(name)) return false;
      entries.put(name, entry);
    }
    return true;
  }

  /** What the entries say of a caller whose token is good otherwise. */
  public Facts factsOf(AuthContext context, long nowMs) {
    var app = reach(Kind.APP, context.appId(), context, nowMs);
    var tenant = reach(Kind.TENANT, context.tenantId(), context, nowMs);
    var place = reach(Kind.CONTEXT, context.contextId(), context, nowMs);
    var principal = reach(Kind.PRINCIPAL, context.principal().id(), context, nowMs);
    var actor = reach(Kind.PRINCIPAL, context.actor() == null ? null : context.actor().id(), context, nowMs);
    var epoch = reach(Kind.ISSUER_EPOCH, "all", context, nowMs);
    var isOld = List.of(principal, actor, app, tenant, place, epoch).contains(Reach.BEFORE);
    var revoked = EnumSet.noneOf(Revoked.class);
    if (principal == Reach.ALL) revoked.add(Revoked.PRINCIPAL);
    if (isReached(Kind.SESSION, context.endingSessionId(), context, nowMs)) revoked.add(Revoked.SESSION);
    if (isReached(Kind.CREDENTIAL, context.credentialId(), context, nowMs)) revoked.add(Revoked.CREDENTIAL);
    if (isOld || isReached(Kind.TOKEN, context.tokenId(), context, nowMs)) revoked.add(Revoked.TOKEN);
    return new Facts(
        Standing.ACTIVE,
        standing(actor),
        Standing.ACTIVE,
        // Its own times are in no token, and are those of its refresh token.
        Session.ACTIVE,
        Standing.ACTIVE,
        standing(app),
        context.tenantId() == null ? Standing.NOT_ASKED : standing(tenant),
        context.contextId() == null ? Standing.NOT_ASKED : standing(place),
        revoked,
        minimumOf(context, nowMs));
  }

  /** Whether the key with this kid was revoked. */
  public boolean isKeyRevoked(String kid, long nowMs) {
    return find(Kind.KEY, kid, "", nowMs) != null;
  }

  /** How many entries are held. */
  public int size() {
    return entries.size();
  }

  private Versions minimumOf(AuthContext context, long nowMs) {
    var authority = find(Kind.AUTHORITY, context.principal().id(), context.appId(), nowMs);
    var policy = find(Kind.POLICY, context.appId(), "", nowMs);
    return new Versions(authority == null ? 0 : authority.minVersion(), policy == null ? 0 : policy.minVersion());
  }

  private boolean isReached(Kind kind, String key, AuthContext context, long nowMs) {
    return reach(kind, key, context, nowMs) != Reach.NONE;
  }

  private Reach reach(Kind kind, String key, AuthContext context, long nowMs) {
    var entry = find(kind, key, "", nowMs);
    if (entry == null) return Reach.NONE;
    if (entry.issuedBeforeMs() == null) return Reach.ALL;
    return context.issuedAtMs() < entry.issuedBeforeMs() ? Reach.BEFORE : Reach.NONE;
  }

  private RevocationEntry find(Kind kind, String key, String appId, long nowMs) {
    if (key == null) return null;
    var entry = entries.get(new Name(kind, key, appId));
    return entry == null || isOver(entry, nowMs) ? null : entry;
  }

  /** Clocks may differ: a token is taken for that long after it expired. */
  private static boolean isOver(RevocationEntry entry, long nowMs) {
    return entry.expiresAtMs() <= nowMs - SKEW_MS;
  }

  private static Standing standing(Reach reached) {
    return reached == Reach.ALL ? Standing.INACTIVE : Standing.ACTIVE;
  }
}
