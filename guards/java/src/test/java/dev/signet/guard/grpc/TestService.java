package dev.signet.guard.grpc;

import com.google.protobuf.DescriptorProtos.DescriptorProto;
import com.google.protobuf.DescriptorProtos.FieldDescriptorProto;
import com.google.protobuf.DescriptorProtos.FieldDescriptorProto.Type;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.DescriptorProtos.MethodDescriptorProto;
import com.google.protobuf.DescriptorProtos.ServiceDescriptorProto;
import com.google.protobuf.Descriptors;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DynamicMessage;
import dev.signet.authz.v1.AuthRequirement;
import dev.signet.authz.v1.RequirementProto;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.protobuf.ProtoMethodDescriptorSupplier;
import io.grpc.protobuf.ProtoUtils;

/** A service with one method, which asks for a requirement: the stubs that protoc would make for it. */
final class TestService {
  final Descriptors.MethodDescriptor method;

  /** @param requirement null for none */
  TestService(AuthRequirement requirement, boolean isClientStreaming) {
    try {
      var method = MethodDescriptorProto.newBuilder().setName("Call").setInputType("Input").setOutputType("Output");
      method.setClientStreaming(isClientStreaming);
      if (requirement != null) method.getOptionsBuilder().setExtension(RequirementProto.requires, requirement);
      var file =
          FileDescriptorProto.newBuilder()
              .setName("test.proto")
              .setPackage("test.v1")
              .setSyntax("proto3")
              .addMessageType(
                  DescriptorProto.newBuilder()
                      .setName("Input")
                      .addField(field("tenant_id", 1, Type.TYPE_STRING))
                      .addField(field("note", 2, Type.TYPE_MESSAGE).toBuilder().setTypeName("Note"))
                      .addField(field("count", 3, Type.TYPE_INT32))
                      .addField(
                          field("tags", 4, Type.TYPE_STRING).toBuilder()
                              .setLabel(FieldDescriptorProto.Label.LABEL_REPEATED)))
              .addMessageType(
                  DescriptorProto.newBuilder().setName("Note").addField(field("id", 1, Type.TYPE_STRING)))
              .addMessageType(
                  DescriptorProto.newBuilder().setName("Output").addField(field("caller", 1, Type.TYPE_STRING)))
              .addService(ServiceDescriptorProto.newBuilder().setName("Service").addMethod(method));
      var built = FileDescriptor.buildFrom(file.build(), new FileDescriptor[0]);
      this.method = built.getServices().get(0).getMethods().get(0);
    } catch (Descriptors.DescriptorValidationException error) {
      throw new IllegalStateException(error);
    }
  }

  private static FieldDescriptorProto field(String name, int number, Type type) {
    return FieldDescriptorProto.newBuilder().setName(name).setNumber(number).setType(type).build();
  }

  Descriptor input() {
    return method.getInputType();
  }

  MethodDescriptor<DynamicMessage, DynamicMessage> descriptor() {
    return MethodDescriptor.<DynamicMessage, DynamicMessage>newBuilder()
        .setType(method.isClientStreaming() ? MethodType.CLIENT_STREAMING : MethodType.UNARY)
        .setFullMethodName("test.v1.Service/Call")
        .setRequestMarshaller(ProtoUtils.marshaller(DynamicMessage.getDefaultInstance(method.getInputType())))
        .setResponseMarshaller(ProtoUtils.marshaller(DynamicMessage.getDefaultInstance(method.getOutputType())))
        .setSchemaDescriptor(new Schema())
        .build();
  }

  private final class Schema implements ProtoMethodDescriptorSupplier {
    @Override
    public Descriptors.MethodDescriptor getMethodDescriptor() {
      return method;
    }

    @Override
    public Descriptors.ServiceDescriptor getServiceDescriptor() {
      return method.getService();
    }

    @Override
    public FileDescriptor getFileDescriptor() {
      return method.getFile();
    }
  }
}
