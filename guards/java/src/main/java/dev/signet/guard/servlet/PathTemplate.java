package dev.signet.guard.servlet;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/** Reads a path by a template of whole segments: {@code /notes/{note_id}}. */
final class PathTemplate {
  private static final Pattern VARIABLE = Pattern.compile("\\{([a-z][a-z0-9_.]*)}");

  private final List<Segment> segments = new ArrayList<>();
  private final Map<String, Integer> names = new HashMap<>();

  private record Segment(String text, String name) {}

  /** @throws IllegalArgumentException when a variable's name is no name, or is there twice */
  PathTemplate(String template) {
    if (!template.startsWith("/")) throw new IllegalArgumentException(template + ": a path must begin with /");
    for (var text : template.split("/", -1)) {
      var match = VARIABLE.matcher(text);
      var name = match.matches() ? match.group(1) : null;
      var isVariable = name != null;
      if (!isVariable && (text.contains("{") || text.contains("}"))) {
        throw new IllegalArgumentException(template + ": " + text + " is not a path variable");
      }
      if (isVariable && names.put(name, segments.size()) != null) {
        throw new IllegalArgumentException(template + ": a variable occurs twice");
      }
      segments.add(new Segment(text, name));
    }
  }

  Set<String> names() {
    return names.keySet();
  }

  /**
   * The variables of a raw path; null when it is another path. A container resolves {@code ..}, {@code ;} and encoded
   * slashes in ways of its own and may then serve another path than the one that was decided, so no segment has them.
   */
  Map<String, String> match(String path) {
    var parts = path.split("/", -1);
    if (parts.length != segments.size()) return null;
    var values = new HashMap<String, String>();
    for (int i = 0; i < parts.length; i++) {
      var segment = segments.get(i);
      // Decoded, as a container maps it: else "/notes/%65xport" is no "export" here, and is one there.
      var value = decode(parts[i]);
      if (value == null) return null;
      if (segment.name() == null) {
        if (!value.equals(segment.text())) return null;
        continue;
      }
      if (!isPlain(value)) return null;
      values.put(segment.name(), value);
    }
    return values;
  }

  private static boolean isPlain(String value) {
    if (value.isEmpty() || value.equals(".") || value.equals("..")) return false;
    return value.chars().noneMatch(c -> c < ' ' || c == 0x7f || c == '/' || c == '\\' || c == ';');
  }

  /** Percent-decodes; null when it is malformed, or no UTF-8. */
  private static String decode(String part) {
    var bytes = part.getBytes(StandardCharsets.UTF_8);
    var decoded = ByteBuffer.allocate(bytes.length);
    for (int i = 0; i < bytes.length; i++) {
      if (bytes[i] != '%') {
        decoded.put(bytes[i]);
        continue;
      }
      if (i + 2 >= bytes.length) return null;
      int high = hex(bytes[++i]);
      int low = hex(bytes[++i]);
      if (high < 0 || low < 0) return null;
      decoded.put((byte) (high * 16 + low));
    }
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(decoded.flip()).toString();
    } catch (CharacterCodingException error) {
      return null;
    }
  }

  private static int hex(byte digit) {
    if (digit >= '0' && digit <= '9') return digit - '0';
    if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
    return digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
  }
}
