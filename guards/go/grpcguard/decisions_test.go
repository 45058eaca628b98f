package grpcguard_test

import (
	"context"
	"errors"
	"io"
	"net"
	"reflect"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"signet.dev/guard"
	authzv1 "signet.dev/guard/gen/signet/authz/v1"
	"signet.dev/guard/grpcguard"
	"signet.dev/guard/internal/vectors"
)

// served is a service over gRPC whose handlers say who called.
type served struct {
	client *grpc.ClientConn
	caller *guard.AuthContext
	calls  int
}

// serve starts the service with one method for each requirement, behind the interceptors.
func serve(t *testing.T, interceptors *grpcguard.Interceptors, service protoreflect.ServiceDescriptor) *served {
	s := &served{}
	desc := &grpc.ServiceDesc{ServiceName: string(service.FullName()), HandlerType: (*any)(nil)}
	for n := range service.Methods().Len() {
		method := service.Methods().Get(n)
		if method.IsStreamingServer() || method.IsStreamingClient() {
			desc.Streams = append(desc.Streams, grpc.StreamDesc{
				StreamName: string(method.Name()), ServerStreams: method.IsStreamingServer(),
				ClientStreams: method.IsStreamingClient(), Handler: s.stream(method),
			})
			continue
		}
		desc.Methods = append(desc.Methods, grpc.MethodDesc{MethodName: string(method.Name()), Handler: s.unary(method)})
	}
	server := grpc.NewServer(interceptors.ServerOptions()...)
	server.RegisterService(desc, struct{}{})
	listener := bufconn.Listen(1 << 20)
	go func() { _ = server.Serve(listener) }()
	client, err := grpc.NewClient("passthrough:///bufconn", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.Close()
		server.Stop()
	})
	s.client = client
	return s
}

func (s *served) unary(method protoreflect.MethodDescriptor) grpc.MethodHandler {
	return func(_ any, ctx context.Context, decode func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
		request := dynamicpb.NewMessage(method.Input())
		if err := decode(request); err != nil {
			return nil, err
		}
		info := &grpc.UnaryServerInfo{FullMethod: fullName(method)}
		return intercept(ctx, request, info, func(ctx context.Context, _ any) (any, error) {
			s.calls++
			s.caller = guard.Caller(ctx)
			return dynamicpb.NewMessage(method.Output()), nil
		})
	}
}

func (s *served) stream(method protoreflect.MethodDescriptor) grpc.StreamHandler {
	return func(_ any, stream grpc.ServerStream) error {
		if !method.IsStreamingClient() {
			if err := stream.RecvMsg(dynamicpb.NewMessage(method.Input())); err != nil {
				return err
			}
		}
		s.calls++
		s.caller = guard.Caller(stream.Context())
		return stream.SendMsg(dynamicpb.NewMessage(method.Output()))
	}
}

func fullName(method protoreflect.MethodDescriptor) string {
	return "/" + string(method.Parent().FullName()) + "/" + string(method.Name())
}

// call calls the method and returns what the caller is told.
func (s *served) call(t *testing.T, method protoreflect.MethodDescriptor, headers []string, fields map[string]string) vectors.Outcome {
	ctx := context.Background()
	for _, header := range headers {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", header)
	}
	request := dynamicpb.NewMessage(method.Input())
	for path, value := range fields {
		setField(request, path, value)
	}
	var trailer metadata.MD
	var err error
	if method.IsStreamingServer() {
		trailer, err = s.callStream(ctx, method, request)
	} else {
		err = s.client.Invoke(ctx, fullName(method), request, dynamicpb.NewMessage(method.Output()), grpc.Trailer(&trailer))
	}
	if err == nil {
		return vectors.Allowed(s.caller)
	}
	return outcomeOf(t, err, trailer)
}

func (s *served) callStream(
	ctx context.Context, method protoreflect.MethodDescriptor, request *dynamicpb.Message,
) (metadata.MD, error) {
	desc := &grpc.StreamDesc{ServerStreams: true, ClientStreams: method.IsStreamingClient()}
	stream, err := s.client.NewStream(ctx, desc, fullName(method))
	if err != nil {
		return nil, err
	}
	if err := stream.SendMsg(request); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if err := stream.CloseSend(); err != nil {
		return nil, err
	}
	for {
		err := stream.RecvMsg(dynamicpb.NewMessage(method.Output()))
		if errors.Is(err, io.EOF) {
			return stream.Trailer(), nil
		}
		if err != nil {
			return stream.Trailer(), err
		}
	}
}

func outcomeOf(t *testing.T, err error, trailer metadata.MD) vectors.Outcome {
	told := status.Convert(err)
	outcome := vectors.Outcome{Metadata: map[string]string{}}
	for _, detail := range told.Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			if detail.Domain != "signet" {
				t.Fatalf("domain %q", detail.Domain)
			}
			outcome.Reason = detail.Reason
			for name, value := range detail.Metadata {
				outcome.Metadata[name] = value
			}
		case *authzv1.Denial:
			outcome.Status, outcome.Message = int(detail.StatusCode), detail.SafeMessage
			if detail.Reason.String() != outcome.Reason || detail.SafeMessage != told.Message() {
				t.Fatalf("ErrorInfo and Denial differ: %v", told)
			}
		}
	}
	want := map[int]codes.Code{
		401: codes.Unauthenticated, 403: codes.PermissionDenied, 404: codes.Unimplemented, 500: codes.Internal,
		503: codes.Unavailable,
	}[outcome.Status]
	if told.Code() != want {
		t.Fatalf("code %v for status %d (%v)", told.Code(), outcome.Status, err)
	}
	if challenge := trailer.Get("www-authenticate"); len(challenge) > 0 {
		outcome.Challenge = &challenge[0]
	}
	return outcome
}

// TestDecisionsOverGRPC decides every case behind gRPC, with the requirement in the method's option.
func TestDecisionsOverGRPC(t *testing.T) {
	w := vectors.ReadDecisions(t)
	for _, one := range w.Cases {
		t.Run(one.Requirement+": "+one.Situation, func(t *testing.T) {
			situation := w.Situations[one.Situation]
			service := serviceWith(t, wireOf(w.Requirements[one.Requirement]))
			interceptors, err := grpcguard.New(w.Guard(t, situation), grpcguard.Options{
				EndpointOptions: guard.EndpointOptions{FindResource: w.FindResource},
				Descriptors:     []protoreflect.ServiceDescriptor{service},
			})
			if err != nil {
				t.Fatal(err)
			}
			s := serve(t, interceptors, service)
			for n := range service.Methods().Len() {
				method := service.Methods().Get(n)
				s.calls, s.caller = 0, nil
				got := s.call(t, method, w.Authorization(situation), situation.Request)
				if !reflect.DeepEqual(got, one.Expected) {
					t.Fatalf("%s: got %+v, want %+v", method.Name(), got, one.Expected)
				}
				if (s.calls == 1) != one.Expected.Allow {
					t.Fatalf("%s: the handler was called %d times", method.Name(), s.calls)
				}
			}
		})
	}
}
