package dev.signet.client.android;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import android.security.keystore.KeyPermanentlyInvalidatedException;
import dev.signet.client.SecretBox;
import dev.signet.client.SecretBoxException;
import dev.signet.client.v1.IdentityOptions;
import dev.signet.host.v1.BoxFailure;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashSet;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.function.ThrowingRunnable;
import org.junit.rules.TemporaryFolder;
import org.junit.runner.RunWith;
import org.robolectric.RobolectricTestRunner;
import org.robolectric.RuntimeEnvironment;
import org.robolectric.annotation.Config;

/** The box on Robolectric's Android, with a fake Keystore. */
@RunWith(RobolectricTestRunner.class)
@Config(sdk = 33, manifest = Config.NONE)
public final class KeystoreBoxTest {
  private static final String SCOPE = "[null,\"app_a\",\"prn_a\",null]";
  private static final byte[] KEYS = "planted keys of the scope, 7e21".getBytes(StandardCharsets.UTF_8);

  @Rule public final TemporaryFolder folder = new TemporaryFolder();

  private FakeDevice device;
  private final KeystoreBox box = KeystoreBox.named("signet");

  @Before
  public void startDevice() {
    device = new FakeDevice(folder.getRoot().toPath().resolve("device"));
    FakeKeystore.install(device);
  }

  private static BoxFailure refusalOf(ThrowingRunnable call) {
    var refused = assertThrows(SecretBoxException.class, call);
    assertFalse(refused.getMessage().contains("planted"));
    return refused.failure();
  }

  private KeystoreBox withUser() throws SecretBoxException {
    device.setScreenLock();
    device.setAuthenticated(true);
    return box.requireAuthentication(Duration.ofMinutes(5));
  }

  @Test
  public void wrappedKeysOpenForTheirScopeOnly() throws SecretBoxException {
    var wrapped = box.wrap(SCOPE, KEYS, true);
    assertArrayEquals(KEYS, box.unwrap(SCOPE, wrapped));
    assertArrayEquals(KEYS, box.unwrap(SCOPE, box.wrap(SCOPE, KEYS, false)));
    assertEquals(1, device.keys());
    box.wrap("other", KEYS, true);
    assertEquals(BoxFailure.STATE_TAMPERED, refusalOf(() -> box.unwrap("other", wrapped)));
    assertEquals(BoxFailure.KEY_INVALIDATED, refusalOf(() -> box.unwrap("third", wrapped)));
  }

  @Test
  public void theScopeIsAuthenticatedUnderOneKeyToo() throws Exception {
    box.wrap(SCOPE, KEYS, true);
    box.wrap("other", KEYS, true);
    device.makeKeysEqual();
    var wrapped = box.wrap(SCOPE, KEYS, false);
    assertArrayEquals(KEYS, box.unwrap(SCOPE, wrapped));
    assertEquals(BoxFailure.STATE_TAMPERED, refusalOf(() -> box.unwrap("other", wrapped)));
  }

  @Test
  public void everyChangedByteIsTampered() throws SecretBoxException {
    var wrapped = box.wrap(SCOPE, KEYS, true);
    for (int i = 1; i < wrapped.length; i++) {
      var changed = wrapped.clone();
      changed[i] ^= 1;
      assertEquals(BoxFailure.STATE_TAMPERED, refusalOf(() -> box.unwrap(SCOPE, changed)));
    }
    for (int length = 0; length < 29; length++) {
      var cut = Arrays.copyOf(wrapped, length);
      assertEquals(BoxFailure.STATE_TAMPERED, refusalOf(() -> box.unwrap(SCOPE, cut)));
    }
    wrapped[0] = 2;
    assertEquals(BoxFailure.STATE_NEWER_VERSION, refusalOf(() -> box.unwrap(SCOPE, wrapped)));
  }

  @Test
  public void noncesAreTheKeystoresAndDiffer() throws SecretBoxException {
    var seen = new HashSet<String>();
    box.wrap(SCOPE, KEYS, true);
    for (int i = 0; i < 200; i++) seen.add(Arrays.toString(Arrays.copyOfRange(box.wrap(SCOPE, KEYS, false), 1, 13)));
    assertEquals(200, seen.size());
  }

  @Test
  public void strongBoxHasTheKeyWhereThereIsOne() throws SecretBoxException {
    box.wrap(SCOPE, KEYS, true);
    assertFalse(device.isAnyKeyInStrongBox());
    device.setStrongBox(true);
    box.wrap("other", KEYS, true);
    assertTrue(device.isAnyKeyInStrongBox());
  }

  @Test
  public void aLostKeyIsInvalidatedAndNeverReplaced() throws SecretBoxException {
    var wrapped = box.wrap(SCOPE, KEYS, true);
    // Data restored to another device.
    FakeKeystore.install(new FakeDevice(folder.getRoot().toPath().resolve("another device")));
    assertEquals(BoxFailure.KEY_INVALIDATED, refusalOf(() -> box.unwrap(SCOPE, wrapped)));
    assertEquals(BoxFailure.KEY_INVALIDATED, refusalOf(() -> box.wrap(SCOPE, KEYS, false)));
    assertEquals(0, FakeKeystore.device.keys());
    FakeKeystore.install(device);
    assertArrayEquals(KEYS, box.unwrap(SCOPE, wrapped));
  }

