package dev.signet.guard.servlet;

import dev.signet.guard.kernel.Values;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;

/** One text in a JSON value, by a path of the schema with dots: {@code note.tenant_id}. */
final class JsonField {
  private static final Pattern UNDERSCORES = Pattern.compile("_+([a-z0-9])");

  private JsonField() {}

  /**
   * The text. A name may be written as the schema has it or in lowerCamelCase, as proto3 JSON may. Null when it is
   * missing, empty, no text, or written in more than one way, letter case not counting: a handler could read the other.
   */
  static String in(Object value, String path) {
    var at = value;
    for (var name : path.split("\\.", -1)) {
      var holder = Values.object(at);
      if (holder == null) return null;
      var camel = UNDERSCORES.matcher(name).replaceAll(match -> match.group(1).toUpperCase(Locale.ROOT));
      var folded = List.of(fold(name), fold(camel));
      var alike = holder.keySet().stream().filter(key -> folded.contains(fold(key))).toList();
      if (alike.size() != 1 || !(alike.get(0).equals(name) || alike.get(0).equals(camel))) return null;
      at = holder.get(alike.get(0));
    }
    return at instanceof String text && !text.isEmpty() ? text : null;
  }

  /** Without letter case, in which some readers of JSON find a name. */
  private static String fold(String name) {
    return name.toUpperCase(Locale.ROOT).toLowerCase(Locale.ROOT);
  }
}
