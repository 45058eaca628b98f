package signet.example.notes;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.Any;
import com.google.rpc.ErrorInfo;
import com.google.rpc.Status;
import dev.signet.authz.v1.Denial;
import dev.signet.authz.v1.Reason;
import io.grpc.Status.Code;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Map;

/** Why a call is refused; its step decides which of several is told. */
final class Refused extends Exception {
  private static final Map<String, Map<String, Object>> REFUSALS = read();
  private static final Map<Integer, Code> CODES =
      Map.of(401, Code.UNAUTHENTICATED, 403, Code.PERMISSION_DENIED, 503, Code.UNAVAILABLE);

  final String reason;
  final int step;
  /** What is told beside the reason: the scope that is missing. */
  final Map<String, String> metadata;

  Refused(String reason) {
    this(reason, 0, Map.of());
  }

  Refused(String reason, int step, Map<String, String> metadata) {
    super(reason, null, false, false);
    this.reason = reason;
    this.step = step;
    this.metadata = metadata;
  }

  int status() {
    return ((Number) REFUSALS.get(reason).get("status")).intValue();
  }

  String message() {
    return (String) REFUSALS.get(reason).get("message");
  }

  /** With google.rpc.ErrorInfo and signet.authz.v1.Denial. */
  StatusRuntimeException asError() {
    var info = ErrorInfo.newBuilder().setDomain("signet").setReason(reason).putAllMetadata(metadata);
    var denial =
        Denial.newBuilder().setReason(Reason.valueOf(reason)).setStatusCode(status()).setSafeMessage(message());
    return StatusProto.toStatusRuntimeException(
        Status.newBuilder()
            .setCode(CODES.getOrDefault(status(), Code.INTERNAL).value())
            .setMessage(message())
            .addDetails(Any.pack(info.build()))
            .addDetails(Any.pack(denial.build()))
            .build());
  }

  /** What docs/errors.md says of each reason. */
  @SuppressWarnings("unchecked")
  private static Map<String, Map<String, Object>> read() {
    try (InputStream text = Refused.class.getResourceAsStream("/refusals.json")) {
      return new ObjectMapper().readValue(text, Map.class);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }
}
