package dev.signet.guard.grpc;

import com.google.protobuf.Any;
import com.google.rpc.ErrorInfo;
import dev.signet.authz.v1.Denial;
import dev.signet.guard.Challenge;
import dev.signet.guard.Refused;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import java.util.Locale;

/** A refusal as gRPC sends it: code, message, ErrorInfo (AIP-193), Denial, www-authenticate. */
public final class GrpcErrors {
  private static final Metadata.Key<String> CHALLENGE =
      Metadata.Key.of("www-authenticate", Metadata.ASCII_STRING_MARSHALLER);

  private GrpcErrors() {}

  /** The error: a handler that refuses in the guard's own words throws it. */
  public static StatusRuntimeException of(Refused refused) {
    var reason = refused.reason();
    var info =
        ErrorInfo.newBuilder().setDomain("signet").setReason(reason.name()).putAllMetadata(refused.metadata());
    var denial = Denial.newBuilder().setStatusCode(reason.status()).setSafeMessage(refused.getMessage());
    denial.setReason(dev.signet.authz.v1.Reason.valueOf(reason.name()));
    var error =
        StatusProto.toStatusRuntimeException(
            com.google.rpc.Status.newBuilder()
                .setCode(codeOf(reason.code()).value())
                .setMessage(refused.getMessage())
                .addDetails(Any.pack(info.build()))
                .addDetails(Any.pack(denial.build()))
                .build());
    var challenge = Challenge.of(refused);
    if (challenge != null && error.getTrailers() != null) error.getTrailers().put(CHALLENGE, challenge);
    return error;
  }

  private static Status.Code codeOf(String name) {
    // gRPC has two l.
    if (name.equals("canceled")) return Status.Code.CANCELLED;
    return Status.Code.valueOf(name.toUpperCase(Locale.ROOT));
  }
}
