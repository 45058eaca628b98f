package dev.signet.guard.servlet;

import dev.signet.guard.kernel.Values;
import java.util.Locale;
import java.util.regex.Pattern;

/** One text in a JSON value, by a path of the schema with dots: {@code note.tenant_id}. */
final class JsonField {
  private static final Pattern UNDERSCORES = Pattern.compile("_+([a-z0-9])");

  private JsonField() {}

  /**
   * The text. A name may be written as the schema has it or in lowerCamelCase, as proto3 JSON may. Null when it is
   * missing, empty, no text, or written both ways: then a handler could read the other one.
   */
  static String in(Object value, String path) {
    var at = value;
    for (var name : path.split("\\.", -1)) {
      var holder = Values.object(at);
      if (holder == null) return null;
      var camel = UNDERSCORES.matcher(name).replaceAll(match -> match.group(1).toUpperCase(Locale.ROOT));
      var isNamed = holder.containsKey(name);
      var isCamel = !camel.equals(name) && holder.containsKey(camel);
      if (isNamed == isCamel) return null;
      at = holder.get(isNamed ? name : camel);
    }
    return at instanceof String text && !text.isEmpty() ? text : null;
  }
}
