package signet.example.notes;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Map;

/** What the parts of a token hold. */
final class Encoded {
  private static final TypeReference<Map<String, Object>> OBJECT = new TypeReference<>() {};
  private static final JsonMapper LAST_WINS =
      JsonMapper.builder().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS).build();
  private static final JsonMapper UNIQUE =
      LAST_WINS.rebuild().enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION).build();

  private Encoded() {}

  /** The bytes of base64url without padding; null for any text that no encoder writes. */
  static byte[] bytes(String text) {
    try {
      var bytes = Base64.getUrlDecoder().decode(text);
      return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes).equals(text) ? bytes : null;
    } catch (IllegalArgumentException error) {
      return null;
    }
  }

  /** The JSON object in base64url; null when it is none, or when names have to be unique and are not. */
  static Map<String, Object> object(String part, boolean isUnique) {
    var bytes = bytes(part);
    if (bytes == null) return null;
    try {
      // Jackson would guess UTF-16 from bytes.
      var text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
      return (isUnique ? UNIQUE : LAST_WINS).readValue(text, OBJECT);
    } catch (CharacterCodingException | JsonProcessingException error) {
      return null;
    }
  }
}
