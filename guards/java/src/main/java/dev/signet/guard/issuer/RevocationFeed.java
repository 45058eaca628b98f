package dev.signet.guard.issuer;

import dev.signet.guard.AuthContext;
import dev.signet.guard.KeySet;
import dev.signet.guard.Liveness;
import dev.signet.guard.Reason;
import dev.signet.guard.Result;
import dev.signet.guard.kernel.Claims;
import dev.signet.guard.kernel.RevocationEntry;
import dev.signet.guard.kernel.RevocationSet;
import dev.signet.guard.kernel.Statement;
import dev.signet.guard.kernel.Statement.Position;
import dev.signet.guard.kernel.Values;
import dev.signet.guard.token.Json;
import dev.signet.guard.token.JwtVerifier;
import java.net.URI;
import java.time.Clock;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.BiConsumer;

/**
 * What was revoked, followed from the issuer and held here, so that the guard refuses it within moments and asks
 * nobody. A daemon thread follows the feed by long polls once {@link #start} was called. Thread-safe.
 */
public final class RevocationFeed implements Liveness.Finder, AutoCloseable {
  private static final int MAX_STATEMENT_LENGTH = 2_000_000;
  private static final long PAUSE_MS = 25;
  private static final long CROWDED_PAUSE_MS = 1_000;
  private static final long FIRST_RETRY_MS = 250;
  private static final long LONGEST_RETRY_MS = 15_000;

  /** Where too many wait already, others ask without waiting, for so long. */
  private static final long CROWDED_MS = 60_000;

  /** How long a call waits for a first answer that is under way. Then it goes by what is known. */
  private static final long PATIENCE_MS = 2_000;

  /** Pages of one run, and beginnings: an issuer that never ends, or always begins anew, is no issuer. */
  private static final int MAX_PAGES = 10_000;

  private static final int MAX_BEGINNINGS = 3;

  private final Options options;
  private final RevocationSet revoked;
  private final JwtVerifier<Statement> verifier;
  private final SharedRun<Boolean> shared = new SharedRun<>(15_000);
  private final Object lock = new Object();
  private volatile Position position = Position.START;
  private volatile boolean isStopped;
  private volatile int refreshing;
  private Thread following;

  /**
   * What is followed, and how.
   *
   * @param issuer the {@code iss} that is taken
   * @param baseUrl where the issuer answers. Configured, never from a request or a token.
   * @param statementKeys the keys at {@code /.well-known/statement-keys.json}: others sign no statements
   * @param token this service's own token, with the scope {@code auth.revocations.read}
   * @param http how it is asked
   * @param clock the time
   * @param capacity the most entries that are held; with more the feed counts as stale
   * @param waitSeconds how long a call waits for news: how old the feed gets while there is none
   * @param onProblem receives each problem ({@code UNREACHABLE}, {@code FULL}, {@code GAP}, {@code ROLLBACK}, a
   *     reason) and its cause, which may be null. The feed tries again.
   */
  public record Options(
      String issuer,
      String baseUrl,
      KeySet statementKeys,
      ServiceToken token,
      Http http,
      Clock clock,
      int capacity,
      int waitSeconds,
      BiConsumer<String, Throwable> onProblem) {

    /** 250,000 entries (about 50 MB), 3 s, the JDK's HTTP client, the system's clock. */
    public static Options of(
        String issuer, String baseUrl, ServiceToken token, BiConsumer<String, Throwable> onProblem) {
      var http = Http.create();
      var clock = Clock.systemUTC();
      var keys = new HttpKeySet(baseUrl + "/.well-known/statement-keys.json", http, clock);
      return new Options(issuer, baseUrl, keys, token, http, clock, 250_000, 3, onProblem);
    }
  }

  /** Why the feed cannot go on now. */
  public static final class FeedException extends Exception {
    private static final long serialVersionUID = 1;
    private final String problem;

    FeedException(String problem, Throwable cause) {
      super("the revocation feed: " + problem, cause);
      this.problem = problem;
    }

