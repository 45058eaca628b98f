package guard

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"
)

// Source is where a request names a tenant or a resource.
type Source string

// The sources. FromGraph is known to the contract; a target of this module that cannot read it refuses to start.
const (
	FromPath   Source = "PATH"
	FromBody   Source = "BODY"
	FromHeader Source = "HEADER"
	FromToken  Source = "TOKEN"
	FromGraph  Source = "GRAPH"
)

// OnStale is what a verifier does when it does not know recent revocations.
type OnStale string

// Deny answers 401 REVOCATION_STATE_STALE, Introspect asks the issuer about this token, Allow goes on.
const (
	Deny       OnStale = "DENY"
	Introspect OnStale = "INTROSPECT"
	Allow      OnStale = "ALLOW"
)

// Freshness is how old the knowledge of revocations may be, and what happens when it is older.
type Freshness struct {
	MaxStaleness time.Duration
	OnStale      OnStale
}

type checkKind int

const (
	checkNone checkKind = iota
	checkPublic
	checkBodyCredential
	checkScope
	checkAction
	checkRole
	checkResourceAction
	checkKinds
	checkTenant
	checkDelegated
	checkDevice
	checkAnyOf
	checkAllOf
)

// Requirement is what an endpoint asks of its caller: signet.authz.v1.AuthRequirement. The functions of this package
// build one; methods return a changed copy. The zero Requirement is refused at start.
type Requirement struct {
	is checkKind
	// name is the scope, the action or the role.
	name         string
	resourceType string
	from         Source
	field        string
	kinds        []Kind
	actors       []string
	proof        bool
	of           []Requirement

	freshness      *Freshness
	maxAuthAge     time.Duration
	allowDelegated bool
}

// Public asks nothing. No credential is looked at, so that a stale one cannot stop a sign-in.
func Public() Requirement { return Requirement{is: checkPublic} }

// BodyCredential is for requests that carry their own credential, which the handler verifies. A valid bearer token that
// comes along is used.
func BodyCredential() Requirement { return Requirement{is: checkBodyCredential} }

// Scope asks for a token with this scope.
func Scope(scope string) Requirement { return Requirement{is: checkScope, name: scope} }

// Action asks that the caller is granted this action (service.resource.verb) somewhere in the app.
func Action(action string) Requirement { return Requirement{is: checkAction, name: action} }

// Role asks that the caller holds the role with this key in the token's app, tenant and context. The token's scopes do
// not narrow a role: ask for a [Scope] beside it, or any token of the caller will do.
func Role(key string) Requirement { return Requirement{is: checkRole, name: key} }

// ActionOn asks that the caller is granted this action on the resource of that type that the request names.
func ActionOn(action, resourceType string, from Source, field string) Requirement {
	return Requirement{is: checkResourceAction, name: action, resourceType: resourceType, from: from, field: field}
}

// Kinds asks for a principal of one of these kinds.
func Kinds(kinds ...Kind) Requirement { return Requirement{is: checkKinds, kinds: slices.Clone(kinds)} }

// Tenant asks that the token belongs to the tenant that the request names.
func Tenant(from Source, field string) Requirement {
	return Requirement{is: checkTenant, from: from, field: field}
}

// TenantOfToken asks that the token belongs to a tenant.
func TenantOfToken() Requirement { return Requirement{is: checkTenant, from: FromToken} }

// Delegated asks that one of these services acts for a user: principal ids or client ids.
func Delegated(actors ...string) Requirement {
	return Requirement{is: checkDelegated, actors: slices.Clone(actors)}
}

// Device asks for a token that is bound to a device of the user's.
func Device() Requirement { return Requirement{is: checkDevice} }

// DeviceProven asks that the device proves that it makes this call. No target of this module can check that: each
// refuses to start with it.
func DeviceProven() Requirement { return Requirement{is: checkDevice, proof: true} }

// AnyOf asks that at least one part holds; order decides only which reason is told.
func AnyOf(parts ...Requirement) Requirement {
	return Requirement{is: checkAnyOf, of: slices.Clone(parts)}
}

// AllOf asks that each part holds; order decides only which reason is told.
func AllOf(parts ...Requirement) Requirement {
	return Requirement{is: checkAllOf, of: slices.Clone(parts)}
}

// AllowDelegated takes a token with an actor although no Delegated check names the actor.
func (r Requirement) AllowDelegated() Requirement {
	r.allowDelegated = true
	return r
}

