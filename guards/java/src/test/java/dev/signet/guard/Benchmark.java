package dev.signet.guard;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;

/**
 * Prints the processor time of a verification, which other programs' load does not change: the first one of a new
 * virtual machine, new tokens, and remembered ones.
 */
public final class Benchmark {
  private static final int TOKENS = 2_000;
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
  private static final int ROUNDS = 200_000;

  private Benchmark() {}

  public static void main(String[] args) {
    var vectors = Vectors.read("decisions.json");
    var signer = new TestSigner();
    var key = signer.key();
    var headers = new ArrayList<String>();
    for (int i = 0; i < 2 * TOKENS; i++) {
      var claims = new HashMap<>(Vectors.map(vectors.get("claims")));
      claims.put("jti", "jti_" + i);
      headers.add("Bearer " + signer.sign(Vectors.map(vectors.get("header")), claims));
    }
    var clock = new Vectors.SetClock();
    clock.nowMs = (Long) vectors.get("now") * 1_000;
    var guard =
        Guard.builder()
            .issuer((String) vectors.get("issuer"))
            .audience((String) vectors.get("audience"))
            .appId(Guard.ANY_APP)
            .keySet(kid -> Result.of(key))
            .clock(clock)
            .build();
    var rule = new Rule(guard, Requirement.scope("notes.read"), (from, field) -> false);
    report("the first call", time(rule, headers.subList(0, 1), 1));
    report("a token seen for the first time, cold", time(rule, headers.subList(1, 101), 100));
    time(rule, headers.subList(101, TOKENS), TOKENS - 101);
    report("a token seen for the first time, warm", time(rule, headers.subList(TOKENS, 2 * TOKENS), TOKENS));
    time(rule, headers, ROUNDS);
    report("a token that is remembered, warm", time(rule, headers, ROUNDS));
  }

  /** Nanoseconds of this thread's processor time for one call. */
  private static double time(Rule rule, List<String> headers, int calls) {
    var start = THREADS.getCurrentThreadCpuTime();
    for (int i = 0; i < calls; i++) {
      var decision = rule.decide(rule.authenticate(headers.get(i % headers.size())), (from, field) -> null);
      if (!(decision instanceof Decision.Allow)) throw new IllegalStateException("" + decision);
    }
    return (double) (THREADS.getCurrentThreadCpuTime() - start) / calls;
  }

  private static void report(String what, double nanos) {
    System.out.println(String.format(Locale.ROOT, "%s: %.1f µs", what, nanos / 1_000));
  }
}
