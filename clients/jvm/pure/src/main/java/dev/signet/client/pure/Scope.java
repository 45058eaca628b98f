package dev.signet.client.pure;

import dev.signet.host.v1.BoxScope;
import org.jspecify.annotations.Nullable;

/** The owner of secrets. */
final class Scope {
  private Scope() {}

  /** A unique text for each scope: the JSON of its parts, as the other clients' boxes have it. */
  static String textOf(BoxScope scope) {
    if (scope.getApp().isEmpty()) throw HostFailure.io("a scope has no app");
    return "[" + String.join(
        ",",
        json(scope.hasTenant() ? scope.getTenant() : null),
        json(scope.getApp()),
        json(scope.hasUser() ? scope.getUser() : null),
        json(scope.hasDevice() ? scope.getDevice() : null)) + "]";
  }

  private static String json(@Nullable String value) {
    if (value == null) return "null";
    var out = new StringBuilder("\"");
    for (var c : value.toCharArray()) {
      var named = "\b\f\n\r\t".indexOf(c);
      if (c == '"' || c == '\\') out.append('\\').append(c);
      else if (named >= 0) out.append('\\').append("bfnrt".charAt(named));
      else if (c < 0x20) out.append(String.format("\\u%04x", (int) c));
      else out.append(c);
    }
    return out.append('"').toString();
  }
}