    /** As {@code onProblem} receives it. */
    public String problem() {
      return problem;
    }
  }

  /** A feed that is not started. */
  public RevocationFeed(Options options) {
    Http.address(options.baseUrl());
    Objects.requireNonNull(options.onProblem(), "onProblem");
    this.options = options;
    this.revoked = new RevocationSet(options.capacity());
    this.verifier =
        new JwtVerifier<>(
            new JwtVerifier.Options<>(
                Statement.TYPE, withoutRevoked(options.statementKeys()), options.clock(), 0, MAX_STATEMENT_LENGTH,
                RevocationFeed::read, (reason, header, payload) -> reason));
  }

  private static Result<Statement> read(Map<String, Object> payload, long nowMs) {
    var statement = Statement.parse(payload);
    return statement == null ? Result.refused(Reason.MALFORMED_CREDENTIAL) : Result.of(statement);
  }

  /** The same keys without those that were revoked. A guard that is built with the feed does this by itself. */
  public KeySet withoutRevoked(KeySet keys) {
    return kid ->
        revoked.isKeyRevoked(kid, options.clock().millis()) ? Result.refused(Reason.KEY_UNKNOWN) : keys.find(kid);
  }

  /** What is known of the caller, and since when. */
  @Override
  public Liveness find(AuthContext context) throws InterruptedException {
    awaitFirst();
    var nowMs = options.clock().millis();
    // When the token was issued, nothing that it concerns was revoked. What was since is reported for as long as an
    // access token lives: of a context that is older, only that is known.
    var issuedAtMs = Math.min(context.issuedAtMs(), nowMs);
    var isReported = nowMs - issuedAtMs <= Claims.LONGEST_TOKEN_MS;
    // Before the entries: an entry that arrives between the two is then in the facts.
    var asOfMs = isReported ? Math.max(position.asOfMs(), issuedAtMs) : issuedAtMs;
    return new Liveness(revoked.factsOf(context, nowMs), asOfMs);
  }

  /** Nothing is known before the first answer: waits for one that is under way. */
  private void awaitFirst() throws InterruptedException {
    if (refreshing == 0 || position.asOfMs() != 0) return;
    synchronized (lock) {
      var untilNanos = System.nanoTime() + PATIENCE_MS * 1_000_000;
      for (var left = PATIENCE_MS; left > 0 && refreshing > 0 && position.asOfMs() == 0; ) {
        lock.wait(left);
        left = (untilNanos - System.nanoTime()) / 1_000_000;
      }
    }
  }

  /**
   * Reads to the end without waiting for news.
   *
   * @throws Exception when that cannot be done
   */
  public void refresh() throws Exception {
    shared.run("", this::pullOnce);
  }

  private boolean pullOnce() throws FeedException, InterruptedException {
    countRefreshing(1);
    try {
      return pull(0);
    } finally {
      countRefreshing(-1);
    }
  }

  private void countRefreshing(int more) {
    synchronized (lock) {
      refreshing += more;
      lock.notifyAll();
    }
  }

  /** Follows the feed until it is closed. A second call does nothing. */
  public synchronized void start() {
    if (following != null || isStopped) return;
    following = new Thread(this::follow, "signet-revocation-feed");
    following.setDaemon(true);
    following.start();
  }

  /** Stops following. What is known stays known, and gets old. */
  @Override
  public synchronized void close() {
    isStopped = true;
    if (following != null) following.interrupt();
  }

  /** Everything that was revoked until then is known; 0 while nothing is. Milliseconds since the Unix epoch. */
  public long asOfMs() {
    return position.asOfMs();
  }

  /** The last place of the log that was read. */
  public long seq() {
    return position.seq();
  }

  /** How many entries are held. */
  public int size() {
    return revoked.size();
  }

