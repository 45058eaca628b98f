package dev.signet.guard.issuer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.signet.guard.FakeIssuer;
import dev.signet.guard.FakeIssuer.Answer;
import dev.signet.guard.Guard;
import dev.signet.guard.Reason;
import dev.signet.guard.Result;
import dev.signet.guard.TestSigner;
import java.io.IOException;
import java.net.http.HttpClient;
import java.time.Clock;
import java.util.ArrayList;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class HttpTest {
  private static final Http HTTP = Http.create();

  @Test
  void anAnswerThatTakesTooLongIsNone() throws Exception {
    var released = new CountDownLatch(1);
    try (var issuer = new FakeIssuer((path, body) -> await(released))) {
      var startedAt = System.nanoTime();
      var limits = new Http.Limits(300, 100);
      assertThrows(IOException.class, () -> HTTP.get(Http.address(issuer.url()), null, limits));
      assertTrue(System.nanoTime() - startedAt < TimeUnit.SECONDS.toNanos(20));
      released.countDown();
    }
  }

  private static Answer await(CountDownLatch released) {
    try {
      released.await(60, TimeUnit.SECONDS);
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
    }
    return Answer.ok("late");
  }

  @Test
  void aClientThatFollowsRedirectsIsNotTaken() {
    var client = HttpClient.newBuilder().followRedirects(HttpClient.Redirect.NORMAL).build();
    assertThrows(IllegalArgumentException.class, () -> new Http(client));
  }

  @Test
  void anAddressIsOfHttp() {
    for (var url : new String[] {"file:///etc/passwd", "/keys", "ftp://a/b", "https:"}) {
      assertThrows(IllegalArgumentException.class, () -> new HttpKeySet(url), url);
    }
  }

  @Test
  void threadsThatNeedKeysShareOneFetch() throws Exception {
    var jwks = new TestSigner().jwks();
    var released = new CountDownLatch(1);
    var threads = Executors.newFixedThreadPool(16);
    try (var issuer =
        new FakeIssuer(
            (path, body) -> {
              await(released);
              return Answer.ok(jwks);
            })) {
      var keySet = new HttpKeySet(issuer.url() + "/keys", HTTP, Clock.systemUTC());
      var finds = new ArrayList<Callable<Boolean>>();
      for (int i = 0; i < 16; i++) finds.add(() -> keySet.find("key-1").isRefused());
      var found = finds.stream().map(threads::submit).toList();
      Thread.sleep(200);
      released.countDown();
      for (var one : found) assertFalse(one.get(20, TimeUnit.SECONDS));
      assertEquals(1, issuer.asked.size());
    } finally {
      threads.shutdownNow();
    }
  }

  @Test
  void forgedKidsLeadToNoFetchWithinHalfAMinute() throws Exception {
    var jwks = new TestSigner().jwks();
    try (var issuer = new FakeIssuer((path, body) -> Answer.ok(jwks))) {
      var keySet = new HttpKeySet(issuer.url() + "/keys", HTTP, Clock.systemUTC());
      for (int i = 0; i < 2_000; i++) assertEquals(Reason.KEY_UNKNOWN, keySet.find("forged-" + i).refusal());
      assertEquals(1, issuer.asked.size());
    }
  }

  @Test
  void aServiceAsksForOneTokenAndForAnotherWhenItIsRefused() throws Exception {
    try (var issuer = new FakeIssuer((path, body) -> Answer.status(401))) {
      var credentials = new ServiceToken.Credentials("svc", "the-secret", "auth", "a b");
      assertFalse(credentials.toString().contains("the-secret"));
      var token = new ServiceToken(issuer.url() + "/auth/token", credentials, HTTP, Clock.systemUTC());
      assertEquals("own", token.get());
      var address = Http.address(issuer.url() + "/x");
      assertThrows(IOException.class, () -> token.run(own -> HTTP.get(address, own, HttpKeySet.LIMITS)));
      assertEquals(2, issuer.asked.size());
    }
  }

  @Test
  void aGuardHasAnAppOrSaysThatItServesAny() {
    var builder = Guard.builder().issuer("https://auth.example").audience("svc-notes");
    builder.keySet(kid -> Result.refused(Reason.KEY_UNKNOWN));
    assertTrue(assertThrows(IllegalArgumentException.class, builder::build).getMessage().contains("appId"));
    assertThrows(IllegalArgumentException.class, () -> builder.appId("notes").build());
    assertThrows(IllegalArgumentException.class, () -> Guard.builder().appId(Guard.ANY_APP).build());
    builder.appId(Guard.ANY_APP).build();
    builder.appId("app_0000000001e008000000000000").build();
  }

  @Test
  void aFeedFollowsInTheBackgroundAndStops() throws Exception {
    var problems = new CountDownLatch(2);
    try (var issuer = new FakeIssuer((path, body) -> Answer.status(500))) {
      var credentials = new ServiceToken.Credentials("svc", "secret", "auth", "auth.revocations.read");
      var token = new ServiceToken(issuer.url() + "/auth/token", credentials, HTTP, Clock.systemUTC());
      var options =
          RevocationFeed.Options.of(
              "https://auth.example", issuer.url(), token,
              (problem, cause) -> {
                assertEquals("UNREACHABLE", problem);
                problems.countDown();
                throw new IllegalStateException("a listener's fault");
              });
      var feed = new RevocationFeed(options);
      feed.start();
      assertTrue(problems.await(20, TimeUnit.SECONDS));
      feed.close();
      for (int i = 0; i < 100 && isFollowing(); i++) Thread.sleep(100);
      assertFalse(isFollowing());
    }
  }

  private static boolean isFollowing() {
    return Thread.getAllStackTraces().keySet().stream()
        .anyMatch(thread -> thread.getName().equals("signet-revocation-feed"));
  }
}
