package grpcguard

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"signet.dev/guard"
	authzv1 "signet.dev/guard/gen/signet/authz/v1"
)

// RequirementOf returns what the method's option (signet.authz.v1.requires) asks of its callers. A method that says
// nothing, or something that cannot be read, is an error.
func RequirementOf(method protoreflect.MethodDescriptor) (guard.Requirement, error) {
	if !proto.HasExtension(method.Options(), authzv1.E_Requires) {
		return guard.Requirement{}, fmt.Errorf("%s: no (signet.authz.v1.requires)", method.FullName())
	}
	wire, _ := proto.GetExtension(method.Options(), authzv1.E_Requires).(*authzv1.AuthRequirement)
	requirement, err := ParseRequirement(wire)
	if err != nil {
		return guard.Requirement{}, fmt.Errorf("%s: %w", method.FullName(), err)
	}
	return requirement, nil
}

// ParseRequirement returns the contract's message as a value. Whether a target can check it is found when the target is
// built.
func ParseRequirement(wire *authzv1.AuthRequirement) (guard.Requirement, error) {
	if wire == nil {
		return guard.Requirement{}, errors.New("a requirement must have a check")
	}
	requirement, err := parseCheck(wire)
	if err != nil {
		return guard.Requirement{}, err
	}
	// A newer contract may ask for more than is known here.
	if hasUnknown(wire.ProtoReflect()) {
		return guard.Requirement{}, errors.New("the requirement has a field that this guard does not support")
	}
	if wire.AllowDelegated {
		requirement = requirement.AllowDelegated()
	}
	if wire.MaxAuthAgeSeconds > 0 {
		requirement = requirement.MaxAuthAge(time.Duration(wire.MaxAuthAgeSeconds) * time.Second)
	}
	if wire.Freshness == nil {
		return requirement, nil
	}
	freshness, err := parseFreshness(wire.Freshness)
	return requirement.Fresh(freshness), err
}

// hasUnknown reports whether the message, or one in it, has a field that is not known here.
func hasUnknown(message protoreflect.Message) bool {
	found := len(message.GetUnknown()) > 0
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		if field.Message() != nil && !field.IsList() {
			found = found || hasUnknown(value.Message())
		}
		for n := 0; field.Message() != nil && field.IsList() && n < value.List().Len(); n++ {
			found = found || hasUnknown(value.List().Get(n).Message())
		}
		return !found
	})
	return found
}

func parseFreshness(wire *authzv1.Freshness) (guard.Freshness, error) {
	on, known := map[authzv1.Freshness_OnStale]guard.OnStale{
		authzv1.Freshness_ON_STALE_UNSPECIFIED: guard.Deny, authzv1.Freshness_DENY: guard.Deny,
		authzv1.Freshness_INTROSPECT: guard.Introspect, authzv1.Freshness_ALLOW: guard.Allow,
	}[wire.OnStale]
	switch {
	case !known:
		return guard.Freshness{}, fmt.Errorf("unknown on_stale %d", wire.OnStale)
	case wire.MaxStaleness == nil:
		return guard.Freshness{}, errors.New("freshness without max_staleness")
	}
	return guard.Freshness{MaxStaleness: wire.MaxStaleness.AsDuration(), OnStale: on}, nil
}

