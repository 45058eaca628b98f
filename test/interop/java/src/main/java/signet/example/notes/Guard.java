package signet.example.notes;

import com.google.protobuf.Message;
import dev.signet.authz.v1.AuthContext;
import dev.signet.authz.v1.AuthRequirement;
import dev.signet.authz.v1.Source;
import io.grpc.Context;
import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerServiceDefinition;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.ProtoMethodDescriptorSupplier;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Knows what each method asks for, and asks it of each call. */
final class Guard implements ServerInterceptor {
  /** Who calls; null in a public method. */
  static final Context.Key<AuthContext> CALLER = Context.key("caller");

  private final Verifier verifier;
  private final Map<String, AuthRequirement> requirements = new HashMap<>();

  /** @throws IllegalArgumentException when a method says nothing, or asks for what is not checked here. */
  Guard(Verifier verifier, ServerServiceDefinition service) {
    this.verifier = verifier;
    for (var method : service.getMethods()) {
      var descriptor = method.getMethodDescriptor();
      var schema = (ProtoMethodDescriptorSupplier) descriptor.getSchemaDescriptor();
      requirements.put(descriptor.getFullMethodName(), Requirements.of(schema.getMethodDescriptor()));
    }
  }

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
    var required = requirements.get(call.getMethodDescriptor().getFullMethodName());
    if (required == null) {
      refuse(call, new Refused("INTERNAL"));
      return new ServerCall.Listener<>() {};
    }
    if (required.getPublic()) return next.startCall(call, headers);
    return new Admitting<>(next.startCall(call, headers)) {
      @Override
      AuthContext admit(Q message) throws Refused {
        return Guard.this.admit(required, headers, (Message) message);
      }

      @Override
      void refused(Refused why) {
        refuse(call, why);
      }
    };
  }

  private AuthContext admit(AuthRequirement required, Metadata headers, Message message) throws Refused {
    var claims = verifier.authenticate(valuesOf(headers, "authorization"));
    var caller = Claims.contextOf(claims);
    Authorizer.authorize(
        required,
        caller,
        tenant ->
            tenant.getFrom() == Source.HEADER
                ? String.join(", ", valuesOf(headers, tenant.getField()))
                : Requirements.textIn(message, tenant.getField()));
    return caller;
  }

  private static List<String> valuesOf(Metadata headers, String name) {
    var values = new ArrayList<String>();
    var all = headers.getAll(Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER));
    if (all != null) all.forEach(values::add);
    return values;
  }

  private static void refuse(ServerCall<?, ?> call, Refused why) {
    StatusRuntimeException error = why.asError();
    call.close(error.getStatus(), error.getTrailers());
  }

  /** A handler is called when its one message is complete; the decision comes before it, and it sees the caller. */
  private abstract static class Admitting<Q> extends SimpleForwardingServerCallListener<Q> {
    private Context admitted = Context.current();
    private boolean isRefused;

    Admitting(ServerCall.Listener<Q> handler) {
      super(handler);
    }

    abstract AuthContext admit(Q message) throws Refused;

    abstract void refused(Refused why);

    @Override
    public void onMessage(Q message) {
      try {
        admitted = Context.current().withValue(CALLER, admit(message));
        admitted.run(() -> super.onMessage(message));
      } catch (Refused why) {
        isRefused = true;
        refused(why);
      }
    }

    @Override
    public void onHalfClose() {
      if (!isRefused) admitted.run(super::onHalfClose);
    }
  }
}
