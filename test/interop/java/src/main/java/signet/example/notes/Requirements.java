package signet.example.notes;

import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor.JavaType;
import com.google.protobuf.Descriptors.MethodDescriptor;
import com.google.protobuf.Message;
import dev.signet.authz.v1.AuthRequirement;
import dev.signet.authz.v1.Composite;
import dev.signet.authz.v1.PrincipalKind;
import dev.signet.authz.v1.RequirementProto;
import dev.signet.authz.v1.TenantBound;

/** The requirement in a method's descriptor. */
final class Requirements {
  private Requirements() {}

  /** @throws IllegalArgumentException when the method says nothing, or asks for what is not checked here. */
  static AuthRequirement of(MethodDescriptor method) {
    var options = method.getOptions();
    try {
      check(options.hasExtension(RequirementProto.requires), "no (signet.authz.v1.requires)");
      var required = options.getExtension(RequirementProto.requires);
      // A stream of requests has no one message to decide by.
      check(!method.isClientStreaming() || required.getPublic(), "a stream of requests is not checked here");
      checkRequirement(required, method.getInputType(), false);
      return required;
    } catch (IllegalArgumentException error) {
      throw new IllegalArgumentException(method.getFullName() + ": " + error.getMessage());
    }
  }

  /** @param input Null where there is no message, as in the decision vectors. */
  static void checkRequirement(AuthRequirement r, Descriptor input, boolean isInComposite) {
    var isPlain = !r.hasFreshness() && r.getMaxAuthAgeSeconds() == 0 && r.getUnknownFields().asMap().isEmpty();
    check(isPlain, "an option that is not checked here");
    switch (r.getCheckCase()) {
      case PUBLIC -> check(r.getPublic() && !isInComposite, "public is true, and stands alone");
      case SCOPE -> check(!r.getScope().isEmpty(), "an empty scope");
      case KINDS -> {
        var kinds = r.getKinds().getOfList();
        var isNamed = !kinds.isEmpty() && !kinds.contains(PrincipalKind.PRINCIPAL_KIND_UNSPECIFIED);
        check(isNamed && !kinds.contains(PrincipalKind.UNRECOGNIZED), "kinds without a kind");
      }
      case TENANT -> checkSource(r.getTenant(), input);
      case ANY_OF -> checkParts(r.getAnyOf(), input);
      case ALL_OF -> checkParts(r.getAllOf(), input);
      default -> throw new IllegalArgumentException("no check, or one that is not known here");
    }
  }

  private static void checkParts(Composite composite, Descriptor input) {
    check(composite.getOfCount() > 0, "an empty composite");
    for (var part : composite.getOfList()) checkRequirement(part, input, true);
  }

  private static void checkSource(TenantBound tenant, Descriptor input) {
    var field = tenant.getField();
    switch (tenant.getFrom()) {
      case TOKEN -> check(field.isEmpty(), "the token's tenant has no field");
      case HEADER -> check(field.matches("[a-z0-9-]+"), "\"" + field + "\" is no header in lower case");
      case BODY, PATH -> {
        if (input != null) checkField(input, field);
      }
      default -> throw new IllegalArgumentException("a tenant from nowhere");
    }
  }

  private static void checkField(Descriptor input, String path) {
    FieldDescriptor last = null;
    for (var name : path.split("\\.", -1)) {
      check(last == null || last.getJavaType() == JavaType.MESSAGE, "no field \"" + path + "\"");
      last = (last == null ? input : last.getMessageType()).findFieldByName(name);
      check(last != null && !last.isRepeated(), "no field \"" + path + "\"");
    }
    check(last.getJavaType() == JavaType.STRING, "\"" + path + "\" is no text");
  }

  /** The text of a field that was checked. */
  static String textIn(Message message, String path) {
    var names = path.split("\\.");
    for (int i = 0; i < names.length - 1; i++) {
      message = (Message) message.getField(message.getDescriptorForType().findFieldByName(names[i]));
    }
    return (String) message.getField(message.getDescriptorForType().findFieldByName(names[names.length - 1]));
  }

  private static void check(boolean holds, String otherwise) {
    if (!holds) throw new IllegalArgumentException(otherwise);
  }
}
