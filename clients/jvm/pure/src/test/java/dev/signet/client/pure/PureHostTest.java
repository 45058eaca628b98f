package dev.signet.client.pure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.signet.client.SignetClient;
import dev.signet.client.SignetException;
import dev.signet.client.v1.IdentityOptions;
import dev.signet.client.v1.LoginWithPasswordRequest;
import java.io.IOException;
import java.math.BigInteger;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PureHostTest {
  @TempDir Path folder;

  private SignetClient.Builder builder(int port) {
    var identity = IdentityOptions.newBuilder()
        .setAppId("app_01kdvdna00edmtevk5ehj6axhg")
        .setAuthBaseUrl("http://127.0.0.1:" + port)
        .addProviders("EMAIL_PASSWORD")
        .build();
    return SignetClient.builder(identity, folder.resolve("a"))
        .coreHost(new PureJavaHost())
        .passphrase("correct horse".getBytes(StandardCharsets.UTF_8));
  }

  private static LoginWithPasswordRequest login(String password) {
    return LoginWithPasswordRequest.newBuilder().setEmail("ann@example.com").setPassword(password).build();
  }

  private static String reasonOf(CompletableFuture<?> call) {
    var thrown = assertThrows(CompletionException.class, call::join);
    return assertInstanceOf(SignetException.class, thrown.getCause()).reason();
  }

  private static String refusalOf(SignetClient.Builder builder) {
    return assertThrows(SignetException.class, builder::open).reason();
  }

  private static int closedPort() throws IOException {
    try (var socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  @Test
  void theMemoryOfAnEngineIsWiped() {
    var box = new Box(PassphraseKeeper.SEALING, new PassphraseKeeper(new byte[1], null), Runnable::run);
    var engine = new Engine(new Primitives(box, (kind, id, bytes) -> {}), 64 << 20);
    var memory = engine.memory();
    assertFalse(isZero(memory.readBytes(0, engine.memoryBytes())));
    engine.wipe();
    assertTrue(isZero(memory.readBytes(0, engine.memoryBytes())));
    assertThrows(EngineException.class, () -> engine.enter("tick"));
  }

  private static boolean isZero(byte[] bytes) {
    return Arrays.equals(bytes, new byte[bytes.length]);
  }

  @Test
  void aCoreThatExceedsItsMemoryStopsAndAnotherOneOpens() throws IOException {
    var port = closedPort();
    assertEquals("INTERNAL", refusalOf(builder(port).memoryLimit(4)));
    try (var client = builder(port).memoryLimit(16).open()) {
      assertEquals("STOPPED", reasonOf(client.identity().loginWithPassword(login("x".repeat(12 << 20)))));
      assertEquals("STOPPED", reasonOf(client.identity().ready()));
    }
    try (var client = builder(port).open()) {
      assertTrue(client.identity().ready().join().getState().hasLoggedOut());
    }
  }

  @Test
  void aServerThatDoesNotListenIsUnreachable() throws IOException {
    try (var client = builder(closedPort()).open()) {
      assertEquals("UNREACHABLE", reasonOf(client.identity().loginWithPassword(login("planted"))));
    }
  }

  @Test
  void aFolderThatCannotBeUsedIsATypedFailure() throws IOException {
    var port = closedPort();
    assertEquals("SECURE_STORE_UNAVAILABLE", refusalOf(builder(port).secretService()));
    builder(port).open().close();
    var file = folder.resolve("a/signet.db");
    try (var database = new Database(file, 1000)) {
      database.run("PRAGMA user_version = 2");
    }
    assertEquals("STATE_NEWER_VERSION", refusalOf(builder(port)));
    Files.write(file, "no database, but longer than a header of one hundred bytes".repeat(9).getBytes(StandardCharsets.UTF_8));
    assertEquals("STORE_UNAVAILABLE", refusalOf(builder(port)));
    assertEquals("STORE_UNAVAILABLE", refusalOf(builder(port).trustAnchors(folder.resolve("none"))));
  }

  @Test
  void aLockHasOneHolder() throws IOException {
    var path = folder.resolve("a question? lock.db");
    try (var other = new FolderLock(path)) {
      try (var one = new FolderLock(path)) {
        assertTrue(one.tryAcquire());
        assertFalse(other.tryAcquire());
        one.release();
        assertTrue(other.tryAcquire());
        other.release();
        assertTrue(one.tryAcquire());
      }
      // The end of its holder releases it.
      assertTrue(other.tryAcquire());
    }
    assertTrue(Files.exists(path));
  }

  /** RFC 8032 section 5.1: the order of the base point. */
  private static final BigInteger ORDER =
      BigInteger.TWO.pow(252).add(new BigInteger("27742317777372353535851937790883648493"));

  private static BigInteger littleEndian(byte[] bytes) {
    var reversed = new byte[bytes.length];
    for (int i = 0; i < bytes.length; i++) reversed[i] = bytes[bytes.length - 1 - i];
    return new BigInteger(1, reversed);
  }

  /** A signature whose R is an encoding of the neutral point: S = k * a. */
  private static byte[] signWith(byte[] seed, byte[] neutral, byte[] message) {
    var scalar = Arrays.copyOf(Crypto.sha512(seed), 32);
    scalar[0] &= (byte) 248;
    scalar[31] = (byte) (scalar[31] & 63 | 64);
    var k = littleEndian(Crypto.sha512(Sealing.concat(neutral, Crypto.ed25519Public(seed), message)));
    var s = littleEndian(scalar).multiply(k).mod(ORDER);
    var signature = Arrays.copyOf(neutral, 64);
    for (int i = 0; i < 32; i++) signature[32 + i] = s.shiftRight(8 * i).byteValue();
    return signature;
  }

  @Test
  void anotherEncodingOfRIsRefused() {
    var seed = Arrays.copyOf(new byte[] {7}, 32);
    var message = new byte[] {1, 2, 3};
    var one = Arrays.copyOf(new byte[] {1}, 32);
    var withSign = one.clone();
    withSign[31] = (byte) 0x80;
    // P + 1.
    var above = new byte[32];
    Arrays.fill(above, (byte) 0xff);
    above[0] = (byte) 0xee;
    above[31] = 0x7f;
    var key = Crypto.ed25519Public(seed);
    assertTrue(Crypto.ed25519Verify(key, message, signWith(seed, one, message)));
    assertFalse(Crypto.ed25519Verify(key, message, signWith(seed, withSign, message)));
    assertFalse(Crypto.ed25519Verify(key, message, signWith(seed, above, message)));
  }
}
