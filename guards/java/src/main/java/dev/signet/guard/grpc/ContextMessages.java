package dev.signet.guard.grpc;

import com.google.protobuf.ListValue;
import com.google.protobuf.NullValue;
import com.google.protobuf.Struct;
import com.google.protobuf.Value;
import dev.signet.authz.v1.AuthContext;
import dev.signet.authz.v1.AuthMethod;
import dev.signet.authz.v1.Delegation;
import dev.signet.authz.v1.PrincipalKind;
import dev.signet.authz.v1.PrincipalRef;
import java.util.List;
import java.util.Map;

/** An AuthContext as the contract's message, for a service that passes it on. */
public final class ContextMessages {
  private ContextMessages() {}

  /** The message. */
  public static AuthContext of(dev.signet.guard.AuthContext context) {
    var message =
        AuthContext.newBuilder()
            .setPrincipal(principal(context.principal()))
            .setIdentityId(orEmpty(context.identityId()))
            .setAppId(context.appId())
            .setTenantId(orEmpty(context.tenantId()))
            .setContextId(orEmpty(context.contextId()))
            .setSessionId(orEmpty(context.sessionId()))
            .setDeviceId(orEmpty(context.deviceId()))
            .setTokenId(orEmpty(context.tokenId()))
            .setCredentialId(orEmpty(context.credentialId()))
            .setIssuer(context.issuer())
            .setAudience(context.audience())
            .addAllScopes(context.scopes())
            .setMethod(AuthMethod.valueOf(context.method().name()))
            .setClaims(struct(context.claims()));
    context
        .grants()
        .ifPresent(
            held ->
                message.setGrantsLoaded(true).addAllRoles(held.roles()).addAllPermissions(held.permissions()));
    if (context.actor() != null) message.setActor(principal(context.actor()));
    var delegation = context.delegation();
    if (delegation != null) {
      var wire =
          Delegation.newBuilder()
              .setActor(principal(delegation.actor()))
              .setJobId(delegation.jobId())
              .setOriginSessionId(orEmpty(delegation.originSessionId()));
      wire.getExpiresAtBuilder().setSeconds(Math.floorDiv(delegation.expiresAtMs(), 1_000));
      message.setDelegation(wire);
    }
    return message.build();
  }

  private static PrincipalRef principal(dev.signet.guard.AuthContext.Principal of) {
    return PrincipalRef.newBuilder().setId(of.id()).setKind(PrincipalKind.valueOf(of.kind().name())).build();
  }

  private static String orEmpty(String text) {
    return text == null ? "" : text;
  }

  private static Struct struct(Map<?, ?> of) {
    var struct = Struct.newBuilder();
    of.forEach((name, value) -> struct.putFields((String) name, value(value)));
    return struct.build();
  }

  private static Value value(Object of) {
    var value = Value.newBuilder();
    if (of instanceof String text) return value.setStringValue(text).build();
    if (of instanceof Boolean flag) return value.setBoolValue(flag).build();
    if (of instanceof Map<?, ?> map) return value.setStructValue(struct(map)).build();
    if (of instanceof List<?> list) {
      var values = ListValue.newBuilder();
      for (var one : list) values.addValues(value(one));
      return value.setListValue(values).build();
    }
    if (of instanceof Number number && Double.isFinite(number.doubleValue())) {
      return value.setNumberValue(number.doubleValue()).build();
    }
    return value.setNullValue(NullValue.NULL_VALUE).build();
  }
}
