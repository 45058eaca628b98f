package dev.signet.client.android;

import android.content.Context;
import dev.signet.client.SignetClient;
import dev.signet.client.v1.IdentityOptions;

/** Configures a client of an Android app. */
public final class SignetAndroid {
  private static final String NAME = "signet";

  private SignetAndroid() {}

  /**
   * Begins to configure a client: data in the app's files that no backup has, keys in the Android Keystore.
   *
   * @param context any context of the app
   * @param identity the app and its auth service
   * @return a builder for one client
   */
  public static SignetClient.Builder builder(Context context, IdentityOptions identity) {
    return builder(context, identity, KeystoreBox.named(NAME));
  }

  /**
   * Begins to configure a client with a box of its own.
   *
   * @param context any context of the app
   * @param identity the app and its auth service
   * @param box such as {@code KeystoreBox.named("signet").requireUnlockedDevice()}
   * @return a builder for one client
   */
  public static SignetClient.Builder builder(Context context, IdentityOptions identity, KeystoreBox box) {
    // A backup of the rows without their wrapping key could not be opened.
    var folder = context.getNoBackupFilesDir().toPath().resolve(box.name());
    return SignetClient.builder(identity, folder).platform("android").secretBox(box);
  }
}
