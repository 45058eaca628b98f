package dev.signet.guard.kernel;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * A statement of the revocation feed: what was revoked in a range of the log, and as of when.
 *
 * @param issuer who says so
 * @param log which log; another id is another log, whose places mean nothing in this one
 * @param from it has every entry that still counts, of the places after this
 * @param to up to and with this
 * @param head the newest place there was
 * @param asOfMs when that was so; milliseconds since the Unix epoch, a whole second
 * @param entries the entries
 */
public record Statement(
    String issuer, String log, long from, long to, long head, long asOfMs, List<RevocationEntry> entries) {
  /** The {@code typ} that it is signed under. */
  public static final String TYPE = "rev+jwt";

  private static final int MAX_ENTRIES = 2_000;
  private static final long SKEW_MS = Claims.SKEW_SECONDS * 1_000;

  /** How old a statement may be when it arrives. */
  private static final long MAX_AGE_MS = 60_000;

  /** Null for what is no statement: nothing of it is used then. */
  public static Statement parse(Map<String, Object> payload) {
    for (var name : new String[] {"iat", "seq_from", "seq_to", "head"}) {
      if (!Values.isCount(payload.get(name))) return null;
    }
    var iss = payload.get("iss");
    var log = payload.get("log");
    if (!RevocationEntry.isShortText(iss) || !RevocationEntry.isShortText(log)) return null;
    long from = (Long) payload.get("seq_from");
    long to = (Long) payload.get("seq_to");
    long head = (Long) payload.get("head");
    if (from > to || to > head) return null;
    if (!(payload.get("entries") instanceof List<?> list) || list.size() > MAX_ENTRIES) return null;
    var entries = new ArrayList<RevocationEntry>(list.size());
    for (var one : list) {
      var entry = RevocationEntry.parse(one);
      if (entry == null || entry.seq() <= from || entry.seq() > to) return null;
      entries.add(entry);
    }
    return new Statement((String) iss, (String) log, from, to, head, (Long) payload.get("iat") * 1_000, entries);
  }

  /**
   * How far a reader has come.
   *
   * @param log null before the first statement
   * @param seq the last place that was read; 0 to begin, also to begin again
   * @param head the newest place that the log was ever said to have: it never has fewer
   * @param asOfMs everything that was revoked until then is known; 0 while that cannot be said
   */
  public record Position(String log, long seq, long head, long asOfMs) {
    /** Nothing was read yet. */
    public static final Position START = new Position(null, 0, 0, 0);

    /** The same, to be read from the beginning. What is known stays known, until it expires. */
    public Position again() {
      return new Position(log, 0, head, asOfMs);
    }
  }

  /** Why a statement is not taken. */
  public enum Refusal {
    /** It is another issuer's. */
    ISSUER,
    /** It is too old, or of the future. */
    UNTIMELY,
    /** The log ends before what was read of it. */
    ROLLBACK,
    /** Something before it was missed, so the log is read from its beginning. */
    GAP
  }

  /**
   * What a statement means to a reader.
   *
   * @param position the next position; null when it is refused
   * @param refusal null when it is taken
   */
  public record Judgement(Position position, Refusal refusal) {}

  /** The reader's next position, or why the statement is not taken. */
  public Judgement judge(Position before, String expectedIssuer, long nowMs) {
    if (!issuer.equals(expectedIssuer)) return refused(Refusal.ISSUER);
    if (asOfMs > nowMs + SKEW_MS || asOfMs < nowMs - MAX_AGE_MS) return refused(Refusal.UNTIMELY);
    if (!log.equals(before.log())) {
      if (from != 0) return refused(Refusal.GAP);
      // What an earlier log said last is as old as it was: a statement of before that is a replay.
      if (asOfMs < before.asOfMs()) return refused(Refusal.UNTIMELY);
      return taken(new Position(log, to, head, to == head ? asOfMs : before.asOfMs()));
    }
    if (head < before.head()) return refused(Refusal.ROLLBACK);
    if (from > before.seq()) return refused(Refusal.GAP);
    var latest = to == head ? Math.max(before.asOfMs(), asOfMs) : before.asOfMs();
    return taken(new Position(log, Math.max(before.seq(), to), Math.max(before.head(), head), latest));
  }

  private static Judgement refused(Refusal refusal) {
    return new Judgement(null, refusal);
  }

  private static Judgement taken(Position position) {
    return new Judgement(position, null);
  }
}
