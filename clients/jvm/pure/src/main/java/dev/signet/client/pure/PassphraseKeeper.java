package dev.signet.client.pure;

import com.google.protobuf.UnknownFieldSet;
import dev.signet.host.v1.BoxFailure;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Keys in a file that Argon2id (RFC 9106) derives the key of. Numbers 2 to 4 of the file are memory, passes and lanes; 5 is the
 * salt, 6 a canary.
 */
final class PassphraseKeeper implements Box.Keeper {
  private static final int MEMORY_KIB = 65_536, PASSES = 3, LANES = 1, SALT_BYTES = 16;
  private static final String WHOLE = "[null,\"signet\",null,null]";
  private static final byte[] CANARY = "signet passphrase".getBytes(StandardCharsets.UTF_8);
  static final Sealing SEALING = new Sealing("passphrase", 1);

  private final byte[] passphrase;
  private final KeyFile.Place place;
  private Sealing.@Nullable Key key;
  private byte[] derived = new byte[0];

  /** @param passphrase wiped by {@link #wipe} */
  PassphraseKeeper(byte[] passphrase, KeyFile.Place place) {
    this.passphrase = passphrase;
    this.place = place;
  }

  @Override
  public byte @Nullable [] read(String scope) {
    var file = load();
    var sealed = file == null ? null : file.entries.get(scope);
    return sealed == null ? null : SEALING.open(List.of(key), scope, purpose(file, "keys"), sealed);
  }

  @Override
  public void write(String scope, byte[] keys) {
    var file = load();
    if (file == null) file = create();
    file.entries.put(scope, SEALING.seal(key, scope, purpose(file, "keys"), keys));
    place.write().accept(file.format());
  }

  @Override
  public void remove(String scope) {
    var file = load();
    if (file != null && file.entries.remove(scope) != null) place.write().accept(file.format());
  }

  @Override
  public void wipe() {
    Values.wipe(passphrase);
    if (key != null) key.wipe();
  }

  /** Each entry authenticates the parameters. */
  private static byte[] purpose(KeyFile file, String what) {
    var text = what + " argon2id " + file.number(2) + "," + file.number(3) + "," + file.number(4) + " ";
    return Sealing.concat(text.getBytes(StandardCharsets.UTF_8), file.bytes(5));
  }

  /** Derives the key of the file's parameters, unless it is derived. */
  private Sealing.Key derive(KeyFile file) {
    var name = purpose(file, "key");
    if (key != null && Arrays.equals(name, derived)) return key;
    if (file.bytes(5).length != SALT_BYTES) throw KeyFile.tampered();
    var raw = Crypto.argon2id(passphrase, file.bytes(5), file.number(2), file.number(3), file.number(4), Crypto.KEY_BYTES);
    if (raw == null) throw KeyFile.tampered();
    if (key != null) key.wipe();
    derived = name;
    return key = new Sealing.Key(raw);
  }

  private KeyFile create() {
    var fields = UnknownFieldSet.newBuilder()
        .mergeVarintField(2, MEMORY_KIB)
        .mergeVarintField(3, PASSES)
        .mergeVarintField(4, LANES)
        .addField(5, KeyFile.field(Crypto.random(SALT_BYTES)));
    var bare = KeyFile.create(fields.build());
    return KeyFile.create(
        fields.addField(6, KeyFile.field(SEALING.seal(derive(bare), WHOLE, purpose(bare, "canary"), CANARY))).build());
  }

  /** The file, whose key is derived and verified; null without one. */
  private @Nullable KeyFile load() {
    var bytes = place.read().get();
    if (bytes == null) return null;
    var file = KeyFile.parse(bytes);
    try {
      SEALING.open(List.of(derive(file)), WHOLE, purpose(file, "canary"), file.bytes(6));
      return file;
    } catch (HostFailure failure) {
      // Another key has another id, so the canary misses its key.
      if (failure.box() != BoxFailure.SECURE_STORE_CHANGED) throw failure;
      throw new HostFailure(BoxFailure.WRONG_PASSPHRASE, "the passphrase is wrong");
    }
  }
}
