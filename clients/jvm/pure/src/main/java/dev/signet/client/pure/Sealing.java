package dev.signet.client.pure;

import dev.signet.host.v1.BoxFailure;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/**
 * Sealed bytes: "SGSB", format, backend, version, id of the key, hash of the scope, nonce; then AES-256-GCM. The other clients
 * have the same format.
 *
 * @param backend the name of the box, which is bound into the bytes
 * @param version of the box's format
 */
record Sealing(String backend, int version) {
  private static final byte[] MAGIC = {0x53, 0x47, 0x53, 0x42};
  private static final byte FORMAT = 1;
  private static final int ID_BYTES = 8;
  private static final byte[] LABEL = "signet secret box v1\0".getBytes(StandardCharsets.UTF_8);

  /** A key of 32 bytes, and the id that sealed bytes name it by. */
  record Key(byte[] raw, byte[] id) {
    Key(byte[] raw) {
      this(raw, Arrays.copyOf(Crypto.sha256(LABEL, raw), ID_BYTES));
    }

    void wipe() {
      Arrays.fill(raw, (byte) 0);
    }
  }

  static byte[] concat(byte[]... parts) {
    var out = new ByteArrayOutputStream();
    for (var part : parts) out.writeBytes(part);
    return out.toByteArray();
  }

  byte[] seal(Key key, String scope, byte[] purpose, byte[] plaintext) {
    var name = backend.getBytes(StandardCharsets.UTF_8);
    var nonce = Crypto.random(Crypto.NONCE_BYTES);
    var header = concat(
        MAGIC, new byte[] {FORMAT, (byte) name.length}, name, new byte[] {(byte) version}, key.id, hashOf(scope), nonce);
    return concat(header, Crypto.gcmSeal(key.raw, nonce, concat(LABEL, header, purpose), plaintext));
  }

  private static byte[] hashOf(String scope) {
    return Crypto.sha256(scope.getBytes(StandardCharsets.UTF_8));
  }

  /**
   * Opens sealed bytes.
   *
   * @throws HostFailure with a reason of the box
   */
  byte[] open(List<Key> keys, String scope, byte[] purpose, byte[] sealed) {
    var start = MAGIC.length + 2;
    if (sealed.length < start || !Arrays.equals(Arrays.copyOf(sealed, MAGIC.length), MAGIC)) throw incomplete();
    if (sealed[MAGIC.length] != FORMAT) throw newer();
    var at = start + (sealed[MAGIC.length + 1] & 0xff);
    var end = at + 1 + ID_BYTES + Crypto.HASH_BYTES + Crypto.NONCE_BYTES;
    if (sealed.length < end + Crypto.TAG_BYTES) throw incomplete();
    if (!new String(sealed, start, at - start, StandardCharsets.UTF_8).equals(backend)) {
      throw new HostFailure(BoxFailure.SECURE_STORE_CHANGED, "another store sealed the data");
    }
    if ((sealed[at] & 0xff) > version) throw newer();
    var id = Arrays.copyOfRange(sealed, at + 1, at + 1 + ID_BYTES);
    var nonce = Arrays.copyOfRange(sealed, end - Crypto.NONCE_BYTES, end);
    if (!Arrays.equals(Arrays.copyOfRange(sealed, at + 1 + ID_BYTES, end - Crypto.NONCE_BYTES), hashOf(scope))) {
      throw new HostFailure(BoxFailure.WRONG_USER, "the data was sealed for another user, app or tenant");
    }
    for (var key : keys) {
      if (!Arrays.equals(key.id, id)) continue;
      var aad = concat(LABEL, Arrays.copyOf(sealed, end), purpose);
      var plaintext = Crypto.gcmOpen(key.raw, nonce, aad, Arrays.copyOfRange(sealed, end, sealed.length));
      if (plaintext != null) return plaintext;
      throw new HostFailure(BoxFailure.STATE_TAMPERED, "the data was changed, or sealed for another purpose");
    }
    throw new HostFailure(BoxFailure.SECURE_STORE_CHANGED, "the store does not have the key that sealed the data");
  }

  private static HostFailure incomplete() {
    return new HostFailure(BoxFailure.STATE_TAMPERED, "not sealed data, or incomplete");
  }

  private static HostFailure newer() {
    return new HostFailure(BoxFailure.STATE_NEWER_VERSION, "a later version of this program sealed the data");
  }
}
