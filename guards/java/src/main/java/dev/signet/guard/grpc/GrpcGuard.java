package dev.signet.guard.grpc;

import com.google.protobuf.Descriptors;
import dev.signet.guard.AuthContext;
import dev.signet.guard.Caller;
import dev.signet.guard.Decision;
import dev.signet.guard.Decision.Allow;
import dev.signet.guard.Decision.Deny;
import dev.signet.guard.Guard;
import dev.signet.guard.Reason;
import dev.signet.guard.Refused;
import dev.signet.guard.Requirement;
import dev.signet.guard.Requirement.Source;
import dev.signet.guard.Rule;
import io.grpc.BindableService;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerMethodDefinition;
import io.grpc.ServerServiceDefinition;
import io.grpc.protobuf.ProtoMethodDescriptorSupplier;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The guard before gRPC handlers: authenticates before the request is read, authorizes with it. Thread-safe.
 *
 * <pre>{@code
 * server.intercept(GrpcGuard.of(guard, notes)).addService(notes)
 * }</pre>
 *
 * <p>A call of a method that it was not built for is refused as unknown. For a service that nobody needs to be known
 * to, such as health checks, use {@code ServerInterceptors.intercept(notes, grpcGuard)} on the services that are
 * guarded.
 */
public final class GrpcGuard implements ServerInterceptor {
  /** The caller, in handlers; null in public methods, and for {@code body_credential} without a valid token. */
  public static final Context.Key<AuthContext> CALLER = Context.key("signet-caller");

  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  private final Map<String, Method> methods = new HashMap<>();

  private record Method(Rule rule, Map<String, MessageField> fields) {}

  private GrpcGuard(Guard guard, List<ServerServiceDefinition> services) {
    for (var service : services) {
      for (var method : service.getMethods()) add(guard, method);
    }
  }

  /** @throws IllegalArgumentException when a method has no requirement, or one that cannot be checked */
  public static GrpcGuard of(Guard guard, BindableService... services) {
    return new GrpcGuard(guard, Arrays.stream(services).map(BindableService::bindService).toList());
  }

  /** @throws IllegalArgumentException when a method has no requirement, or one that cannot be checked */
  public static GrpcGuard of(Guard guard, List<ServerServiceDefinition> services) {
    return new GrpcGuard(guard, services);
  }

  private void add(Guard guard, ServerMethodDefinition<?, ?> definition) {
    var method = definition.getMethodDescriptor();
    var name = method.getFullMethodName();
    if (!(method.getSchemaDescriptor() instanceof ProtoMethodDescriptorSupplier schema)) {
      throw new IllegalArgumentException(name + ": no protobuf descriptor to read the requirement of");
    }
    var descriptor = schema.getMethodDescriptor();
    var requirement = MethodRequirement.of(descriptor);
    var fields = new HashMap<String, MessageField>();
    requirement.checks().forEach(check -> addField(fields, check, descriptor));
    // MethodRequirement has checked what can be read.
    methods.put(name, new Method(new Rule(guard, requirement, (from, field) -> from != Source.GRAPH), fields));
  }

  private static void addField(
      Map<String, MessageField> fields, Requirement check, Descriptors.MethodDescriptor method) {
    Source from = null;
    String field = null;
    if (check instanceof Requirement.Tenant tenant) {
      from = tenant.from();
      field = tenant.field();
    } else if (check instanceof Requirement.ResourceAction action) {
      from = action.from();
      field = action.field();
    }
    // A path variable is a field of the message: a transcoder writes it there.
    if (from == Source.PATH || from == Source.BODY) fields.put(field, MessageField.of(method.getInputType(), field));
  }

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
    var method = methods.get(call.getMethodDescriptor().getFullMethodName());
    if (method == null) return refuse(call, new Refused(Reason.METHOD_UNKNOWN));
    var caller = method.rule().authenticate(joined(headers, AUTHORIZATION));
    // Without a caller, and where no message is read, the decision rests on nothing else.
    if (caller.context() == null || method.fields().isEmpty()) {
      return start(call, headers, next, decide(method, caller, headers, null));
    }
    return new AwaitMessage<>(call) {
      @Override
      ServerCall.Listener<Q> decided(Q message) {
        return start(call, headers, next, decide(method, caller, headers, message));
      }
    };
  }

  private static Decision decide(Method method, Caller caller, Metadata headers, Object message) {
    try {
      return method.rule().decide(caller, (from, field) -> valueOf(method, headers, message, from, field));
    } catch (RuntimeException fault) {
      // What looks resources up failed: a fault lets nobody in.
      System.getLogger(GrpcGuard.class.getName()).log(System.Logger.Level.ERROR, "the decision failed", fault);
      return new Deny(Reason.INTERNAL, 0);
    }
  }

  private static String valueOf(Method method, Metadata headers, Object message, Source from, String field) {
    if (from == Source.HEADER) {
      return joined(headers, Metadata.Key.of(field, Metadata.ASCII_STRING_MARSHALLER));
    }
    if (from != Source.PATH && from != Source.BODY) return null;
    return message == null ? null : method.fields().get(field).in(message);
  }

  private static <Q, A> ServerCall.Listener<Q> start(
      ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next, Decision decision) {
    if (decision instanceof Allow allow) {
      return Contexts.interceptCall(Context.current().withValue(CALLER, allow.context()), call, headers, next);
    }
    return refuse(call, Refused.of((Deny) decision));
  }

  private static <Q> ServerCall.Listener<Q> refuse(ServerCall<Q, ?> call, Refused why) {
    var error = GrpcErrors.of(why);
    call.close(error.getStatus(), error.getTrailers() == null ? new Metadata() : error.getTrailers());
    return new ServerCall.Listener<>() {};
  }

  /** As HTTP joins what was sent several times; null when it was not sent. */
  private static String joined(Metadata headers, Metadata.Key<String> name) {
    var values = headers.getAll(name);
    return values == null ? null : String.join(", ", values);
  }
}