  private void follow() {
    long crowdedUntilMs = 0;
    int failures = 0;
    while (!isStopped) {
      try {
        var isCrowded = options.clock().millis() < crowdedUntilMs;
        try {
          pull(isCrowded ? 0 : options.waitSeconds());
          failures = 0;
          Thread.sleep(isCrowded ? CROWDED_PAUSE_MS : PAUSE_MS);
        } catch (FeedException error) {
          if (isStopped) return;
          if (isTooMany(error)) crowdedUntilMs = options.clock().millis() + CROWDED_MS;
          report(error);
          var longest = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS << Math.min(failures++, 16));
          Thread.sleep(longest / 2 + ThreadLocalRandom.current().nextLong(longest / 2 + 1));
        }
      } catch (InterruptedException error) {
        // Only close() interrupts; anything else is no reason to stop.
        if (isStopped) return;
      }
    }
  }

  /** A listener's fault must not end the thread. */
  private void report(FeedException error) {
    try {
      options.onProblem().accept(error.problem, error.getCause());
    } catch (RuntimeException fault) {
      System.getLogger(RevocationFeed.class.getName()).log(System.Logger.Level.WARNING, "onProblem failed", fault);
    }
  }

  private static boolean isTooMany(FeedException error) {
    return error.getCause() instanceof Http.StatusException status && status.status == 429;
  }

  /** Reads to the end; waits for news when there is none. True when there was any. */
  private boolean pull(int seconds) throws FeedException, InterruptedException {
    int beginnings = 0;
    for (int page = 0; page < MAX_PAGES; page++) {
      var statement = ask(pathAt(position, seconds), seconds);
      synchronized (lock) {
        var judged = statement.judge(position, options.issuer(), options.clock().millis());
        if (judged.refusal() == Statement.Refusal.GAP && beginnings++ < MAX_BEGINNINGS) {
          position = position.again();
          continue;
        }
        if (judged.refusal() != null) throw new FeedException(judged.refusal().name(), null);
        take(statement, judged.position());
      }
      if (statement.to() == statement.head()) return !statement.entries().isEmpty();
    }
    var cause = new IllegalStateException("the revocation log did not end within the page limit");
    throw new FeedException("UNREACHABLE", cause);
  }

  private static String pathAt(Position position, int seconds) {
    // The end of an empty log can be waited at like any other.
    var isBeginning = position.seq() == 0 && (position.log() == null || position.head() > 0);
    if (isBeginning) return "/auth/revocations/snapshot?after=0";
    return "/auth/revocations?after=" + position.seq() + "&wait=" + seconds;
  }

  private void take(Statement statement, Position next) throws FeedException {
    var isSame = statement.log().equals(position.log());
    var known = position.seq();
    // What is known already may have been followed by something newer of the same key.
    List<RevocationEntry> entries =
        statement.entries().stream().filter(entry -> !isSame || entry.seq() > known).toList();
    if (!revoked.add(entries, options.clock().millis())) {
      // Read again from the beginning, when some of it may have expired.
      position = position.again();
      throw new FeedException("FULL", null);
    }
    position = next;
    lock.notifyAll();
  }

  private Statement ask(String path, int seconds) throws FeedException, InterruptedException {
    String text;
    try {
      var limits = new Http.Limits(10_000 + seconds * 1_000L, MAX_STATEMENT_LENGTH);
      var address = URI.create(options.baseUrl() + path);
      text = options.token().run(token -> options.http().get(address, token, limits));
    } catch (InterruptedException error) {
      throw error;
    } catch (Exception error) {
      throw new FeedException("UNREACHABLE", error);
    }
    var statement = verifier.verify(statementIn(text));
    if (statement.isRefused()) throw new FeedException(statement.refusal().name(), null);
    return statement.value();
  }

  /** The statement in an answer; nothing that verifies where there is none. */
  private static String statementIn(String text) {
    try {
      var answer = Values.object(Json.parse(text).value());
      return answer != null && answer.get("statement") instanceof String statement ? statement : "";
    } catch (IllegalArgumentException error) {
      return "";
    }
  }
}
