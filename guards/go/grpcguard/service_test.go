package grpcguard_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/durationpb"

	authzv1 "signet.dev/guard/gen/signet/authz/v1"
	"signet.dev/guard/internal/vectors"
)

// serviceWith is a service whose methods ask for the requirement: One, which is unary, and Many, which streams answers.
// Their request has the fields tenant_id, note.id, count (a number) and many (a list). Nil leaves the option out.
func serviceWith(t *testing.T, requirement *authzv1.AuthRequirement, names ...string) protoreflect.ServiceDescriptor {
	t.Helper()
	options := &descriptorpb.MethodOptions{}
	if requirement != nil {
		proto.SetExtension(options, authzv1.E_Requires, requirement)
	}
	field := func(name string, number int32, kind descriptorpb.FieldDescriptorProto_Type) *descriptorpb.FieldDescriptorProto {
		return &descriptorpb.FieldDescriptorProto{
			Name: &name, Number: &number, Type: &kind, Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
		}
	}
	text, number, message := descriptorpb.FieldDescriptorProto_TYPE_STRING, descriptorpb.FieldDescriptorProto_TYPE_INT32,
		descriptorpb.FieldDescriptorProto_TYPE_MESSAGE
	note, many := field("note", 2, message), field("many", 4, text)
	note.TypeName = proto.String(".test.Note")
	many.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
	if len(names) == 0 {
		names = []string{"One", "Many"}
	}
	service := &descriptorpb.ServiceDescriptorProto{Name: proto.String("Service")}
	for _, name := range names {
		service.Method = append(service.Method, &descriptorpb.MethodDescriptorProto{
			Name: proto.String(name), InputType: proto.String(".test.Request"), OutputType: proto.String(".test.Response"),
			Options: options, ServerStreaming: proto.Bool(name == "Many" || name == "Both"),
			ClientStreaming: proto.Bool(name == "Both"),
		})
	}
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("test.proto"), Package: proto.String("test"), Syntax: proto.String("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{
			{Name: proto.String("Note"), Field: []*descriptorpb.FieldDescriptorProto{field("id", 1, text)}},
			{Name: proto.String("Request"), Field: []*descriptorpb.FieldDescriptorProto{
				field("tenant_id", 1, text), note, field("count", 3, number), many,
			}},
			{Name: proto.String("Response")},
		},
		Service: []*descriptorpb.ServiceDescriptorProto{service},
	}, protoregistry.GlobalFiles)
	if err != nil {
		t.Fatal(err)
	}
	return file.Services().Get(0)
}

// setField sets a text by its path.
func setField(message protoreflect.Message, path, value string) {
	names := strings.Split(path, ".")
	for _, name := range names[:len(names)-1] {
		field := message.Descriptor().Fields().ByName(protoreflect.Name(name))
		message = message.Mutable(field).Message()
	}
	field := message.Descriptor().Fields().ByName(protoreflect.Name(names[len(names)-1]))
	message.Set(field, protoreflect.ValueOfString(value))
}

var _ proto.Message = (*dynamicpb.Message)(nil)

// wireOf is a requirement as the method option has it.
func wireOf(r *vectors.Requirement) *authzv1.AuthRequirement {
	wire := &authzv1.AuthRequirement{AllowDelegated: r.AllowDelegated, MaxAuthAgeSeconds: uint32(r.MaxAuthAgeSeconds)}
	if r.Freshness != nil {
		wire.Freshness = &authzv1.Freshness{
			MaxStaleness: &durationpb.Duration{Seconds: r.Freshness.MaxStalenessMs / 1_000},
			OnStale:      authzv1.Freshness_OnStale(authzv1.Freshness_OnStale_value[string(r.Freshness.OnStale)]),
		}
	}
	from := authzv1.Source(authzv1.Source_value[string(r.From)])
	composite := func() *authzv1.Composite {
		parts := &authzv1.Composite{}
		for _, part := range r.Parts() {
			parts.Of = append(parts.Of, wireOf(part))
		}
		return parts
	}
	switch r.Is {
	case "public":
		wire.Check = &authzv1.AuthRequirement_Public{Public: true}
	case "bodyCredential":
		wire.Check = &authzv1.AuthRequirement_BodyCredential{BodyCredential: true}
	case "scope":
		wire.Check = &authzv1.AuthRequirement_Scope{Scope: r.Scope}
	case "action":
		wire.Check = &authzv1.AuthRequirement_Action{Action: r.Action}
	case "role":
		wire.Check = &authzv1.AuthRequirement_Role{Role: r.Role}
	case "resourceAction":
		wire.Check = &authzv1.AuthRequirement_ResourceAction{ResourceAction: &authzv1.ResourceAction{
			Action: r.Action, Type: r.Type, From: from, Field: r.Field,
		}}
	case "kinds":
		kinds := &authzv1.PrincipalKinds{}
		for _, kind := range r.Kinds() {
			kinds.Of = append(kinds.Of, authzv1.PrincipalKind(authzv1.PrincipalKind_value[string(kind)]))
		}
		wire.Check = &authzv1.AuthRequirement_Kinds{Kinds: kinds}
	case "tenant":
		wire.Check = &authzv1.AuthRequirement_Tenant{Tenant: &authzv1.TenantBound{From: from, Field: r.Field}}
	case "delegated":
		wire.Check = &authzv1.AuthRequirement_Delegated{Delegated: &authzv1.DelegatedActor{Actors: r.Actors}}
	case "device":
		wire.Check = &authzv1.AuthRequirement_Device{Device: &authzv1.DeviceBound{Proof: r.Proof}}
	case "anyOf":
		wire.Check = &authzv1.AuthRequirement_AnyOf{AnyOf: composite()}
	case "allOf":
		wire.Check = &authzv1.AuthRequirement_AllOf{AllOf: composite()}
	}
	return wire
}
