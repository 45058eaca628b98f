package dev.signet.client.pure;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.UnknownFieldSet;
import dev.signet.host.v1.BoxFailure;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A file of keys in the data folder, in libsignet's format: number 1 is the format, 7 an entry of scope and sealed keys. The
 * keepers add the other numbers.
 */
final class KeyFile {
  private static final long FORMAT = 1;

  private final UnknownFieldSet fields;
  final Map<String, byte[]> entries = new TreeMap<>();

  private KeyFile(UnknownFieldSet fields) throws InvalidProtocolBufferException {
    this.fields = fields;
    for (var bytes : fields.getField(7).getLengthDelimitedList()) {
      var entry = UnknownFieldSet.parseFrom(bytes);
      entries.put(bytes(entry, 1).toStringUtf8(), bytes(entry, 2).toByteArray());
    }
  }

  /** Where a keeper has its file. */
  record Place(Supplier<byte @Nullable []> read, Consumer<byte[]> write) {}

  /** A new file with the fields of a keeper. */
  static KeyFile create(UnknownFieldSet fields) {
    try {
      return new KeyFile(fields.toBuilder().mergeVarintField(1, (int) FORMAT).build());
    } catch (InvalidProtocolBufferException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  /**
   * Parses a file.
   *
   * @throws HostFailure STATE_NEWER_VERSION, or STATE_TAMPERED for bytes that are no such file
   */
  static KeyFile parse(byte[] bytes) {
    try {
      var file = new KeyFile(UnknownFieldSet.parseFrom(bytes));
      if (file.number(1) > FORMAT) {
        throw new HostFailure(BoxFailure.STATE_NEWER_VERSION, "a later version of this program wrote the keys");
      }
      if (file.number(1) != FORMAT) throw tampered();
      return file;
    } catch (InvalidProtocolBufferException malformed) {
      throw tampered();
    }
  }

  static HostFailure tampered() {
    return new HostFailure(BoxFailure.STATE_TAMPERED, "the file of keys is no such file");
  }

  /** The number in a field; zero without it. */
  long number(int field) {
    var found = fields.getField(field).getVarintList();
    return found.isEmpty() ? 0 : found.get(found.size() - 1);
  }

  byte[] bytes(int field) {
    return bytes(fields, field).toByteArray();
  }

  private static ByteString bytes(UnknownFieldSet fields, int field) {
    var found = fields.getField(field).getLengthDelimitedList();
    return found.isEmpty() ? ByteString.EMPTY : found.get(found.size() - 1);
  }

  static UnknownFieldSet.Field field(byte[] bytes) {
    return UnknownFieldSet.Field.newBuilder().addLengthDelimited(ByteString.copyFrom(bytes)).build();
  }

  byte[] format() {
    var list = UnknownFieldSet.Field.newBuilder();
    entries.forEach((scope, sealed) -> list.addLengthDelimited(UnknownFieldSet.newBuilder()
        .addField(1, field(ByteString.copyFromUtf8(scope).toByteArray()))
        .addField(2, field(sealed))
        .build()
        .toByteString()));
    return fields.toBuilder().clearField(7).addField(7, list.build()).build().toByteArray();
  }
}
