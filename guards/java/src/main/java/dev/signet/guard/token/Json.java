package dev.signet.guard.token;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A strict JSON reader (RFC 8259): nothing is repaired. Objects are Maps, lists are Lists, numbers are Longs where
 * they are integers of at most 53 bits and Doubles otherwise. Of a name that is there twice the last one counts, and
 * the reader says so. Nesting costs heap and no stack.
 */
public final class Json {
  private static final double MAX_EXACT = (1L << 53) - 1;

  private final String text;
  private int at;
  private boolean hasDuplicateNames;
  private Object last;
  private final Deque<Frame> open = new ArrayDeque<>();

  private Json(String text) {
    this.text = text;
  }

  /**
   * A text that is JSON.
   *
   * @param value Map, List, String, Long, Double, Boolean or null; unmodifiable
   * @param hasDuplicateNames whether an object in it has a name twice; escapes in names are resolved
   */
  public record Parsed(Object value, boolean hasDuplicateNames) {}

  /** An object or list that is not closed yet. */
  private static final class Frame {
    final Map<String, Object> object;
    final List<Object> list;
    String name;

    Frame(boolean isObject) {
      object = isObject ? new LinkedHashMap<>() : null;
      list = isObject ? null : new ArrayList<>();
    }

    Object value() {
      return object == null ? Collections.unmodifiableList(list) : Collections.unmodifiableMap(object);
    }
  }

  /** @throws IllegalArgumentException when the text is no JSON. */
  public static Parsed parse(String text) {
    var reader = new Json(text);
    var value = reader.read();
    return new Parsed(value, reader.hasDuplicateNames);
  }

  private Object read() {
    while (true) {
      skipSpace();
      var c = next();
      if (c == '{' || c == '[') {
        var frame = new Frame(c == '{');
        open.push(frame);
        skipSpace();
        if (peek() != (c == '{' ? '}' : ']')) {
          if (c == '{') readName(frame);
          continue;
        }
        at++;
        open.pop();
        if (isWhole(frame.value())) return last;
      } else if (isWhole(scalar(c))) {
        return last;
      }
    }
  }

  /** Puts a value where it belongs, and closes what ends after it. True when the text is read. */
  private boolean isWhole(Object value) {
    var done = value;
    while (true) {
      skipSpace();
      var frame = open.peek();
      if (frame == null) {
        if (at < text.length()) throw malformed();
        last = done;
        return true;
      }
      if (frame.object == null) frame.list.add(done);
      else frame.object.put(frame.name, done);
      var c = next();
      if (c == ',') {
        if (frame.object != null) {
          skipSpace();
          readName(frame);
        }
        return false;
      }
      if (c != (frame.object == null ? ']' : '}')) throw malformed();
      open.pop();
      done = frame.value();
    }
  }

  private void readName(Frame frame) {
    if (next() != '"') throw malformed();
    frame.name = string();
    if (frame.object.containsKey(frame.name)) hasDuplicateNames = true;
    skipSpace();
    if (next() != ':') throw malformed();
  }

  private Object scalar(char first) {
    switch (first) {
      case '"':
        return string();
      case 't':
        return word("rue", Boolean.TRUE);
      case 'f':
        return word("alse", Boolean.FALSE);
      case 'n':
        return word("ull", null);
      default:
        return number(first);
    }
  }

  private Object word(String rest, Object value) {
    if (!text.startsWith(rest, at)) throw malformed();
    at += rest.length();
    return value;
  }

  private Object number(char first) {
    int start = at - 1;
    if (first == '-') first = next();
    if (first < '0' || first > '9') throw malformed();
    if (first != '0') digits(0);
    if (peek() == '.') {
      at++;
      digits(1);
    }
    if (peek() == 'e' || peek() == 'E') {
      at++;
      if (peek() == '+' || peek() == '-') at++;
      digits(1);
    }
    double number = Double.parseDouble(text.substring(start, at));
    var isExact = number == Math.rint(number) && Math.abs(number) <= MAX_EXACT;
    if (isExact) return (long) number;
    return number;
  }

  private void digits(int least) {
    int start = at;
    while (peek() >= '0' && peek() <= '9') at++;
    if (at - start < least) throw malformed();
  }

  /** The string whose opening quote was read. */
  private String string() {
    int start = at;
    // Most strings have no escape.
    while (peek() >= ' ' && peek() != '"' && peek() != '\\') at++;
    if (peek() == '"') return text.substring(start, at++);
    var built = new StringBuilder(text.substring(start, at));
    while (true) {
      var c = next();
      if (c == '"') return built.toString();
      if (c < ' ') throw malformed();
      built.append(c == '\\' ? escaped() : c);
    }
  }

  private char escaped() {
    var c = next();
    switch (c) {
      case '"':
      case '\\':
      case '/':
        return c;
      case 'b':
        return '\b';
      case 'f':
        return '\f';
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      case 't':
        return '\t';
      case 'u':
        int unit = 0;
        for (int i = 0; i < 4; i++) unit = unit * 16 + hex(next());
        return (char) unit;
      default:
        throw malformed();
    }
  }

  /** Character.digit would take digits of other scripts. */
  private int hex(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    throw malformed();
  }

  private void skipSpace() {
    while (peek() == ' ' || peek() == '\t' || peek() == '\n' || peek() == '\r') at++;
  }

  /** NUL, which no JSON text has outside of an escape, at the end. */
  private char peek() {
    return at < text.length() ? text.charAt(at) : 0;
  }

  private char next() {
    if (at >= text.length()) throw malformed();
    return text.charAt(at++);
  }

  private IllegalArgumentException malformed() {
    return new IllegalArgumentException("no JSON at " + at);
  }

  /** A text as a JSON string. */
  public static String quote(String of) {
    var quoted = new StringBuilder("\"");
    for (int i = 0; i < of.length(); i++) {
      var c = of.charAt(i);
      if (c == '"' || c == '\\') quoted.append('\\').append(c);
      else if (c < ' ' || Character.isSurrogate(c)) quoted.append(String.format("\\u%04x", (int) c));
      else quoted.append(c);
    }
    return quoted.append('"').toString();
  }
}
