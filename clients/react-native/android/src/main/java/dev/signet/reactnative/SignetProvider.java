package dev.signet.reactnative;

import android.content.ContentProvider;
import android.content.ContentValues;
import android.content.Context;
import android.content.pm.PackageManager;
import android.database.Cursor;
import android.net.Uri;
import java.io.File;

/** Tells the native module where the app's data is, before JavaScript starts. It provides no content. */
public final class SignetProvider extends ContentProvider {
  /** Names the manifest's entry of the origins that may receive tokens, separated by spaces. */
  private static final String ORIGINS = "dev.signet.origins";

  @Override
  public boolean onCreate() {
    var context = getContext();
    // Not part of a backup: keys of the Keystore are bound to this device.
    var folder = new File(context.getNoBackupFilesDir(), "signet");
    if (!folder.isDirectory() && !folder.mkdirs()) return false;
    SignetNative.start(folder.getPath(), originsOf(context));
    return true;
  }

  private static String[] originsOf(Context context) {
    try {
      var manager = context.getPackageManager();
      var info = manager.getApplicationInfo(context.getPackageName(), PackageManager.GET_META_DATA);
      var origins = info.metaData == null ? null : info.metaData.getString(ORIGINS);
      return origins == null ? new String[0] : origins.trim().split(" +");
    } catch (PackageManager.NameNotFoundException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  @Override
  public Cursor query(Uri uri, String[] columns, String where, String[] values, String order) {
    return null;
  }

  @Override
  public String getType(Uri uri) {
    return null;
  }

  @Override
  public Uri insert(Uri uri, ContentValues values) {
    return null;
  }

  @Override
  public int delete(Uri uri, String where, String[] values) {
    return 0;
  }

  @Override
  public int update(Uri uri, ContentValues values, String where, String[] arguments) {
    return 0;
  }
}
