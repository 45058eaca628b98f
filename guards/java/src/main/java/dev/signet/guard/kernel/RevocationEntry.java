package dev.signet.guard.kernel;

/**
 * One thing that verifiers must refuse. A later entry of the same kind, key and app takes the place of an earlier one.
 *
 * @param seq its place in the log
 * @param kind what is revoked
 * @param key its id
 * @param appId AUTHORITY: the app whose tokens it concerns; else null
 * @param expiresAtMs from then on nothing that it concerns would be taken anyway
 * @param issuedBeforeMs only tokens that were issued before this are refused; null: every token is
 * @param minVersion AUTHORITY and POLICY: tokens of a lower version are refused; else 0
 */
public record RevocationEntry(
    long seq, Kind kind, String key, String appId, long expiresAtMs, Long issuedBeforeMs, long minVersion) {

  /** What is revoked. */
  public enum Kind {
    TOKEN,
    SESSION,
    CREDENTIAL,
    PRINCIPAL,
    TENANT,
    CONTEXT,
    APP,
    AUTHORITY,
    POLICY,
    KEY,
    ISSUER_EPOCH
  }

  private static final int MAX_TEXT = 256;

  /** Null for what is no entry, and for a kind that is not known: what cannot be understood cannot be obeyed. */
  static RevocationEntry parse(Object value) {
    var entry = Values.object(value);
    if (entry == null || !Values.isCount(entry.get("seq")) || !Values.isCount(entry.get("exp"))) return null;
    var kind = kindOf(entry.get("kind"));
    if (kind == null || !isShortText(entry.get("key"))) return null;
    var hasBefore = entry.containsKey("issued_before");
    if (hasBefore && !Values.isCount(entry.get("issued_before"))) return null;
    var hasApp = entry.containsKey("app_id");
    if ((kind == Kind.AUTHORITY) != hasApp || (hasApp && !isShortText(entry.get("app_id")))) return null;
    var hasVersion = entry.containsKey("min_version");
    var wantsVersion = kind == Kind.AUTHORITY || kind == Kind.POLICY;
    if (wantsVersion != hasVersion || (hasVersion && !Values.isCount(entry.get("min_version")))) return null;
    // Without it nothing would ever be taken again.
    if (kind == Kind.ISSUER_EPOCH && !hasBefore) return null;
    return new RevocationEntry(
        (Long) entry.get("seq"),
        kind,
        (String) entry.get("key"),
        (String) entry.get("app_id"),
        (Long) entry.get("exp") * 1_000,
        hasBefore ? (Long) entry.get("issued_before") * 1_000 : null,
        hasVersion ? (Long) entry.get("min_version") : 0);
  }

  static boolean isShortText(Object value) {
    return value instanceof String text && !text.isEmpty() && text.length() <= MAX_TEXT;
  }

  private static Kind kindOf(Object name) {
    for (var kind : Kind.values()) if (kind.name().equals(name)) return kind;
    return null;
  }
}
