package dev.signet.guard.issuer;

import dev.signet.guard.KeySet;
import dev.signet.guard.Reason;
import dev.signet.guard.Result;
import dev.signet.guard.token.Jwks;
import java.net.URI;
import java.time.Clock;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The issuer's public keys over HTTP: fetched seldom, kept long, never trusted to be small, quick or well-formed.
 *
 * <p>At most 16 keys in 64 KiB within 5 s, without redirects. Keys are asked for again after 5 minutes and serve for a
 * day while that fails. An unknown kid, or a failed fetch, leads to at most one fetch in 30 s (5 s while there are no
 * keys at all). Thread-safe: threads that need keys at the same time share one fetch, and wait for it.
 */
public final class HttpKeySet implements KeySet {
  static final Http.Limits LIMITS = new Http.Limits(5_000, 65_536);

  private static final long MAX_AGE_MS = 300_000;
  private static final long MAX_STALE_MS = 86_400_000;
  private static final long COOLDOWN_MS = 30_000;
  private static final long FIRST_COOLDOWN_MS = 5_000;
  private static final long UNKNOWN_MS = 60_000;
  private static final int MAX_UNKNOWN = 1_000;

  private final URI url;
  private final Http http;
  private final Clock clock;
  private final SharedRun<Boolean> shared = new SharedRun<>(LIMITS.timeoutMs());
  private final LinkedHashMap<String, Long> unknown = new LinkedHashMap<>();
  private volatile Loaded loaded;
  // Nothing was tried yet: far enough in the past, and the difference to now does not overflow.
  private volatile long triedAtMs = Long.MIN_VALUE / 2;

  private record Loaded(Map<String, VerifyKey> keys, long fetchedAtMs) {}

  /**
   * Keys of a JWK Set.
   *
   * @param url its address. Configured, never from a request or a token.
   */
  public HttpKeySet(String url, Http http, Clock clock) {
    this.url = Http.address(url);
    this.http = http;
    this.clock = clock;
  }

  /** Keys of a JWK Set, with the JDK's HTTP client and the system's clock. */
  public HttpKeySet(String url) {
    this(url, Http.create(), Clock.systemUTC());
  }

  @Override
  public Result<VerifyKey> find(String kid) {
    var before = loaded;
    if (before == null || ageOf(before) > MAX_AGE_MS) {
      refresh();
      before = loaded;
    }
    if (before == null || ageOf(before) > MAX_STALE_MS) return Result.refused(Reason.UNAVAILABLE);
    var key = before.keys().get(kid);
    if (key != null) return Result.of(key);
    if (isKnownUnknown(kid)) return Result.refused(Reason.KEY_UNKNOWN);
    refresh();
    var after = loaded;
    var found = after.keys().get(kid);
    if (found != null) return Result.of(found);
    if (after != before) markUnknown(kid);
    return Result.refused(Reason.KEY_UNKNOWN);
  }

  private long ageOf(Loaded set) {
    return clock.millis() - set.fetchedAtMs();
  }

  /** Loads, unless that was tried too recently. Callers at the same time share one attempt. */
  private void refresh() {
    try {
      shared.run("", this::loadUnlessTried);
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
    } catch (Exception error) {
      // What was loaded before serves on, for a day.
    }
  }

  private boolean loadUnlessTried() throws Exception {
    var pauseMs = loaded == null ? FIRST_COOLDOWN_MS : COOLDOWN_MS;
    var nowMs = clock.millis();
    if (nowMs - triedAtMs < pauseMs) return false;
    triedAtMs = nowMs;
    loaded = new Loaded(Jwks.parse(http.get(url, null, LIMITS)), nowMs);
    return true;
  }

  private boolean isKnownUnknown(String kid) {
    synchronized (unknown) {
      var sinceMs = unknown.get(kid);
      if (sinceMs == null) return false;
      if (clock.millis() - sinceMs < UNKNOWN_MS) return true;
      unknown.remove(kid);
      return false;
    }
  }

  private void markUnknown(String kid) {
    synchronized (unknown) {
      var oldest = unknown.keySet().iterator();
      while (unknown.size() >= MAX_UNKNOWN && oldest.hasNext()) {
        oldest.next();
        oldest.remove();
      }
      unknown.put(kid, clock.millis());
    }
  }
}
