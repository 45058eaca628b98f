package grpcguard_test

import (
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"signet.dev/guard"
	authzv1 "signet.dev/guard/gen/signet/authz/v1"
	"signet.dev/guard/grpcguard"
	"signet.dev/guard/internal/vectors"
)

func scope(name string) *authzv1.AuthRequirement {
	return &authzv1.AuthRequirement{Check: &authzv1.AuthRequirement_Scope{Scope: name}}
}

func tenantFrom(from authzv1.Source, field string) *authzv1.AuthRequirement {
	return &authzv1.AuthRequirement{Check: &authzv1.AuthRequirement_Tenant{Tenant: &authzv1.TenantBound{From: from, Field: field}}}
}

func kinds(of ...authzv1.PrincipalKind) *authzv1.AuthRequirement {
	return &authzv1.AuthRequirement{Check: &authzv1.AuthRequirement_Kinds{Kinds: &authzv1.PrincipalKinds{Of: of}}}
}

func anyOf(of ...*authzv1.AuthRequirement) *authzv1.AuthRequirement {
	return &authzv1.AuthRequirement{Check: &authzv1.AuthRequirement_AnyOf{AnyOf: &authzv1.Composite{Of: of}}}
}

func TestAMethodThatCannotBeCheckedDoesNotStart(t *testing.T) {
	w := vectors.ReadDecisions(t)
	public := &authzv1.AuthRequirement{Check: &authzv1.AuthRequirement_Public{Public: true}}
	future := scope("notes.read")
	future.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 1))
	deeper := tenantFrom(authzv1.Source_BODY, "tenant_id")
	deeper.GetTenant().ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 1))
	for _, one := range []struct {
		name        string
		requirement *authzv1.AuthRequirement
		methods     []string
	}{
		{"without an option", nil, nil},
		{"without a check", &authzv1.AuthRequirement{}, nil},
		{"public is false", &authzv1.AuthRequirement{Check: &authzv1.AuthRequirement_Public{}}, nil},
		{"public in a composite", anyOf(public, scope("a")), nil},
		{"an empty composite", anyOf(), nil},
		{"an empty scope", scope(""), nil},
		{"no kinds", kinds(), nil},
		{"an unspecified kind", kinds(authzv1.PrincipalKind_PRINCIPAL_KIND_UNSPECIFIED), nil},
		{"an unknown kind", kinds(99), nil},
		{"an unknown source", tenantFrom(0, "tenant_id"), nil},
		{"a field that there is not", tenantFrom(authzv1.Source_BODY, "tenant"), nil},
		{"a field in a text", tenantFrom(authzv1.Source_BODY, "tenant_id.id"), nil},
		{"a message", tenantFrom(authzv1.Source_BODY, "note"), nil},
		{"a number", tenantFrom(authzv1.Source_BODY, "count"), nil},
		{"a list", tenantFrom(authzv1.Source_PATH, "many"), nil},
		{"a header in capitals", tenantFrom(authzv1.Source_HEADER, "X-Tenant"), nil},
		{"a graph", tenantFrom(authzv1.Source_GRAPH, "tenant"), nil},
		{"a field of a stream of requests", tenantFrom(authzv1.Source_BODY, "tenant_id"), []string{"Both"}},
		{"a device's proof", &authzv1.AuthRequirement{Check: &authzv1.AuthRequirement_Device{Device: &authzv1.DeviceBound{Proof: true}}}, nil},
		{"freshness without an age", &authzv1.AuthRequirement{
			Check: &authzv1.AuthRequirement_Scope{Scope: "a"}, Freshness: &authzv1.Freshness{},
		}, nil},
		{"an option of a newer contract", future, nil},
		{"an option of a newer contract, deeper", deeper, nil},
	} {
		service := serviceWith(t, one.requirement, one.methods...)
		options := grpcguard.Options{Descriptors: []protoreflect.ServiceDescriptor{service}}
		_, err := grpcguard.New(w.Guard(t, w.Situations["user"]), options)
		if err == nil || !strings.Contains(err.Error(), "test.Service.") {
			t.Errorf("%s: %v", one.name, err)
		}
	}
	if _, err := grpcguard.New(w.Guard(t, w.Situations["user"]), grpcguard.Options{}); err == nil {
		t.Error("no services: started")
	}
	options := grpcguard.Options{Services: []*grpc.ServiceDesc{{ServiceName: "unknown.Service"}}}
	if _, err := grpcguard.New(w.Guard(t, w.Situations["user"]), options); err == nil {
		t.Error("a service that is not registered: started")
	}
}

func TestAMethodThatIsNotKnownIsRefused(t *testing.T) {
	w := vectors.ReadDecisions(t)
	user := w.Situations["user"]
	known := serviceWith(t, scope("notes.read"), "One")
	interceptors, err := grpcguard.New(w.Guard(t, user), grpcguard.Options{Descriptors: []protoreflect.ServiceDescriptor{known}})
	if err != nil {
		t.Fatal(err)
	}
	all := serviceWith(t, scope("notes.read"), "One", "Two", "Many", "Both")
	s := serve(t, interceptors, all)
	for n, reason := range []string{"", "METHOD_UNKNOWN", "METHOD_UNKNOWN", "METHOD_UNKNOWN"} {
		got := s.call(t, all.Methods().Get(n), w.Authorization(user), nil)
		if got.Reason != reason || got.Allow != (reason == "") {
			t.Errorf("%s: %+v", all.Methods().Get(n).Name(), got)
		}
	}
	if s.calls != 1 {
		t.Errorf("handlers were called %d times", s.calls)
	}
}

func TestAStreamOfRequestsIsDecidedAtOnce(t *testing.T) {
	w := vectors.ReadDecisions(t)
	user := w.Situations["user"]
	for name, want := range map[string]string{"notes.read": "", "notes.write": "MISSING_SCOPE"} {
		service := serviceWith(t, scope(name), "Both")
		interceptors, err := grpcguard.New(w.Guard(t, user), grpcguard.Options{Descriptors: []protoreflect.ServiceDescriptor{service}})
		if err != nil {
			t.Fatal(err)
		}
		s := serve(t, interceptors, service)
		got := s.call(t, service.Methods().Get(0), w.Authorization(user), nil)
		if got.Reason != want || (s.calls == 1) != (want == "") || (s.caller != nil) != (want == "") {
			t.Errorf("%s: %+v, %d calls", name, got, s.calls)
		}
	}
}

func TestARequirementForServicesByOthers(t *testing.T) {
	w := vectors.ReadDecisions(t)
	g := w.Guard(t, w.Situations["user"])
	service := serviceWith(t, nil, "One")
	interceptors, err := grpcguard.New(g, grpcguard.Options{Requirements: map[string]guard.Requirement{"/test.Service/One": guard.Public()}})
	if err != nil {
		t.Fatal(err)
	}
	if got := serve(t, interceptors, service).call(t, service.Methods().Get(0), nil, nil); !got.Allow {
		t.Errorf("%+v", got)
	}
	own := serviceWith(t, scope("a"), "One")
	for name, options := range map[string]grpcguard.Options{
		"beside the contract's": {
			Descriptors:  []protoreflect.ServiceDescriptor{own},
			Requirements: map[string]guard.Requirement{"/test.Service/One": guard.Public()},
		},
		"of a field": {Requirements: map[string]guard.Requirement{"/a.B/C": guard.Tenant(guard.FromBody, "tenant_id")}},
	} {
		if _, err := grpcguard.New(g, options); err == nil {
			t.Errorf("%s: started", name)
		}
	}
}
