// Package grpcguard protects gRPC services with a guard: it reads what each method asks of its callers from the contract.
package grpcguard

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"signet.dev/guard"
)

// Options configures [New].
type Options struct {
	guard.EndpointOptions
	// Services are those that the server has: every method of theirs carries (signet.authz.v1.requires).
	Services []*grpc.ServiceDesc
	// Descriptors are services whose stubs are not in the program's registry.
	Descriptors []protoreflect.ServiceDescriptor
	// Requirements are for methods of services by others, by full name: "/grpc.health.v1.Health/Check". A requirement
	// here may read metadata only.
	Requirements map[string]guard.Requirement
}

// Interceptors refuse calls that do not meet what their method asks, and calls of methods that are not known.
type Interceptors struct {
	endpoints map[string]*guard.Endpoint
}

// New returns an error for a method without a requirement, and for one whose requirement cannot be checked: such a
// program must not start.
func New(g *guard.Guard, options Options) (*Interceptors, error) {
	services := append([]protoreflect.ServiceDescriptor(nil), options.Descriptors...)
	for _, service := range options.Services {
		found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service.ServiceName))
		if err != nil {
			return nil, fmt.Errorf("grpcguard: %s: %w", service.ServiceName, err)
		}
		descriptor, ok := found.(protoreflect.ServiceDescriptor)
		if !ok {
			return nil, fmt.Errorf("grpcguard: %s is not a service", service.ServiceName)
		}
		services = append(services, descriptor)
	}
	i := &Interceptors{endpoints: map[string]*guard.Endpoint{}}
	for _, service := range services {
		for n := range service.Methods().Len() {
			if err := i.add(g, service.Methods().Get(n), options.EndpointOptions); err != nil {
				return nil, fmt.Errorf("grpcguard: %w", err)
			}
		}
	}
	for name, requirement := range options.Requirements {
		if i.endpoints[name] != nil {
			return nil, fmt.Errorf("grpcguard: %s has a requirement in its contract", name)
		}
		endpoint, err := g.Endpoint(requirement, options.EndpointOptions, headersAlone)
		if err != nil {
			return nil, fmt.Errorf("grpcguard: %s: %w", name, err)
		}
		i.endpoints[name] = endpoint
	}
	if len(i.endpoints) == 0 {
		return nil, errors.New("grpcguard: no services")
	}
	return i, nil
}

func (i *Interceptors) add(g *guard.Guard, method protoreflect.MethodDescriptor, options guard.EndpointOptions) error {
	requirement, err := RequirementOf(method)
	if err != nil {
		return err
	}
	endpoint, err := g.Endpoint(requirement, options, readableBy(method))
	if err != nil {
		return fmt.Errorf("%s: %w", method.FullName(), err)
	}
	i.endpoints[fmt.Sprintf("/%s/%s", method.Parent().FullName(), method.Name())] = endpoint
	return nil
}

func headersAlone(from guard.Source, field string) error {
	if from == guard.FromHeader && headerPattern.MatchString(field) {
		return nil
	}
	return fmt.Errorf("%s has no field %q here", from, field)
}

// ServerOptions are for grpc.NewServer.
func (i *Interceptors) ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{grpc.ChainUnaryInterceptor(i.Unary), grpc.ChainStreamInterceptor(i.Stream)}
}

// admit returns the context of a call that may go on. The message is nil for a stream of requests.
func (i *Interceptors) admit(
	ctx context.Context, method string, message proto.Message, setTrailer func(metadata.MD),
) (context.Context, error) {
	caller, err := i.decide(ctx, method, message)
	if err == nil {
		if caller == nil {
			return ctx, nil
		}
		return guard.WithCaller(ctx, caller), nil
	}
	var denial *guard.Denial
	if errors.As(err, &denial) && denial.Challenge() != "" {
		setTrailer(metadata.Pairs("www-authenticate", denial.Challenge()))
	}
	return nil, Error(err)
}

func (i *Interceptors) decide(ctx context.Context, method string, message proto.Message) (*guard.AuthContext, error) {
	endpoint := i.endpoints[method]
	if endpoint == nil {
		return nil, guard.NewDenial(guard.ReasonMethodUnknown, nil)
	}
	headers, _ := metadata.FromIncomingContext(ctx)
	return endpoint.Decide(ctx, headers.Get("authorization"), func() guard.ReadValue {
		return func(from guard.Source, field string) string {
			if from == guard.FromHeader {
				return strings.Join(headers.Get(field), ", ")
			}
			if message == nil {
				return ""
			}
			return textAt(message.ProtoReflect(), field)
		}
	})
}

// Unary is a grpc.UnaryServerInterceptor.
func (i *Interceptors) Unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	message, _ := req.(proto.Message)
	admitted, err := i.admit(ctx, info.FullMethod, message, func(trailer metadata.MD) {
		_ = grpc.SetTrailer(ctx, trailer)
	})
	if err != nil {
		return nil, err
	}
	return next(admitted, req)
}

// Stream is a grpc.StreamServerInterceptor. A call with one request is decided when the request is read, before the
// handler sees it; a stream of requests is decided at once.
func (i *Interceptors) Stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	guarded := &guardedStream{ServerStream: stream, interceptors: i, method: info.FullMethod}
	endpoint := i.endpoints[info.FullMethod]
	if info.IsClientStream || endpoint == nil || endpoint.IsPublic() {
		if err := guarded.admit(nil); err != nil {
			return err
		}
	}
	return next(srv, guarded)
}

type guardedStream struct {
	grpc.ServerStream
	interceptors *Interceptors
	method       string
	// admitted is the call's context; nil before the decision.
	admitted context.Context
}

func (s *guardedStream) admit(message proto.Message) error {
	admitted, err := s.interceptors.admit(s.ServerStream.Context(), s.method, message, s.ServerStream.SetTrailer)
	s.admitted = admitted
	return err
}

// RecvMsg implements grpc.ServerStream.
func (s *guardedStream) RecvMsg(m any) error {
	if err := s.ServerStream.RecvMsg(m); err != nil || s.admitted != nil {
		return err
	}
	message, _ := m.(proto.Message)
	return s.admit(message)
}

// SendMsg implements grpc.ServerStream. A handler that answers before it has read the request is refused.
func (s *guardedStream) SendMsg(m any) error {
	if s.admitted == nil {
		return Error(guard.NewDenial(guard.ReasonInternal, nil))
	}
	return s.ServerStream.SendMsg(m)
}

// Context implements grpc.ServerStream.
func (s *guardedStream) Context() context.Context {
	if s.admitted != nil {
		return s.admitted
	}
	return s.ServerStream.Context()
}
