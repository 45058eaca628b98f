package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"net/http"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	authzv1 "signet.example/notes/gen/signet/authz/v1"
)

// What docs/errors.md says of each reason.
//
//go:embed gen/refusals.json
var refusalsText []byte

type refusal struct {
	Status  int    `json:"status"`
	Message string `json:"message"`
}

var refusals = readRefusals()

func readRefusals() map[string]refusal {
	all := map[string]refusal{}
	if err := json.Unmarshal(refusalsText, &all); err != nil {
		panic(err)
	}
	return all
}

var grpcCodes = map[int]codes.Code{
	http.StatusUnauthorized: codes.Unauthenticated, http.StatusForbidden: codes.PermissionDenied,
	http.StatusServiceUnavailable: codes.Unavailable,
}

// errorOf says why, as google.rpc.ErrorInfo and signet.authz.v1.Denial.
func errorOf(denied *denial) error {
	told, known := refusals[denied.reason]
	code := codes.Internal
	if mapped, ok := grpcCodes[told.Status]; known && ok {
		code = mapped
	}
	info := &errdetails.ErrorInfo{Reason: denied.reason, Domain: "signet", Metadata: denied.metadata()}
	wire := &authzv1.Denial{
		Reason:     authzv1.Reason(authzv1.Reason_value[denied.reason]),
		StatusCode: uint32(told.Status), SafeMessage: told.Message,
	}
	rich, err := status.New(code, told.Message).WithDetails(info, wire)
	if err != nil {
		return status.Error(codes.Internal, "internal error")
	}
	return rich.Err()
}

type callerKey struct{}

// callerOf is who calls; nil in a public method.
func callerOf(ctx context.Context) *authzv1.AuthContext {
	caller, _ := ctx.Value(callerKey{}).(*authzv1.AuthContext)
	return caller
}

// guard knows what each method asks for, and asks it of each call.
type guard struct {
	verifier     *verifier
	requirements map[string]*authzv1.AuthRequirement
}

func newGuard(v *verifier, services ...protoreflect.ServiceDescriptor) (*guard, error) {
	g := &guard{verifier: v, requirements: map[string]*authzv1.AuthRequirement{}}
	for _, service := range services {
		for i := range service.Methods().Len() {
			method := service.Methods().Get(i)
			requirement, err := requirementOf(method)
			if err != nil {
				return nil, err
			}
			g.requirements["/"+string(service.FullName())+"/"+string(method.Name())] = requirement
		}
	}
	return g, nil
}

// admit returns the caller of a call that may go on.
func (g *guard) admit(ctx context.Context, method string, message proto.Message) (context.Context, error) {
	requirement := g.requirements[method]
	if requirement == nil {
		return nil, errorOf(&denial{reason: "INTERNAL"})
	}
	if requirement.GetPublic() {
		return ctx, nil
	}
	headers, _ := metadata.FromIncomingContext(ctx)
	claims, reason := g.verifier.authenticate(headers.Get("authorization"))
	if reason != "" {
		return nil, errorOf(&denial{reason: reason})
	}
	caller, err := contextOf(claims)
	if err != nil {
		return nil, errorOf(&denial{reason: "INTERNAL"})
	}
	tenantOf := func(tenant *authzv1.TenantBound) string {
		if tenant.From == authzv1.Source_HEADER {
			return strings.Join(headers.Get(tenant.Field), ", ")
		}
		return textIn(message.ProtoReflect(), tenant.Field)
	}
	if denied := authorize(requirement, caller, tenantOf); denied != nil {
		return nil, errorOf(denied)
	}
	return context.WithValue(ctx, callerKey{}, caller), nil
}

// textIn reads a field that checkSource has found.
func textIn(message protoreflect.Message, path string) string {
	names := strings.Split(path, ".")
	for _, name := range names[:len(names)-1] {
		message = message.Get(message.Descriptor().Fields().ByName(protoreflect.Name(name))).Message()
	}
	last := message.Descriptor().Fields().ByName(protoreflect.Name(names[len(names)-1]))
	return message.Get(last).String()
}

func (g *guard) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	message, _ := req.(proto.Message)
	admitted, err := g.admit(ctx, info.FullMethod, message)
	if err != nil {
		return nil, err
	}
	return next(admitted, req)
}

// stream is admitted with its one message; a stream of requests names nothing that could be checked.
func (g *guard) stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	return next(srv, &guardedStream{ServerStream: stream, guard: g, method: info.FullMethod})
}

type guardedStream struct {
	grpc.ServerStream
	guard    *guard
	method   string
	admitted context.Context
}

func (s *guardedStream) RecvMsg(m any) error {
	if err := s.ServerStream.RecvMsg(m); err != nil || s.admitted != nil {
		return err
	}
	message, _ := m.(proto.Message)
	admitted, err := s.guard.admit(s.ServerStream.Context(), s.method, message)
	s.admitted = admitted
	return err
}

func (s *guardedStream) Context() context.Context {
	if s.admitted != nil {
		return s.admitted
	}
	return s.ServerStream.Context()
}
