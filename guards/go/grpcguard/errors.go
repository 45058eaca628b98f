package grpcguard

import (
	"errors"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"signet.dev/guard"
	authzv1 "signet.dev/guard/gen/signet/authz/v1"
)

// Error returns a refusal as a gRPC error: its code, its safe message, google.rpc.ErrorInfo (AIP-193) and
// signet.authz.v1.Denial. Any error that is no [*guard.Denial] is told as INTERNAL.
func Error(err error) error {
	var denial *guard.Denial
	if !errors.As(err, &denial) {
		denial = guard.NewDenial(guard.ReasonInternal, nil)
	}
	info := &errdetails.ErrorInfo{Reason: string(denial.Reason), Domain: "signet", Metadata: denial.Metadata}
	wire := &authzv1.Denial{
		Reason:      authzv1.Reason(authzv1.Reason_value[string(denial.Reason)]),
		StatusCode:  uint32(denial.Status()), //nolint:gosec // An HTTP status.
		SafeMessage: denial.Message(),
	}
	told := status.New(codes.Code(denial.Code()), denial.Message())
	if rich, err := told.WithDetails(info, wire); err == nil {
		told = rich
	}
	return told.Err()
}

// ReasonOf returns the typed reason in an error of a call to Signet or to a service with a guard; "" where there is none.
func ReasonOf(err error) guard.Reason {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.Domain == "signet" {
			return guard.Reason(info.Reason)
		}
	}
	return ""
}