// MaxAuthAge asks that the user signed in at most this long ago (RFC 9470), in whole seconds.
func (r Requirement) MaxAuthAge(age time.Duration) Requirement {
	r.maxAuthAge = age
	return r
}

// Fresh asks for knowledge of revocations that is at most so old.
func (r Requirement) Fresh(freshness Freshness) Requirement {
	r.freshness = &freshness
	return r
}

// asksPermissions reports whether scopes alone may not decide.
func (r Requirement) asksPermissions() bool {
	return slices.ContainsFunc(r.checks(), func(check Requirement) bool {
		return check.is == checkAction || check.is == checkRole || check.is == checkResourceAction
	})
}

// readsBody reports whether a target has to read the body for the requirement.
func (r Requirement) readsBody() bool {
	return slices.ContainsFunc(r.checks(), func(check Requirement) bool {
		return (check.is == checkTenant || check.is == checkResourceAction) && check.from == FromBody
	})
}

// checks returns every single check, in the order of declaration.
func (r Requirement) checks() []Requirement {
	if r.is != checkAnyOf && r.is != checkAllOf {
		return []Requirement{r}
	}
	var checks []Requirement
	for _, part := range r.of {
		checks = append(checks, part.checks()...)
	}
	return checks
}

// Readable returns an error where a target cannot read the field at the source.
type Readable func(from Source, field string) error

var actionPattern = regexp.MustCompile(`\A[a-z0-9_-]+\.[a-z0-9_-]+\.[a-z0-9_-]+\z`)

// check returns what is wrong with the requirement, found before the first call.
func (r Requirement) check(readable Readable, inComposite bool) error {
	if err := r.checkOptions(); err != nil {
		return err
	}
	switch r.is {
	case checkPublic, checkBodyCredential:
		if inComposite {
			return errors.New("public or body_credential inside a composite")
		}
	case checkAnyOf, checkAllOf:
		if len(r.of) == 0 {
			return errors.New("an empty any_of or all_of")
		}
		for _, part := range r.of {
			if err := part.check(readable, true); err != nil {
				return err
			}
		}
	case checkTenant:
		if r.from == FromToken {
			if r.field != "" {
				return errors.New("the token's tenant has no field")
			}
			return nil
		}
		return readable(r.from, r.field)
	case checkResourceAction:
		if !actionPattern.MatchString(r.name) || r.resourceType == "" {
			return fmt.Errorf("%q must have the form service.resource.verb, with a resource type", r.name)
		}
		if r.from == FromToken {
			return errors.New("a token names no resource")
		}
		return readable(r.from, r.field)
	case checkAction:
		if !actionPattern.MatchString(r.name) {
			return fmt.Errorf("%q must have the form service.resource.verb", r.name)
		}
	case checkScope:
		if r.name == "" {
			return errors.New("an empty scope")
		}
	case checkRole:
		if r.name == "" {
			return errors.New("an empty role")
		}
	case checkKinds:
		if len(r.kinds) == 0 || slices.ContainsFunc(r.kinds, isUnknownKind) {
			return errors.New("kinds must have at least one kind, and only known ones")
		}
	case checkDelegated:
		if len(r.actors) == 0 || slices.Contains(r.actors, "") {
			return errors.New("delegated must have at least one actor, and no empty one")
		}
	case checkDevice:
		if r.proof {
			return errors.New("this guard cannot verify a device proof")
		}
	default:
		return errors.New("a requirement must have a check")
	}
	return nil
}

func (r Requirement) checkOptions() error {
	isOpen := r.is == checkPublic || r.is == checkBodyCredential
	if isOpen && (r.freshness != nil || r.maxAuthAge != 0) {
		return errors.New("public and body_credential use no token, so they cannot have freshness")
	}
	if r.maxAuthAge < 0 || r.maxAuthAge%time.Second != 0 {
		return errors.New("max_auth_age is negative, or not in whole seconds")
	}
	return r.checkFreshness()
}

func (r Requirement) checkFreshness() error {
	if r.freshness == nil {
		return nil
	}
	if r.freshness.MaxStaleness < 0 {
		return errors.New("a negative max_staleness")
	}
	if on := r.freshness.OnStale; on != Deny && on != Introspect && on != Allow {
		return fmt.Errorf("unknown on_stale %q", on)
	}
	return nil
}

func isUnknownKind(kind Kind) bool {
	return kind != User && kind != Service && kind != Agent && kind != Actor
}
