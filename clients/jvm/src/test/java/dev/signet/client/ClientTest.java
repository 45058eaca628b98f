package dev.signet.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.signet.client.v1.ClientFailure;
import dev.signet.client.v1.IdentityOptions;
import dev.signet.client.v1.ListTimelineRequest;
import dev.signet.client.v1.LoginWithPasswordRequest;
import dev.signet.client.v1.OpenRequest;
import dev.signet.client.v1.ReadyResponse;
import java.io.IOException;
import java.lang.ref.WeakReference;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Against a service that accepts connections and never answers. */
@Timeout(30)
class ClientTest {
  @TempDir Path folder;
  private ServerSocket silent;

  @BeforeAll
  static void requireLibraries() {
    var inJar = "/natives/" + Native.platform() + "/libsignet-jni.so";
    var isNamed = TestHost.NAME != null || System.getProperty(Native.FOLDER_PROPERTY) != null;
    var isThere = isNamed || Native.class.getResource(inJar) != null;
    assumeTrue(isThere, "libsignet is not built: npm run native:jvm");
  }

  @BeforeEach
  void listen() throws IOException {
    silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
  }

  @AfterEach
  void stopListening() throws IOException {
    silent.close();
  }

  private SignetClient.Builder builder(String name) {
    var identity = IdentityOptions.newBuilder()
        .setAppId("app_01kdvdna00edmtevk5ehj6axhg")
        .setAuthBaseUrl("http://127.0.0.1:" + silent.getLocalPort())
        .addProviders("EMAIL_PASSWORD");
    return TestHost.builder(identity.build(), folder.resolve(name));
  }

  private SignetClient open(String name) {
    return builder(name).passphrase("correct horse".getBytes(StandardCharsets.UTF_8)).open();
  }

  private static LoginWithPasswordRequest login() {
    return LoginWithPasswordRequest.newBuilder().setEmail("ann@example.com").setPassword("planted-pass-19").build();
  }

  private static SignetException failureOf(CompletableFuture<?> call) throws Exception {
    var thrown = assertThrows(ExecutionException.class, () -> call.get(20, TimeUnit.SECONDS));
    return assertInstanceOf(SignetException.class, thrown.getCause());
  }

  @Test
  void readyAnswersThatNobodyIsSignedIn() {
    try (var client = open("a")) {
      assertTrue(client.identity().ready().join().getState().hasLoggedOut());
    }
  }

  @Test
  void aFailedCallHasItsKindAndReason() throws Exception {
    try (var client = open("a")) {
      var early = failureOf(client.messenger().listTimeline(ListTimelineRequest.getDefaultInstance()));
      assertEquals(ClientFailure.Kind.MESSAGING, early.kind());
      assertEquals("CLOSED", early.reason());
      var empty = failureOf(client.messenger().open(OpenRequest.getDefaultInstance()));
      assertEquals(0, empty.code());
      assertFalse(empty.reason().isEmpty());
      var unknown = failureOf(
          client.call("MessengerService/Nothing", OpenRequest.getDefaultInstance(), ReadyResponse.parser()));
      assertEquals("UNKNOWN_METHOD", unknown.reason());
      var joined = assertThrows(CompletionException.class, () -> client.messenger().sync().join());
      assertInstanceOf(SignetException.class, joined.getCause());
    }
  }

  @Test
  void refusedOptionsAreTypedFailuresOfOpen() {
    assertEquals("INVALID_ARGUMENT", assertThrows(SignetException.class, () -> builder("a").open()).reason());
    var deep = builder("missing/folder").passphrase(new byte[] {1});
    assertEquals("STORE_UNAVAILABLE", assertThrows(SignetException.class, deep::open).reason());
    var limit = builder("a").passphrase(new byte[] {1}).memoryLimit(3);
    assertEquals("INVALID_ARGUMENT", assertThrows(SignetException.class, limit::open).reason());
  }

  @Test
  void closeFailsRunningAndLaterCallsAndCompletesSubscribers() throws Exception {
    var client = open("a");
    var recorder = new EventsTest.Recorder();
    client.events().subscribe(recorder);
    client.identity().ready().join();
    var running = client.identity().loginWithPassword(login());
    assertThrows(java.util.concurrent.TimeoutException.class, () -> running.get(100, TimeUnit.MILLISECONDS));
    client.close();
    client.close();
    for (var call : List.of(running, client.identity().ready())) {
      var failure = failureOf(call);
      assertEquals("CLOSED", failure.reason());
      assertFalse((failure + client.toString()).contains("planted-pass-19"));
    }
    assertEquals("SignetClient[closed]", client.toString());
    for (int i = 0; !recorder.isComplete && i < 200; i++) Thread.sleep(10);
    assertTrue(recorder.isComplete);
  }

  @Test
  void aCallbackOnTheClientsOwnThreadMayClose() throws Exception {
    var client = builder("a").passphrase(new byte[] {1}).executor(Runnable::run).open();
    client.identity().ready().thenRun(client::close).get(20, TimeUnit.SECONDS);
    assertEquals("CLOSED", failureOf(client.identity().ready()).reason());
  }

  @Test
  void threadsShareAClientWhileOneCloses() throws Exception {
    var client = open("a");
    var threads = Executors.newFixedThreadPool(3);
    var outcomes = new ArrayList<CompletableFuture<List<String>>>();
    for (int t = 0; t < 2; t++) {
      outcomes.add(CompletableFuture.supplyAsync(() -> {
        var found = new ArrayList<String>();
        while (!found.contains("CLOSED")) {
          try {
            found.add(client.identity().ready().join().getState().hasLoggedOut() ? "answered" : "wrong");
          } catch (CompletionException failure) {
            found.add(((SignetException) failure.getCause()).reason());
          }
        }
        return found;
      }, threads));
    }
    Thread.sleep(150);
    CompletableFuture.runAsync(client::close, threads).get(20, TimeUnit.SECONDS);
    for (var outcome : outcomes) {
      var found = outcome.get(20, TimeUnit.SECONDS);
      assertTrue(found.size() > 5, found::toString);
      assertEquals(List.of("answered", "CLOSED"), found.stream().distinct().toList());
    }
    threads.shutdown();
  }

  @Test
  void aForgottenClientIsClosedButNotWhileACallRuns() throws Exception {
    var running = new ArrayList<CompletableFuture<?>>();
    var client = new WeakReference<>(startCall(running));
    for (int i = 0; i < 5; i++) System.gc();
    assertFalse(running.get(0).isDone());
    assertTrue(client.get() != null);
    var forgotten = new WeakReference<>(open("b"));
    for (int i = 0; forgotten.get() != null && i < 100; i++) {
      System.gc();
      Thread.sleep(20);
    }
    for (int i = 0; threadsOfClients() > 1 && i < 100; i++) Thread.sleep(20);
    assertEquals(1, threadsOfClients());
    client.get().close();
    assertEquals("CLOSED", failureOf(running.get(0)).reason());
    assertEquals(0, threadsOfClients());
  }

  private SignetClient startCall(List<CompletableFuture<?>> running) {
    var client = open("a");
    running.add(client.identity().loginWithPassword(login()));
    return client;
  }

  private static long threadsOfClients() {
    return Thread.getAllStackTraces().keySet().stream().filter(t -> t.getName().startsWith("signet-client-")).count();
  }
}