  @Test
  public void aNewFingerprintInvalidatesKeysThatNeedTheUser() throws SecretBoxException {
    var bound = withUser();
    var wrapped = bound.wrap(SCOPE, KEYS, true);
    var unbound = box.wrap("other", KEYS, true);
    device.addFingerprint();
    var refused = assertThrows(SecretBoxException.class, () -> bound.unwrap(SCOPE, wrapped));
    assertEquals(BoxFailure.KEY_INVALIDATED, refused.failure());
    assertEquals(KeyPermanentlyInvalidatedException.class, refused.getCause().getClass());
    assertEquals(BoxFailure.KEY_INVALIDATED, refusalOf(() -> bound.wrap(SCOPE, KEYS, false)));
    device.setRefusesEarly();
    assertEquals(BoxFailure.KEY_INVALIDATED, refusalOf(() -> bound.unwrap(SCOPE, wrapped)));
    assertArrayEquals(KEYS, box.unwrap("other", unbound));
    assertEquals(2, device.keys());
    // Only the first keys of a scope, after the app has dropped the old ones, get a new wrapping key.
    assertArrayEquals(KEYS, bound.unwrap(SCOPE, bound.wrap(SCOPE, KEYS, true)));
  }

  @Test
  public void theRemovalOfTheScreenLockInvalidatesKeysThatNeedTheUser() throws SecretBoxException {
    var bound = withUser();
    var wrapped = bound.wrap(SCOPE, KEYS, true);
    device.removeScreenLock();
    assertEquals(BoxFailure.KEY_INVALIDATED, refusalOf(() -> bound.unwrap(SCOPE, wrapped)));
    assertEquals(BoxFailure.SECURE_STORE_UNAVAILABLE, refusalOf(() -> bound.wrap("other", KEYS, true)));
    assertEquals(1, device.keys());
  }

  @Test
  public void anAbsentUserIsLockedAndNothingIsLost() throws SecretBoxException {
    var bound = withUser();
    var wrapped = bound.wrap(SCOPE, KEYS, true);
    device.setAuthenticated(false);
    assertEquals(BoxFailure.LOCKED, refusalOf(() -> bound.unwrap(SCOPE, wrapped)));
    device.setAuthenticated(true);
    assertArrayEquals(KEYS, bound.unwrap(SCOPE, wrapped));
  }

  @Test
  public void aLockedDeviceIsLocked() throws SecretBoxException {
    var unlocked = box.requireUnlockedDevice();
    var wrapped = unlocked.wrap(SCOPE, KEYS, true);
    device.setLocked(true);
    assertEquals(BoxFailure.LOCKED, refusalOf(() -> unlocked.unwrap(SCOPE, wrapped)));
    device.setLocked(false);
    // Android's getKey() answers null for a key that it does not release.
    device.setHidesKeys(true);
    assertEquals(BoxFailure.LOCKED, refusalOf(() -> unlocked.unwrap(SCOPE, wrapped)));
    device.setHidesKeys(false);
    assertArrayEquals(KEYS, unlocked.unwrap(SCOPE, wrapped));
  }

  @Test
  public void aFaultOfTheKeystoreIsUnavailableAndNothingIsLost() throws SecretBoxException {
    var wrapped = box.wrap(SCOPE, KEYS, true);
    device.setBroken(true);
    assertEquals(BoxFailure.SECURE_STORE_UNAVAILABLE, refusalOf(() -> box.unwrap(SCOPE, wrapped)));
    assertEquals(BoxFailure.SECURE_STORE_UNAVAILABLE, refusalOf(() -> box.wrap("other", KEYS, true)));
    assertEquals(BoxFailure.SECURE_STORE_UNAVAILABLE, refusalOf(() -> box.forget(SCOPE)));
    device.setBroken(false);
    assertArrayEquals(KEYS, box.unwrap(SCOPE, wrapped));
  }

  @Test
  public void forgetDeletesTheKeyOfOneScopeAndFolder() throws SecretBoxException {
    var other = KeystoreBox.named("other");
    var kept = other.wrap(SCOPE, KEYS, true);
    var wrapped = box.wrap(SCOPE, KEYS, true);
    assertEquals(2, device.keys());
    box.forget(SCOPE);
    box.forget(SCOPE);
    assertEquals(BoxFailure.KEY_INVALIDATED, refusalOf(() -> box.unwrap(SCOPE, wrapped)));
    assertArrayEquals(KEYS, other.unwrap(SCOPE, kept));
  }

  @Test
  public void describesWhatItPromises() {
    var promised = new SecretBox.Description("android-keystore", 1, false, true, true);
    assertEquals(promised, box.describe());
    assertEquals(promised, box.requireUnlockedDevice().describe());
    assertThrows(IllegalArgumentException.class, () -> KeystoreBox.named("../other"));
    assertThrows(IllegalArgumentException.class, () -> box.requireAuthentication(Duration.ofMillis(900)));
  }

  @Test
  public void aClientOpensInTheFilesWithoutABackup() throws Exception {
    var context = RuntimeEnvironment.getApplication();
    var identity = IdentityOptions.newBuilder().setAppId("app_01kdvdna00edmtevk5ehj6axhg")
        .setAuthBaseUrl("http://127.0.0.1:1").addProviders("EMAIL_PASSWORD").build();
    var vendor = System.setProperty("java.vendor", "The Android Project");
    try (var client = SignetAndroid.builder(context, identity).open()) {
      assertTrue(client.identity().ready().join().getState().hasLoggedOut());
    } finally {
      System.setProperty("java.vendor", vendor);
    }
    assertNotEquals(0, context.getNoBackupFilesDir().toPath().resolve("signet").toFile().list().length);
  }
}
