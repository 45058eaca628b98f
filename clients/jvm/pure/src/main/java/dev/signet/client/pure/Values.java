package dev.signet.client.pure;

import com.dylibso.chicory.runtime.Instance;
import com.dylibso.chicory.runtime.Memory;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.function.LongUnaryOperator;
import org.jspecify.annotations.Nullable;

/** Values between the host and the engine: numbers, texts and bytes, each copied. A handle is a pointer that its owner frees. */
final class Values {
  /** A text of the core. A lone surrogate is encoded in three bytes. */
  record Text(byte[] utf8) {
    Text(String text) {
      this(text.getBytes(StandardCharsets.UTF_8));
    }
  }

  private final Instance instance;
  private final Memory memory;
  /** Twelve bytes for results by pointer. */
  private final long scratch;

  Values(Instance instance) {
    this.instance = instance;
    this.memory = instance.memory();
    this.scratch = call("wasm_malloc", 12);
  }

  private long call(String name, long... arguments) {
    return instance.export(name).apply(arguments)[0];
  }

  static void writeWord(byte[] bytes, int at, int word) {
    for (int i = 0; i < 4; i++) bytes[at + i] = (byte) (word >>> 8 * i);
  }

  private int word(long at) {
    return memory.readInt((int) at);
  }

  /** Runs with a copy in the engine's memory, which ends with a zero and is wiped. */
  long withCopy(byte[] bytes, LongUnaryOperator use) {
    var at = call("wasm_malloc", bytes.length + 1);
    if (at == 0) throw new EngineException("the engine has no memory left");
    memory.write((int) at, bytes);
    memory.writeByte((int) at + bytes.length, (byte) 0);
    var made = use.applyAsLong(at);
    memory.fill((byte) 0, (int) at, (int) at + bytes.length);
    instance.export("wasm_free").apply(at);
    return made;
  }

  long withName(String name, LongUnaryOperator use) {
    return withCopy(name.getBytes(StandardCharsets.UTF_8), use);
  }

  /** A new value of the engine. */
  long toEngine(@Nullable Object value) {
    if (value == null) return call("qjs_get_undefined");
    if (value instanceof Double number) return call("qjs_new_number", Double.doubleToRawLongBits(number));
    if (value instanceof Text text) return withCopy(text.utf8(), at -> call("qjs_new_string", at, text.utf8().length));
    var bytes = (byte[]) value;
    return withCopy(bytes, at -> call("qjs_new_uint8_array", at, bytes.length));
  }

  /** A copy of a value of the engine: a Double, a {@link Text}, bytes or null. */
  @Nullable Object fromEngine(long value) {
    if (call("qjs_is_number", value) != 0) return Double.longBitsToDouble(call("qjs_get_float64", value));
    if (call("qjs_is_undefined", value) != 0) return null;
    return call("qjs_is_string", value) == 0 ? bytesFrom(value) : textFrom(value);
  }

  private @Nullable Text textFrom(long value) {
    var at = call("qjs_get_string_len", value, scratch);
    if (at == 0) return null;
    var text = new Text(memory.readBytes((int) at, word(scratch)));
    instance.export("qjs_free_cstring").apply(at);
    return text;
  }

  private byte[] bytesFrom(long value) {
    var buffer = call("qjs_get_typed_array_buffer", value, scratch, scratch + 4, scratch + 8);
    if (call("qjs_is_exception", buffer) != 0) throw new EngineException("an argument is neither number, text nor bytes");
    var offset = word(scratch);
    var length = word(scratch + 4);
    var start = call("qjs_get_array_buffer", buffer, scratch + 8) + offset;
    var bytes = memory.readBytes((int) start, length);
    instance.export("qjs_free_value").apply(buffer);
    return bytes;
  }

  /** The handle, if it is no exception. @throws EngineException with the exception's text, at most 200 characters. */
  long checked(long value) {
    if (call("qjs_is_exception", value) == 0) return value;
    var text = textFrom(call("qjs_get_exception"));
    var message = text == null ? "an exception" : new String(text.utf8(), StandardCharsets.UTF_8);
    throw new EngineException("the engine threw " + message.substring(0, Math.min(200, message.length())));
  }

  static void wipe(byte[]... all) {
    for (var bytes : all) Arrays.fill(bytes, (byte) 0);
  }
}
