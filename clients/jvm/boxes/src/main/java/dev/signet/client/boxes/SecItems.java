package dev.signet.client.boxes;

import com.sun.jna.Library;
import com.sun.jna.Memory;
import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.PointerByReference;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Generic passwords of Apple's data protection Keychain: not synchronized, for one device. */
final class SecItems {
  static final int NOT_FOUND = -25300;
  static final int DUPLICATE = -25299;
  private static final int UTF8 = 0x08000100;

  private final CoreFoundation foundation;
  private final Security security;
  private final NativeLibrary foundationLibrary;
  private final NativeLibrary securityLibrary;

  /** Loads frameworks by their names. */
  SecItems(String coreFoundation, String security) {
    foundation = Native.load(coreFoundation, CoreFoundation.class);
    this.security = Native.load(security, Security.class);
    foundationLibrary = NativeLibrary.getInstance(coreFoundation);
    securityLibrary = NativeLibrary.getInstance(security);
  }

  /** The functions of CoreFoundation. Objects are pointers. */
  interface CoreFoundation extends Library {
    void CFRelease(Pointer object);

    byte CFEqual(Pointer one, Pointer other);

    Pointer CFStringCreateWithBytes(@Nullable Pointer allocator, byte[] bytes, long length, int encoding, byte hasMark);

    Pointer CFDataCreateWithBytesNoCopy(@Nullable Pointer allocator, Pointer bytes, long length, Pointer deallocator);

    Pointer CFDataGetBytePtr(Pointer data);

    long CFDataGetLength(Pointer data);

    Pointer CFDictionaryCreateMutable(@Nullable Pointer allocator, long capacity, Pointer keys, Pointer values);

    void CFDictionarySetValue(Pointer dictionary, Pointer key, Pointer value);

    @Nullable Pointer CFDictionaryGetValue(Pointer dictionary, Pointer key);
  }

  /** The functions of Security. Each returns a status. */
  interface Security extends Library {
    int SecItemCopyMatching(Pointer query, PointerByReference result);

    int SecItemAdd(Pointer attributes, @Nullable Pointer result);

    int SecItemUpdate(Pointer query, Pointer changes);

    int SecItemDelete(Pointer query);
  }

  /** A status of the Keychain that is no success. */
  static final class Refusal extends Exception {
    private static final long serialVersionUID = 1;
    final int status;

    Refusal(int status) {
      super("status " + status);
      this.status = status;
    }
  }

  /**
   * The name of an item, and when it can be read.
   *
   * @param accessible the name of a constant of Security
   */
  record Item(String service, String account, String accessible) {}

  /** Returns the item's bytes; null if there is none. Gives an item of another accessibility the one that is stated. */
  byte @Nullable [] read(Item item) throws Refusal {
    try (var query = name(item)) {
      // One item: a query for all items omits those that are locked.
      query.set("kSecMatchLimit", constant("kSecMatchLimitOne"));
      query.set("kSecReturnData", yes()).set("kSecReturnAttributes", yes());
      var out = new PointerByReference();
      var status = security.SecItemCopyMatching(query.object, out);
      if (status == NOT_FOUND) return null;
      check(status);
      try (var found = new Dictionary(out.getValue())) {
        var data = foundation.CFDictionaryGetValue(found.object, constant("kSecValueData"));
        if (data == null) return new byte[0];
        var length = (int) foundation.CFDataGetLength(data);
        var bytes = length == 0 ? new byte[0] : foundation.CFDataGetBytePtr(data).getByteArray(0, length);
        var before = foundation.CFDictionaryGetValue(found.object, constant("kSecAttrAccessible"));
        var accessible = constant(item.accessible);
        if (before == null || foundation.CFEqual(before, accessible) == 0) update(item, Map.of("kSecAttrAccessible", accessible));
        return bytes;
      }
    }
  }

  /** Stores bytes, in the place of others. */
  void write(Item item, byte[] bytes) throws Refusal {
    try (var memory = new Memory(bytes.length)) {
      memory.write(0, bytes, 0, bytes.length);
      // The bytes are not copied, so that they can be wiped.
      var deallocator = foundationLibrary.getGlobalVariableAddress("kCFAllocatorNull").getPointer(0);
      var data = foundation.CFDataCreateWithBytesNoCopy(null, memory, bytes.length, deallocator);
      try {
        var attributes = Map.of("kSecValueData", data, "kSecAttrAccessible", constant(item.accessible));
        try (var added = name(item)) {
          attributes.forEach(added::set);
          var status = security.SecItemAdd(added.object, null);
          if (status == DUPLICATE) update(item, attributes);
          else check(status);
        }
      } finally {
        foundation.CFRelease(data);
        memory.clear();
      }
    }
  }

  /** Deletes the item, if there is one. */
  void remove(Item item) throws Refusal {
    try (var query = name(item)) {
      var status = security.SecItemDelete(query.object);
      if (status != NOT_FOUND) check(status);
    }
  }

  private void update(Item item, Map<String, Pointer> attributes) throws Refusal {
    try (var query = name(item); var changes = new Dictionary()) {
      attributes.forEach(changes::set);
      check(security.SecItemUpdate(query.object, changes.object));
    }
  }

  private static void check(int status) throws Refusal {
    if (status != 0) throw new Refusal(status);
  }

  /**
   * Returns the attributes that make an item unique. The accessibility is none of them: a query with it misses an item that
   * has another one.
   */
  private Dictionary name(Item item) {
    return new Dictionary()
        .set("kSecClass", constant("kSecClassGenericPassword"))
        .set("kSecUseDataProtectionKeychain", yes())
        .set("kSecAttrSynchronizable", foundationLibrary.getGlobalVariableAddress("kCFBooleanFalse").getPointer(0))
        .text("kSecAttrService", item.service)
        .text("kSecAttrAccount", item.account);
  }

  private Pointer yes() {
    return foundationLibrary.getGlobalVariableAddress("kCFBooleanTrue").getPointer(0);
  }

  private Pointer constant(String name) {
    return securityLibrary.getGlobalVariableAddress(name).getPointer(0);
  }

  /** A dictionary, which it releases. */
  private final class Dictionary implements AutoCloseable {
    final Pointer object;

    Dictionary(Pointer object) {
      this.object = object;
    }

    /** An empty one, which retains its objects. */
    Dictionary() {
      this(foundation.CFDictionaryCreateMutable(null, 0,
          foundationLibrary.getGlobalVariableAddress("kCFTypeDictionaryKeyCallBacks"),
          foundationLibrary.getGlobalVariableAddress("kCFTypeDictionaryValueCallBacks")));
    }

    Dictionary set(String key, Pointer value) {
      foundation.CFDictionarySetValue(object, constant(key), value);
      return this;
    }

    Dictionary text(String key, String value) {
      var bytes = value.getBytes(StandardCharsets.UTF_8);
      var text = foundation.CFStringCreateWithBytes(null, bytes, bytes.length, UTF8, (byte) 0);
      set(key, text);
      foundation.CFRelease(text);
      return this;
    }

    @Override
    public void close() {
      foundation.CFRelease(object);
    }
  }
}
