package dev.signet.client.pure;

import dev.signet.client.pure.Values.Text;
import dev.signet.host.v1.BoxFailure;
import dev.signet.host.v1.Primitive;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The operations that answer the core at once. */
final class Primitives implements Engine.Host {
  /** Takes what the core emits. */
  interface Sink {
    void emit(int kind, long id, byte[] bytes);
  }

  private static final int MAX_RANDOM = 65_536;
  /** Running hashes that are never ended would fill the memory. */
  private static final int MAX_HASHES = 64;
  private static final long START = System.nanoTime();

  private final Box box;
  private final Sink sink;
  private final Map<Integer, MessageDigest> hashes = new HashMap<>();
  private int lastHash;

  Primitives(Box box, Sink sink) {
    this.box = box;
    this.sink = sink;
  }

  /** The arguments of a call do not have the stated kinds. */
  private static final class Unstated extends RuntimeException {
    private static final long serialVersionUID = 1;
  }

  /** The arguments after the primitive. */
  private record Arguments(@Nullable Object[] all) {
    <T> T at(int i, Class<T> kind) {
      if (i >= all.length || !kind.isInstance(all[i])) throw new Unstated();
      return kind.cast(all[i]);
    }

    byte[] bytes(int i) {
      return at(i, byte[].class);
    }

    byte[] text(int i) {
      return at(i, Text.class).utf8();
    }

    double number(int i) {
      return at(i, Double.class);
    }

    int integer(int i) {
      return (int) number(i);
    }
  }

  @Override
  public @Nullable Object call(@Nullable Object[] arguments) {
    try {
      var given = new Arguments(arguments);
      var operation = Primitive.forNumber(given.integer(0));
      return operation == null ? null : perform(operation, given);
    } catch (HostFailure refused) {
      var known = refused.box();
      if (known == BoxFailure.BOX_FAILURE_UNSPECIFIED) known = BoxFailure.SECURE_STORE_UNAVAILABLE;
      return (double) known.getNumber();
    } catch (RuntimeException | OutOfMemoryError fault) {
      return null;
    }
  }

  @Override
  public long nowNanoseconds() {
    return System.currentTimeMillis() * 1_000_000;
  }

  @Override
  public byte[] random(int length) {
    return Crypto.random(length);
  }

  private @Nullable Object perform(Primitive operation, Arguments given) {
    return switch (operation) {
      case RANDOM -> given.number(1) >= 0 && given.number(1) <= MAX_RANDOM ? Crypto.random(given.integer(1)) : null;
      case NOW -> (double) System.currentTimeMillis();
      case MONOTONIC -> (double) ((System.nanoTime() - START) / 1_000);
      case SHA256 -> Crypto.sha256(given.bytes(1));
      case SHA512 -> Crypto.sha512(given.bytes(1));
      case HMAC_SHA256 -> Crypto.hmacSha256(given.bytes(1), given.bytes(2));
      case HKDF_EXPAND -> Crypto.hkdfExpand(given.bytes(1), given.bytes(2), given.integer(3));
      case AES_GCM_SEAL -> Crypto.gcmSeal(given.bytes(1), given.bytes(2), given.bytes(3), given.bytes(4));
      case AES_GCM_OPEN -> Crypto.gcmOpen(given.bytes(1), given.bytes(2), given.bytes(3), given.bytes(4));
      case X25519_PUBLIC -> Crypto.x25519Public(given.bytes(1));
      case X25519 -> Crypto.x25519(given.bytes(1), given.bytes(2));
      case ED25519_VERIFY -> Crypto.ed25519Verify(given.bytes(1), given.bytes(2), given.bytes(3)) ? 1.0 : 0.0;
      case ED25519_GENERATE -> box.generate(given.integer(1));
      case ED25519_SIGN -> box.sign(given.integer(1), given.bytes(2), given.bytes(3));
      case BOX_SEAL -> box.seal(given.integer(1), given.text(2), given.bytes(3));
      case BOX_OPEN -> box.open(given.integer(1), given.text(2), given.bytes(3));
      case ARGON2ID -> Crypto.argon2id(
          passphrase(given), given.bytes(2), given.number(3), given.number(4), given.number(5), given.number(6));
      case UTF8_ENCODE -> wellFormed(given.text(1));
      case UTF8_DECODE -> decode(given.bytes(1));
      case OUTPUT -> emit(given);
      default -> hash(operation, given);
    };
  }

  private static byte[] passphrase(Arguments given) {
    return given.all[1] instanceof Text text ? text.utf8() : given.bytes(1);
  }

  private @Nullable Object hash(Primitive operation, Arguments given) {
    switch (operation) {
      case HASH_BEGIN:
        if (hashes.size() >= MAX_HASHES) return null;
        hashes.put(++lastHash, Crypto.sha256());
        return (double) lastHash;
      case HASH_UPDATE:
        var running = hashes.get(given.integer(1));
        if (running == null) return null;
        running.update(given.bytes(2));
        return 1.0;
      case HASH_END:
        var ended = hashes.remove(given.integer(1));
        return ended == null ? null : ended.digest();
      default:
        // LOG, and primitives that HostInfo does not defer.
        return null;
    }
  }

  private @Nullable Object emit(Arguments given) {
    if (given.number(1) < 0 || given.number(2) < 0) return null;
    var bytes = given.all.length > 3 && given.all[3] instanceof byte[] some ? some : new byte[0];
    sink.emit(given.integer(1), (long) given.number(2), bytes);
    return null;
  }

  /** A lone surrogate of a JavaScript text becomes U+FFFD, as TextEncoder has it. Both take three bytes. */
  private static byte[] wellFormed(byte[] text) {
    for (int i = 0; i + 2 < text.length; i++) {
      if (text[i] != (byte) 0xed || (text[i + 1] & 0xff) < 0xa0) continue;
      text[i] = (byte) 0xef;
      text[i + 1] = (byte) 0xbf;
      text[i + 2] = (byte) 0xbd;
    }
    return text;
  }

  private static @Nullable Text decode(byte[] bytes) {
    try {
      StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes));
      return new Text(bytes);
    } catch (CharacterCodingException malformed) {
      return null;
    }
  }
}
