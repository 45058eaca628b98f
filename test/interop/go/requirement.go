package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	authzv1 "signet.example/notes/gen/signet/authz/v1"
)

var headerPattern = regexp.MustCompile(`^[a-z0-9-]+$`)

// requirementOf reads the method's option. A method that says nothing, or asks for what is not checked here, is refused.
func requirementOf(method protoreflect.MethodDescriptor) (*authzv1.AuthRequirement, error) {
	if !proto.HasExtension(method.Options(), authzv1.E_Requires) {
		return nil, fmt.Errorf("%s: no (signet.authz.v1.requires)", method.FullName())
	}
	requirement, _ := proto.GetExtension(method.Options(), authzv1.E_Requires).(*authzv1.AuthRequirement)
	if err := checkRequirement(requirement, method.Input(), false); err != nil {
		return nil, fmt.Errorf("%s: %w", method.FullName(), err)
	}
	return requirement, nil
}

// checkRequirement takes nil for the input where there is no message, as in the decision vectors.
func checkRequirement(r *authzv1.AuthRequirement, input protoreflect.MessageDescriptor, inComposite bool) error {
	if r.GetFreshness() != nil || r.GetMaxAuthAgeSeconds() > 0 || len(r.ProtoReflect().GetUnknown()) > 0 {
		return errors.New("an option that is not checked here")
	}
	switch check := r.GetCheck().(type) {
	case *authzv1.AuthRequirement_Public:
		if !check.Public || inComposite {
			return errors.New("public is true, and stands alone")
		}
	case *authzv1.AuthRequirement_Scope:
		if check.Scope == "" {
			return errors.New("an empty scope")
		}
	case *authzv1.AuthRequirement_Kinds:
		if len(check.Kinds.Of) == 0 || slices.Contains(check.Kinds.Of, authzv1.PrincipalKind_PRINCIPAL_KIND_UNSPECIFIED) {
			return errors.New("kinds without a kind")
		}
	case *authzv1.AuthRequirement_Tenant:
		return checkSource(check.Tenant, input)
	case *authzv1.AuthRequirement_AnyOf:
		return checkParts(check.AnyOf, input)
	case *authzv1.AuthRequirement_AllOf:
		return checkParts(check.AllOf, input)
	default:
		return errors.New("no check, or one that is not known here")
	}
	return nil
}

func checkParts(composite *authzv1.Composite, input protoreflect.MessageDescriptor) error {
	if len(composite.GetOf()) == 0 {
		return errors.New("an empty composite")
	}
	for _, part := range composite.Of {
		if err := checkRequirement(part, input, true); err != nil {
			return err
		}
	}
	return nil
}

func checkSource(tenant *authzv1.TenantBound, input protoreflect.MessageDescriptor) error {
	switch tenant.GetFrom() {
	case authzv1.Source_TOKEN:
		if tenant.Field != "" {
			return errors.New("the token's tenant has no field")
		}
	case authzv1.Source_HEADER:
		if !headerPattern.MatchString(tenant.Field) {
			return fmt.Errorf("%q is no header in lower case", tenant.Field)
		}
	case authzv1.Source_BODY, authzv1.Source_PATH:
		if input == nil {
			return nil
		}
		for i, name := range strings.Split(tenant.Field, ".") {
			if i > 0 && input == nil {
				return fmt.Errorf("no field %q", tenant.Field)
			}
			field := input.Fields().ByName(protoreflect.Name(name))
			if field == nil || field.Cardinality() == protoreflect.Repeated {
				return fmt.Errorf("no field %q", tenant.Field)
			}
			input = field.Message()
			if input == nil && field.Kind() != protoreflect.StringKind {
				return fmt.Errorf("%q is no text", tenant.Field)
			}
		}
		if input != nil {
			return fmt.Errorf("%q is no text", tenant.Field)
		}
	default:
		return errors.New("a tenant from nowhere")
	}
	return nil
}

// denial is why a call is refused; its step decides which of several is told.
type denial struct {
	step   int
	reason string
	scope  string
}

// metadata is what is told beside the reason.
func (d *denial) metadata() map[string]string {
	if d.scope == "" {
		return nil
	}
	return map[string]string{"scope": d.scope}
}

// authorize decides a verified call. tenantOf answers with the tenant that the request names.
func authorize(r *authzv1.AuthRequirement, who *authzv1.AuthContext, tenantOf func(*authzv1.TenantBound) string) *denial {
	denied, takesActor := evaluate(r, who, tenantOf)
	if denied == nil && who.Actor != nil && !takesActor {
		return &denial{step: 8, reason: "ACTOR_NOT_ALLOWED"}
	}
	return denied
}

func evaluate(
	r *authzv1.AuthRequirement, who *authzv1.AuthContext, tenantOf func(*authzv1.TenantBound) string,
) (*denial, bool) {
	switch check := r.GetCheck().(type) {
	case *authzv1.AuthRequirement_Scope:
		if !slices.Contains(who.Scopes, check.Scope) {
			return &denial{6, "MISSING_SCOPE", check.Scope}, false
		}
	case *authzv1.AuthRequirement_Kinds:
		if !slices.Contains(check.Kinds.Of, who.Principal.Kind) {
			return &denial{step: 5, reason: "PRINCIPAL_KIND_NOT_ALLOWED"}, false
		}
	case *authzv1.AuthRequirement_Tenant:
		if who.TenantId == "" {
			return &denial{step: 4, reason: "TENANT_REQUIRED"}, false
		}
		if check.Tenant.From != authzv1.Source_TOKEN && tenantOf(check.Tenant) != who.TenantId {
			return &denial{step: 4, reason: "TENANT_MISMATCH"}, false
		}
	case *authzv1.AuthRequirement_AnyOf:
		var furthest *denial
		passed, takesActor := false, r.AllowDelegated
		for _, part := range check.AnyOf.Of {
			denied, takes := evaluate(part, who, tenantOf)
			if denied == nil {
				passed, takesActor = true, takesActor || takes
			} else if furthest == nil || denied.step > furthest.step {
				furthest = denied
			}
		}
		if !passed {
			return furthest, false
		}
		return nil, takesActor
	case *authzv1.AuthRequirement_AllOf:
		var earliest *denial
		takesActor := r.AllowDelegated
		for _, part := range check.AllOf.Of {
			denied, takes := evaluate(part, who, tenantOf)
			takesActor = takesActor || takes
			if denied != nil && (earliest == nil || denied.step < earliest.step) {
				earliest = denied
			}
		}
		return earliest, takesActor
	default:
		return &denial{reason: "INTERNAL"}, false
	}
	return nil, r.AllowDelegated
}
