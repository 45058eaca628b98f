package signet.example.notes;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Struct;
import com.google.protobuf.util.JsonFormat;
import dev.signet.authz.v1.AuthContext;
import dev.signet.authz.v1.AuthMethod;
import dev.signet.authz.v1.Delegation;
import dev.signet.authz.v1.PrincipalKind;
import dev.signet.authz.v1.PrincipalRef;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** What the claims of an access token may be, and the AuthContext that they are. */
final class Claims {
  private static final int MAX_LIFE_SECONDS = 900;
  private static final int MAX_ACT_DEPTH = 3;
  private static final double MAX_COUNT = (1L << 53) - 1;
  private static final Pattern ID = Pattern.compile("([a-z]{3})_[0-9a-hjkmnp-tv-z]{26}");
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Map<String, AuthMethod> METHODS =
      Map.of(
          "session", AuthMethod.USER_SESSION,
          "client_credentials", AuthMethod.CLIENT_CREDENTIALS,
          "pat", AuthMethod.PERSONAL_ACCESS_TOKEN,
          "on_behalf_of", AuthMethod.ON_BEHALF_OF);
  private static final Map<String, String> OPTIONAL_IDS =
      Map.of(
          "identity_id", "idn", "tenant_id", "ten", "context_id", "ctx", "sid", "ses", "osid", "ses", "did", "dev");

  private Claims() {}

  /** Types, lifetime, and the shapes that a grant gives. */
  static void check(Map<String, Object> claims) throws Refused {
    if (!isCount(claims.get("exp"))) throw new Refused("TOKEN_EXPIRED");
    if (!isCount(claims.get("nbf")) || !isCount(claims.get("iat"))) throw new Refused("TOKEN_NOT_YET_VALID");
    if (number(claims.get("exp")) - number(claims.get("iat")) > MAX_LIFE_SECONDS) throw new Refused("TOKEN_EXPIRED");
    var isTyped = "user".equals(claims.get("principal_type")) || "service".equals(claims.get("principal_type"));
    if (!isTyped || !isId("app", claims.get("app_id"))) throw new Refused("MALFORMED_CREDENTIAL");
    if (claims.containsKey("act")) checkAct(claims.get("act"), 1);
    if (!isWellFormed(claims)) throw new Refused("MALFORMED_CREDENTIAL");
  }

  private static boolean isWellFormed(Map<String, Object> claims) {
    for (var optional : OPTIONAL_IDS.entrySet()) {
      var name = optional.getKey();
      if (claims.containsKey(name) && !isId(optional.getValue(), claims.get(name))) return false;
    }
    if (Stream.of("cred_id", "job_id").anyMatch(name -> claims.containsKey(name) && !isText(claims.get(name)))) {
      return false;
    }
    if (!(claims.get("gty") instanceof String gty) || !METHODS.containsKey(gty) || !isId("prn", claims.get("sub"))) {
      return false;
    }
    var isUser = "user".equals(claims.get("principal_type"));
    if (isUser != claims.containsKey("identity_id") || claims.containsKey("sid") != gty.equals("session")) return false;
    if (isUser == gty.equals("client_credentials")) return false;
    if (gty.equals("on_behalf_of")) {
      if (!claims.containsKey("act") || !claims.containsKey("job_id")) return false;
    } else if (Stream.of("act", "job_id", "osid").anyMatch(claims::containsKey)) {
      return false;
    }
    if (claims.containsKey("did") && !gty.equals("session")) return false;
    if (claims.containsKey("auth_time") && !isCount(claims.get("auth_time"))) return false;
    return isText(claims.get("jti"))
        && isText(claims.get("client_id"))
        && isCount(claims.get("perm_ver"))
        && isTexts(claims.get("scp"))
        && isTexts(claims.get("amr"));
  }

  private static void checkAct(Object value, int depth) throws Refused {
    if (depth > MAX_ACT_DEPTH) throw new Refused("DELEGATION_CHAIN_TOO_DEEP");
    var isActor =
        value instanceof Map<?, ?> act
            && isId("prn", act.get("sub"))
            && "service".equals(act.get("principal_type"))
            && isText(act.get("client_id"));
    if (!isActor) throw new Refused("MALFORMED_CREDENTIAL");
    var next = (Map<?, ?>) value;
    if (next.containsKey("act")) checkAct(next.get("act"), depth + 1);
  }

  /** The AuthContext of claims that were checked. */
  static AuthContext contextOf(Map<String, Object> claims) throws Refused {
    var kind = "user".equals(claims.get("principal_type")) ? PrincipalKind.USER : PrincipalKind.SERVICE;
    var context =
        AuthContext.newBuilder()
            .setPrincipal(PrincipalRef.newBuilder().setId(text(claims, "sub")).setKind(kind))
            .setIdentityId(text(claims, "identity_id"))
            .setAppId(text(claims, "app_id"))
            .setTenantId(text(claims, "tenant_id"))
            .setContextId(text(claims, "context_id"))
            .setSessionId(text(claims, "sid"))
            .setDeviceId(text(claims, "did"))
            .setTokenId(text(claims, "jti"))
            .setCredentialId(text(claims, "cred_id"))
            .setIssuer(text(claims, "iss"))
            .setAudience(text(claims, "aud"))
            .setMethod(METHODS.get(text(claims, "gty")))
            .setClaims(structOf(claims));
    for (var scope : (List<?>) claims.get("scp")) context.addScopes((String) scope);
    // Only the outermost actor decides (RFC 8693 section 4.1).
    if (claims.get("act") instanceof Map<?, ?> act) {
      var actor = PrincipalRef.newBuilder().setId((String) act.get("sub")).setKind(PrincipalKind.SERVICE).build();
      var delegation = Delegation.newBuilder().setActor(actor).setJobId(text(claims, "job_id"));
      delegation.setOriginSessionId(text(claims, "osid"));
      delegation.getExpiresAtBuilder().setSeconds((long) number(claims.get("exp")));
      context.setActor(actor).setDelegation(delegation);
    }
    return context.build();
  }

  private static Struct structOf(Map<String, Object> claims) throws Refused {
    try {
      var struct = Struct.newBuilder();
      JsonFormat.parser().merge(JSON.writeValueAsString(claims), struct);
      return struct.build();
    } catch (InvalidProtocolBufferException | JsonProcessingException error) {
      throw new Refused("MALFORMED_CREDENTIAL");
    }
  }

  private static String text(Map<String, Object> claims, String name) {
    return claims.get(name) instanceof String text ? text : "";
  }

  private static double number(Object value) {
    return ((Number) value).doubleValue();
  }

  private static boolean isId(String kind, Object value) {
    if (!(value instanceof String text)) return false;
    var match = ID.matcher(text);
    return match.matches() && match.group(1).equals(kind);
  }

  private static boolean isText(Object value) {
    return value instanceof String text && !text.isEmpty();
  }

  private static boolean isTexts(Object value) {
    return value instanceof List<?> list && list.stream().allMatch(Claims::isText);
  }

  private static boolean isCount(Object value) {
    if (!(value instanceof Number)) return false;
    var number = number(value);
    return number >= 0 && number <= MAX_COUNT && number == Math.rint(number);
  }
}
