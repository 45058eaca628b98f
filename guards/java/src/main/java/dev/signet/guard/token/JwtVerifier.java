package dev.signet.guard.token;

import dev.signet.guard.KeySet;
import dev.signet.guard.Reason;
import dev.signet.guard.Result;
import dev.signet.guard.kernel.Claims;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Clock;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Verifies a JWT of one type, in the order in which RFC 8725's attacks are cheapest to refuse. Thread-safe. */
public final class JwtVerifier<T> {
  /** The longest access token. */
  public static final int MAX_TOKEN_LENGTH = 8_192;

  private static final int MAX_HEADERS = 64;

  /** Names in a header that change how a token is read or with which key: our issuer writes none of them. */
  private static final List<String> FORBIDDEN = List.of("crit", "b64", "jku", "jwk", "x5u", "x5c", "zip");

  private final Options<T> options;
  // A key has one header, so the few that are in use are parsed once.
  private final Map<String, String> kids = new ConcurrentHashMap<>();
  private final LinkedHashMap<String, Verified<T>> verified = new LinkedHashMap<>();

  /**
   * What is verified.
   *
   * @param typ the one {@code typ} that is taken
   * @param keySet the keys
   * @param clock the time
   * @param cacheSize how many verified tokens are remembered; 0 for none
   * @param maxLength the longest text that is looked at
   * @param reader what verified claims say
   * @param explain what to report of a header that is not taken
   */
  public record Options<T>(
      String typ, KeySet keySet, Clock clock, int cacheSize, int maxLength, Reader<T> reader, Explain explain) {}

  /** Reads claims whose signature was verified. Checks the times by {@link Claims#untimely}. */
  @FunctionalInterface
  public interface Reader<T> {
    /** What they say, or why they are not taken. */
    Result<T> read(Map<String, Object> payload, long nowMs);
  }

  /** Chooses what to report of a header that is not taken. */
  @FunctionalInterface
  public interface Explain {
    /** The reason itself, or a more helpful one. */
    Reason explain(Reason reason, Map<String, Object> header, String payloadPart);
  }

  private record Verified<T>(T value, Map<String, Object> payload, String kid) {}

  /** A verifier. */
  public JwtVerifier(Options<T> options) {
    this.options = options;
  }

  /** What a token says, or why it is not taken. UNAVAILABLE: the keys cannot be had. */
  public Result<T> verify(String token) {
    if (token.length() > options.maxLength()) return Result.refused(Reason.MALFORMED_CREDENTIAL);
    var digest = options.cacheSize() > 0 ? digest(token) : "";
    var known = find(digest);
    if (known != null) {
      var late = Claims.untimely(known.payload(), options.clock().millis());
      if (late != null) {
        forget(digest);
        return Result.refused(late);
      }
      // A key that was withdrawn takes its tokens with it.
      if (!options.keySet().find(known.kid()).isRefused()) return Result.of(known.value());
    }
    return verifyWhole(token, digest);
  }

  private Result<T> verifyWhole(String token, String digest) {
    var parts = token.split("\\.", -1);
    if (parts.length != 3 || parts[0].isEmpty() || parts[1].isEmpty()) {
      return Result.refused(Reason.MALFORMED_CREDENTIAL);
    }
    var known = kids.get(parts[0]);
    var kid = known == null ? kidOf(parts[0], parts[1]) : Result.of(known);
    if (kid.isRefused()) return Result.refused(kid.refusal());
    var key = options.keySet().find(kid.value());
    if (key.isRefused()) return Result.refused(key.refusal());
    var signature = Encoded.bytes(parts[2]);
    if (signature == null || signature.length != 64) return Result.refused(Reason.SIGNATURE_INVALID);
    var signed = (parts[0] + "." + parts[1]).getBytes(StandardCharsets.UTF_8);
    if (!key.value().verify(signature, signed)) return Result.refused(Reason.SIGNATURE_INVALID);
    if (known == null && kids.size() < MAX_HEADERS) kids.put(parts[0], kid.value());

    var payload = Encoded.object(parts[1]);
    if (payload == null) return Result.refused(Reason.MALFORMED_CREDENTIAL);
    var value = options.reader().read(payload.members(), options.clock().millis());
    if (!value.isRefused()) remember(digest, new Verified<>(value.value(), payload.members(), kid.value()));
    return value;
  }

  private Result<String> kidOf(String part, String payloadPart) {
    var header = Encoded.object(part);
    if (header == null || header.hasDuplicateNames()) return Result.refused(Reason.MALFORMED_CREDENTIAL);
    var members = header.members();
    if (FORBIDDEN.stream().anyMatch(members::containsKey)) return Result.refused(Reason.MALFORMED_CREDENTIAL);
    var refusal = "ES256".equals(members.get("alg")) ? null : Reason.ALG_NOT_ALLOWED;
    if (refusal == null && !options.typ().equals(members.get("typ"))) refusal = Reason.TYP_NOT_ALLOWED;
    if (refusal != null) return Result.refused(options.explain().explain(refusal, members, payloadPart));
    // Nothing of another shape reaches the key set.
    var isKid = members.get("kid") instanceof String kid && Jwks.KID.matcher(kid).matches();
    return isKid ? Result.of((String) members.get("kid")) : Result.refused(Reason.KEY_UNKNOWN);
  }

  /** The kid in the header of a token that was verified. */
  public static String kidIn(String token) {
    var header = Encoded.object(token.substring(0, Math.max(0, token.indexOf('.'))));
    return header != null && header.members().get("kid") instanceof String kid ? kid : null;
  }

  private Verified<T> find(String digest) {
    if (options.cacheSize() == 0) return null;
    synchronized (verified) {
      return verified.get(digest);
    }
  }

  private void forget(String digest) {
    synchronized (verified) {
      verified.remove(digest);
    }
  }

  private void remember(String digest, Verified<T> one) {
    if (options.cacheSize() == 0) return;
    synchronized (verified) {
      var oldest = verified.keySet().iterator();
      while (verified.size() >= options.cacheSize() && oldest.hasNext()) {
        oldest.next();
        oldest.remove();
      }
      verified.put(digest, one);
    }
  }

  /** The cache holds no tokens. */
  private static String digest(String token) {
    try {
      var bytes = MessageDigest.getInstance("SHA-256").digest(token.getBytes(StandardCharsets.UTF_8));
      return new String(bytes, StandardCharsets.ISO_8859_1);
    } catch (NoSuchAlgorithmException error) {
      throw new IllegalStateException("this Java has no SHA-256", error);
    }
  }
}
