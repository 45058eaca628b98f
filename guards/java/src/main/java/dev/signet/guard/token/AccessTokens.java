package dev.signet.guard.token;

import dev.signet.guard.AuthContext;
import dev.signet.guard.KeySet;
import dev.signet.guard.Reason;
import dev.signet.guard.Result;
import dev.signet.guard.kernel.Claims;
import java.time.Clock;
import java.util.Map;
import java.util.Set;

/** Verifies access tokens of one issuer for one audience. Thread-safe. */
public final class AccessTokens {
  private static final Set<String> PROVIDER_ALGORITHMS =
      Set.of("RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA");

  private final String issuer;
  private final String audience;
  private final JwtVerifier<AuthContext> verifier;

  /** A verifier that remembers so many verified tokens. */
  public AccessTokens(String issuer, String audience, KeySet keySet, Clock clock, int cacheSize) {
    this.issuer = issuer;
    this.audience = audience;
    this.verifier =
        new JwtVerifier<>(
            new JwtVerifier.Options<>(
                "at+jwt", keySet, clock, cacheSize, JwtVerifier.MAX_TOKEN_LENGTH, this::read, this::explain));
  }

  /** The caller, or why the token is not taken. UNAVAILABLE: the keys cannot be had. */
  public Result<AuthContext> verify(String token) {
    return verifier.verify(token);
  }

  private Result<AuthContext> read(Map<String, Object> payload, long nowMs) {
    if (!issuer.equals(payload.get("iss"))) return Result.refused(Reason.ISSUER_MISMATCH);
    if (!audience.equals(payload.get("aud"))) return Result.refused(Reason.AUDIENCE_MISMATCH);
    var late = Claims.untimely(payload, nowMs);
    return late == null ? Claims.contextOf(payload) : Result.refused(late);
  }

  /** Tells a developer that it sent a provider's ID token. The token is refused either way. */
  private Reason explain(Reason reason, Map<String, Object> header, String payloadPart) {
    if (header.containsKey("typ") && !"JWT".equals(header.get("typ"))) return reason;
    if (!(header.get("alg") instanceof String alg) || !PROVIDER_ALGORITHMS.contains(alg)) return reason;
    var payload = Encoded.object(payloadPart);
    var isOfProvider = payload != null && payload.members().get("iss") instanceof String iss && !iss.equals(issuer);
    return isOfProvider ? Reason.PROVIDER_TOKEN_NOT_ACCEPTED : reason;
  }
}
