package dev.signet.client.boxes;

import com.sun.jna.Library;
import com.sun.jna.Memory;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import org.jspecify.annotations.Nullable;

/** Data protection of 64-bit Windows, which has one calling convention, for the signed-in user. Native memory is wiped. */
final class Dpapi {
  /** CRYPTPROTECT_UI_FORBIDDEN */
  private static final int NO_PROMPT = 1;

  private final Crypt32 crypt32;
  private final Kernel32 kernel32;

  /** Loads libraries by their names. */
  Dpapi(String crypt32, String kernel32) {
    this.crypt32 = Native.load(crypt32, Crypt32.class);
    this.kernel32 = Native.load(kernel32, Kernel32.class);
  }

  /** The functions of crypt32.dll. A blob is a DATA_BLOB: a size of 32 bits, and a pointer. */
  interface Crypt32 extends Library {
    boolean CryptProtectData(Pointer blob, @Nullable Pointer description, Pointer entropy, @Nullable Pointer reserved,
        @Nullable Pointer prompt, int flags, Pointer out);

    boolean CryptUnprotectData(Pointer blob, @Nullable Pointer description, Pointer entropy, @Nullable Pointer reserved,
        @Nullable Pointer prompt, int flags, Pointer out);
  }

  /** The function of kernel32.dll. */
  interface Kernel32 extends Library {
    @Nullable Pointer LocalFree(Pointer memory);
  }

  /** The system's error code. */
  static final class Refusal extends Exception {
    private static final long serialVersionUID = 1;
    final int code;

    Refusal(int code) {
      super("error 0x" + Integer.toHexString(code));
      this.code = code;
    }
  }

  /** Protects bytes, which open with the same entropy only. Neither is empty. */
  byte[] protect(byte[] bytes, byte[] entropy) throws Refusal {
    return call(crypt32::CryptProtectData, bytes, entropy);
  }

  /** Opens protected bytes. */
  byte[] unprotect(byte[] bytes, byte[] entropy) throws Refusal {
    return call(crypt32::CryptUnprotectData, bytes, entropy);
  }

  private interface Call {
    boolean run(Pointer blob, @Nullable Pointer description, Pointer entropy, @Nullable Pointer reserved,
        @Nullable Pointer prompt, int flags, Pointer out);
  }

  private byte[] call(Call call, byte[] bytes, byte[] entropy) throws Refusal {
    try (var in = copyOf(bytes); var salt = copyOf(entropy); var inBlob = blobOf(in); var saltBlob = blobOf(salt);
        var out = new Memory(2L * Native.POINTER_SIZE)) {
      try {
        out.clear();
        if (!call.run(inBlob, null, saltBlob, null, null, NO_PROMPT, out)) throw new Refusal(Native.getLastError());
        var made = out.getPointer(Native.POINTER_SIZE);
        var size = out.getInt(0);
        try {
          return made.getByteArray(0, size);
        } finally {
          made.clear(size);
          kernel32.LocalFree(made);
        }
      } finally {
        in.clear();
      }
    }
  }

  private static Memory copyOf(byte[] bytes) {
    var memory = new Memory(bytes.length);
    memory.write(0, bytes, 0, bytes.length);
    return memory;
  }

  private static Memory blobOf(Memory bytes) {
    var blob = new Memory(2L * Native.POINTER_SIZE);
    blob.clear();
    blob.setInt(0, (int) bytes.size());
    blob.setPointer(Native.POINTER_SIZE, bytes);
    return blob;
  }
}
