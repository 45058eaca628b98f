package dev.signet.guard.token;

import dev.signet.guard.kernel.Values;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Map;

/** The parts of a JWT, read so that two readers cannot read two things. */
final class Encoded {
  private Encoded() {}

  /**
   * A JSON object.
   *
   * @param members its members
   * @param hasDuplicateNames whether an object in it has a name twice
   */
  record JsonObject(Map<String, Object> members, boolean hasDuplicateNames) {}

  /** The bytes of base64url without padding; null for any text that no encoder writes. */
  static byte[] bytes(String text) {
    try {
      var bytes = Base64.getUrlDecoder().decode(text);
      // The decoder takes padding, and stray bits in the last character.
      return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes).equals(text) ? bytes : null;
    } catch (IllegalArgumentException error) {
      return null;
    }
  }

  /** The JSON object in base64url; null when it is none, or its UTF-8 is not valid. */
  static JsonObject object(String part) {
    var bytes = bytes(part);
    if (bytes == null) return null;
    try {
      var parsed = Json.parse(StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString());
      var members = Values.object(parsed.value());
      return members == null ? null : new JsonObject(members, parsed.hasDuplicateNames());
    } catch (CharacterCodingException | IllegalArgumentException error) {
      return null;
    }
  }
}
