package dev.signet.guard.issuer;

import dev.signet.guard.AuthContext;
import dev.signet.guard.Liveness;
import dev.signet.guard.Liveness.Facts;
import dev.signet.guard.kernel.Values;
import dev.signet.guard.token.Json;
import java.net.URI;
import java.time.Clock;

/**
 * RFC 7662: asks the issuer about one token, where the revocation feed is too old for a requirement. The service's own
 * token has the scope {@code auth.introspect}. Thread-safe: threads that ask about one token share the answer.
 */
public final class Introspection implements Liveness.Introspector {
  private static final Http.Limits LIMITS = new Http.Limits(2_000, 65_536);

  private final URI url;
  private final ServiceToken token;
  private final Http http;
  private final Clock clock;
  private final SharedRun<Liveness> shared = new SharedRun<>(LIMITS.timeoutMs());

  /**
   * A client.
   *
   * @param url the issuer's introspection endpoint. Configured, never from a request or a token.
   * @param token this service's own token
   */
  public Introspection(String url, ServiceToken token, Http http, Clock clock) {
    this.url = Http.address(url);
    this.token = token;
    this.http = http;
    this.clock = clock;
  }

  /** A client with the JDK's HTTP client and the system's clock. */
  public Introspection(String url, ServiceToken token) {
    this(url, token, Http.create(), Clock.systemUTC());
  }

  @Override
  public Liveness introspect(AuthContext context, String asked) throws Exception {
    return shared.run(asked, () -> ask(context, asked));
  }

  private Liveness ask(AuthContext context, String asked) throws Exception {
    // Before the question: what changes while it is under way may be missed.
    var asOfMs = clock.millis();
    var form = "token=" + ServiceToken.encoded(asked);
    var text = token.run(own -> http.post(url, own, form, LIMITS));
    return new Liveness(isActive(text, context) ? Facts.active(context) : Facts.revokedToken(context), asOfMs);
  }

  /** @throws IllegalArgumentException when it is no answer, or one about another token */
  private static boolean isActive(String text, AuthContext context) {
    var answer = Values.object(Json.parse(text).value());
    if (answer == null || !(answer.get("active") instanceof Boolean isActive)) {
      throw new IllegalArgumentException("the response is not an introspection response");
    }
    if (isActive && !context.tokenId().equals(answer.get("jti"))) {
      throw new IllegalArgumentException("the introspection response is not about this token");
    }
    return isActive;
  }
}