func parseCheck(wire *authzv1.AuthRequirement) (guard.Requirement, error) {
	switch check := wire.Check.(type) {
	case *authzv1.AuthRequirement_Public:
		if check.Public {
			return guard.Public(), nil
		}
		return guard.Requirement{}, errors.New("public is false: omit it")
	case *authzv1.AuthRequirement_BodyCredential:
		if check.BodyCredential {
			return guard.BodyCredential(), nil
		}
		return guard.Requirement{}, errors.New("body_credential is false: omit it")
	case *authzv1.AuthRequirement_Scope:
		return guard.Scope(check.Scope), nil
	case *authzv1.AuthRequirement_Action:
		return guard.Action(check.Action), nil
	case *authzv1.AuthRequirement_Role:
		return guard.Role(check.Role), nil
	case *authzv1.AuthRequirement_ResourceAction:
		from, err := parseSource(check.ResourceAction.From)
		on := check.ResourceAction
		return guard.ActionOn(on.Action, on.Type, from, on.Field), err
	case *authzv1.AuthRequirement_Kinds:
		var kinds []guard.Kind
		for _, kind := range check.Kinds.Of {
			// An unknown kind, and UNSPECIFIED, are refused when the target is built.
			kinds = append(kinds, guard.Kind(kind.String()))
		}
		return guard.Kinds(kinds...), nil
	case *authzv1.AuthRequirement_Tenant:
		from, err := parseSource(check.Tenant.From)
		return guard.Tenant(from, check.Tenant.Field), err
	case *authzv1.AuthRequirement_Delegated:
		return guard.Delegated(check.Delegated.Actors...), nil
	case *authzv1.AuthRequirement_Device:
		if check.Device.Proof {
			return guard.DeviceProven(), nil
		}
		return guard.Device(), nil
	case *authzv1.AuthRequirement_AnyOf:
		parts, err := parseParts(check.AnyOf)
		return guard.AnyOf(parts...), err
	case *authzv1.AuthRequirement_AllOf:
		parts, err := parseParts(check.AllOf)
		return guard.AllOf(parts...), err
	}
	return guard.Requirement{}, errors.New("the requirement has no check, or one that this guard does not support")
}

func parseParts(composite *authzv1.Composite) ([]guard.Requirement, error) {
	var parts []guard.Requirement
	for _, wire := range composite.GetOf() {
		part, err := ParseRequirement(wire)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, nil
}

func parseSource(wire authzv1.Source) (guard.Source, error) {
	from, known := map[authzv1.Source]guard.Source{
		authzv1.Source_PATH: guard.FromPath, authzv1.Source_BODY: guard.FromBody,
		authzv1.Source_HEADER: guard.FromHeader, authzv1.Source_TOKEN: guard.FromToken,
		authzv1.Source_GRAPH: guard.FromGraph,
	}[wire]
	if !known {
		return "", fmt.Errorf("unknown source %d", wire)
	}
	return from, nil
}

var headerPattern = regexp.MustCompile(`\A[a-z0-9-]+\z`)

// readableBy returns what a requirement of the method can read: fields of its message, and metadata.
func readableBy(method protoreflect.MethodDescriptor) guard.Readable {
	return func(from guard.Source, field string) error {
		switch from {
		case guard.FromHeader:
			if !headerPattern.MatchString(field) {
				return fmt.Errorf("%q is not a lower-case header", field)
			}
			return nil
		case guard.FromPath, guard.FromBody:
			// A path variable is a field of the message: the transcoder wrote it there.
			if method.IsStreamingClient() {
				return fmt.Errorf("%s: a client stream has no single request field", field)
			}
			_, err := fieldsOf(method.Input(), field)
			return err
		}
		return fmt.Errorf("an RPC has no %s", from)
	}
}

// fieldsOf returns the fields of a path with dots: messages, and a single text at its end.
func fieldsOf(input protoreflect.MessageDescriptor, path string) ([]protoreflect.FieldDescriptor, error) {
	var steps []protoreflect.FieldDescriptor
	at := input
	for _, name := range strings.Split(path, ".") {
		var field protoreflect.FieldDescriptor
		if at != nil {
			field = at.Fields().ByName(protoreflect.Name(name))
		}
		if field == nil {
			return nil, fmt.Errorf("%s has no field %q", input.FullName(), path)
		}
		if field.Cardinality() == protoreflect.Repeated {
			return nil, fmt.Errorf("%s: %q is not a singular string field", input.FullName(), path)
		}
		steps = append(steps, field)
		at = field.Message()
	}
	if steps[len(steps)-1].Kind() != protoreflect.StringKind {
		return nil, fmt.Errorf("%s: %q is not a singular string field", input.FullName(), path)
	}
	return steps, nil
}

// textAt returns the text at a path that fieldsOf has found; "" where it, or a message on the way to it, is not set.
func textAt(message protoreflect.Message, path string) string {
	steps, err := fieldsOf(message.Descriptor(), path)
	if err != nil {
		return ""
	}
	last := len(steps) - 1
	for _, step := range steps[:last] {
		if !message.Has(step) {
			return ""
		}
		message = message.Get(step).Message()
	}
	return message.Get(steps[last]).String()
}
