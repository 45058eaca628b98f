import { Code, ConnectError } from "@connectrpc/connect"
import type { Refused, StatusCode } from "@signet/kernel/errors"
import { DenialSchema } from "@signet/proto/authz/v1/denial"
import { Reason as WireReason } from "@signet/proto/authz/v1/reason"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { challengeOf } from "./challenge.ts"

const codes: Record<StatusCode, Code> = {
  canceled: Code.Canceled,
  invalid_argument: Code.InvalidArgument,
  deadline_exceeded: Code.DeadlineExceeded,
  not_found: Code.NotFound,
  already_exists: Code.AlreadyExists,
  permission_denied: Code.PermissionDenied,
  resource_exhausted: Code.ResourceExhausted,
  failed_precondition: Code.FailedPrecondition,
  aborted: Code.Aborted,
  unimplemented: Code.Unimplemented,
  internal: Code.Internal,
  unavailable: Code.Unavailable,
  unauthenticated: Code.Unauthenticated,
}

/** Converts a refusal for Connect, gRPC and gRPC-Web: code, message, ErrorInfo (AIP-193), Denial, WWW-Authenticate. */
export function connectErrorOf(refused: Refused): ConnectError {
  const challenge = challengeOf(refused)
  return new ConnectError(
    refused.message,
    codes[refused.code],
    challenge === undefined ? undefined : { "www-authenticate": challenge },
    [
      {
        desc: ErrorInfoSchema,
        value: { reason: refused.reason, domain: "signet", metadata: { ...refused.metadata } },
      },
      {
        desc: DenialSchema,
        value: { reason: WireReason[refused.reason], statusCode: refused.status, safeMessage: refused.message },
      },
    ],
    refused,
  )
}
