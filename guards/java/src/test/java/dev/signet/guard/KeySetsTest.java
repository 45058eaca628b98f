package dev.signet.guard;

import static dev.signet.guard.Vectors.map;
import static dev.signet.guard.Vectors.maps;
import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.signet.guard.FakeIssuer.Answer;
import dev.signet.guard.issuer.Http;
import dev.signet.guard.issuer.HttpKeySet;
import dev.signet.guard.kernel.Values;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** key-sets.json */
class KeySetsTest {
  private static final Http HTTP = Http.create();

  private final Map<String, Object> vectors = Vectors.read("key-sets.json");
  private final Vectors.SetClock clock = new Vectors.SetClock();

  @TestFactory
  Stream<DynamicTest> readsADocument() {
    var named = new TreeSet<>(List.of("rsa-1", "hmac", "ed"));
    for (var one : maps(vectors.get("documents"))) {
      if (one.get("expected") != null) named.addAll(Values.texts(one.get("expected")));
    }
    return maps(vectors.get("documents")).stream()
        .map(one -> DynamicTest.dynamicTest((String) one.get("name"), () -> check(one, named)));
  }

  private void check(Map<String, Object> one, TreeSet<String> named) throws Exception {
    clock.nowMs = (Long) vectors.get("now") * 1_000;
    var text = (String) one.get("text");
    var padTo = one.get("padTo") instanceof Long length ? length.intValue() : 0;
    var padded = text + " ".repeat(Math.max(0, padTo - text.length()));
    try (var issuer = new FakeIssuer((path, body) -> Answer.ok(padded))) {
      var keySet = new HttpKeySet(issuer.url() + "/.well-known/jwks.json", HTTP, clock);
      var expected = one.get("expected") == null ? null : Values.texts(one.get("expected"));
      if (expected == null) assertEquals("UNAVAILABLE", found(keySet, "key-1"));
      for (var kid : named) {
        var otherwise = expected == null ? "UNAVAILABLE" : "KEY_UNKNOWN";
        assertEquals(expected != null && expected.contains(kid) ? "found" : otherwise, found(keySet, kid), kid);
      }
    }
  }

  private static String found(KeySet keySet, String kid) {
    var found = keySet.find(kid);
    return found.isRefused() ? found.refusal().name() : "found";
  }

  @TestFactory
  Stream<DynamicTest> fetchesSeldom() {
    return maps(vectors.get("sequences")).stream()
        .map(one -> DynamicTest.dynamicTest((String) one.get("name"), () -> checkSteps(one)));
  }

  private void checkSteps(Map<String, Object> one) throws Exception {
    var answer = new Answer[] {Answer.UNREACHABLE};
    try (var issuer = new FakeIssuer((path, body) -> answer[0])) {
      var keySet = new HttpKeySet(issuer.url() + "/.well-known/jwks.json", HTTP, clock);
      for (var step : maps(one.get("steps"))) {
        clock.nowMs = (Long) step.get("now") * 1_000;
        if (step.containsKey("answer")) answer[0] = answerOf(step.get("answer"), issuer);
        assertEquals(step.get("expected"), found(keySet, (String) step.get("find")), () -> "" + step);
        assertEquals(step.get("fetches"), (long) issuer.asked.size(), () -> "" + step);
      }
      assertEquals(0, issuer.asked.stream().filter(path -> !path.equals("/.well-known/jwks.json")).count());
    }
  }

  private static Answer answerOf(Object value, FakeIssuer issuer) {
    var of = map(value);
    if (of == null) return Answer.UNREACHABLE;
    var text = of.get("text") instanceof String body ? body : "";
    Map<String, String> headers =
        of.containsKey("location") ? Map.of("location", issuer.url() + "/elsewhere") : Map.of();
    return new Answer(((Long) of.get("status")).intValue(), text, headers);
  }
}
