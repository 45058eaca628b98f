package dev.signet.guard.grpc;

import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor.JavaType;
import com.google.protobuf.Message;
import java.util.ArrayList;
import java.util.List;

/** One text field of a message, by a path of the schema with dots: {@code conversation.tenant_id}. */
final class MessageField {
  private final Descriptor input;
  private final List<FieldDescriptor> steps;

  private MessageField(Descriptor input, List<FieldDescriptor> steps) {
    this.input = input;
    this.steps = steps;
  }

  /** @throws IllegalArgumentException when the message has no such field, or it is not a singular string field. */
  static MessageField of(Descriptor input, String path) {
    var steps = new ArrayList<FieldDescriptor>();
    Descriptor at = input;
    for (var name : path.split("\\.", -1)) {
      var field = at == null ? null : at.findFieldByName(name);
      if (field == null) throw new IllegalArgumentException(input.getFullName() + " has no field \"" + path + "\"");
      steps.add(field);
      var isMessage = field.getJavaType() == JavaType.MESSAGE && !field.isRepeated();
      at = isMessage ? field.getMessageType() : null;
    }
    var last = steps.get(steps.size() - 1);
    if (last.getJavaType() != JavaType.STRING || last.isRepeated()) {
      throw new IllegalArgumentException(input.getFullName() + ": \"" + path + "\" is not a singular string field");
    }
    return new MessageField(input, steps);
  }

  /** The text; null when it, or a message on the way to it, is not set or is empty. */
  String in(Object request) {
    if (!(request instanceof Message message) || message.getDescriptorForType() != input) return null;
    for (var step : steps.subList(0, steps.size() - 1)) {
      if (!message.hasField(step)) return null;
      message = (Message) message.getField(step);
    }
    var text = (String) message.getField(steps.get(steps.size() - 1));
    return text.isEmpty() ? null : text;
  }
}
