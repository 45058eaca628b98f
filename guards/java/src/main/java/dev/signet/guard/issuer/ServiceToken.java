package dev.signet.guard.issuer;

import dev.signet.guard.kernel.Values;
import dev.signet.guard.token.Json;
import java.net.URI;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.util.Objects;

/**
 * A service's own access token (client_credentials, RFC 6749 section 4.4), asked for when there is none or it is about
 * to expire. Thread-safe.
 */
public final class ServiceToken {
  /** Half a minute before it expires a token is as good as none. */
  private static final long RENEW_BEFORE_MS = 30_000;

  private final URI url;
  private final String form;
  private final Http http;
  private final Clock clock;
  private final SharedRun<String> shared = new SharedRun<>(HttpKeySet.LIMITS.timeoutMs());
  private volatile Held held;

  private record Held(String token, long untilMs) {}

  /**
   * Who asks, and for what.
   *
   * @param clientId the service account's client id
   * @param clientSecret its secret
   * @param audience {@code auth} for the issuer itself
   * @param scope scopes with a space between
   */
  public record Credentials(String clientId, String clientSecret, String audience, String scope) {
    /** All of it is needed. */
    public Credentials {
      Objects.requireNonNull(clientId, "clientId");
      Objects.requireNonNull(clientSecret, "clientSecret");
      Objects.requireNonNull(audience, "audience");
      Objects.requireNonNull(scope, "scope");
    }

    /** Never the secret. */
    @Override
    public String toString() {
      return "Credentials[" + clientId + "]";
    }
  }

  /**
   * A token client.
   *
   * @param url the issuer's token endpoint. Configured, never from a request or a token.
   */
  public ServiceToken(String url, Credentials of, Http http, Clock clock) {
    this.url = Http.address(url);
    this.form =
        "grant_type=client_credentials&client_id=" + encoded(of.clientId()) + "&client_secret="
            + encoded(of.clientSecret()) + "&audience=" + encoded(of.audience()) + "&scope=" + encoded(of.scope());
    this.http = http;
    this.clock = clock;
  }

  /** A token client with the JDK's HTTP client and the system's clock. */
  public ServiceToken(String url, Credentials of) {
    this(url, of, Http.create(), Clock.systemUTC());
  }

  /**
   * The token.
   *
   * @throws Exception when the issuer gives none
   */
  public String get() throws Exception {
    var now = held;
    if (now != null && clock.millis() < now.untilMs()) return now.token();
    return shared.run("", this::ask);
  }

  /** A call that needs the token. */
  @FunctionalInterface
  interface Call<T> {
    T with(String token) throws Exception;
  }

  /** Runs a call with the token; again with another one when it is answered 401. */
  <T> T run(Call<T> call) throws Exception {
    var first = get();
    try {
      return call.with(first);
    } catch (Http.StatusException error) {
      if (error.status != 401) throw error;
      // Its key or its credential may have been revoked.
      var now = held;
      if (now != null && now.token().equals(first)) held = null;
      return call.with(get());
    }
  }

  private String ask() throws Exception {
    var askedAtMs = clock.millis();
    var answer = Values.object(Json.parse(http.post(url, null, form, HttpKeySet.LIMITS)).value());
    var isToken =
        answer != null
            && answer.get("access_token") instanceof String
            && answer.get("expires_in") instanceof Number;
    if (!isToken) throw new IllegalStateException("the token endpoint's response has no token");
    var token = (String) answer.get("access_token");
    var seconds = ((Number) answer.get("expires_in")).doubleValue();
    held = new Held(token, askedAtMs + (long) (seconds * 1_000) - RENEW_BEFORE_MS);
    return token;
  }

  static String encoded(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8);
  }
}
