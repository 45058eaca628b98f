package guard

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"time"
)

// Kind is what a principal is.
type Kind string

// The kinds of principals. Agent and Actor are reserved: no access token has them today.
const (
	User    Kind = "USER"
	Service Kind = "SERVICE"
	Agent   Kind = "AGENT"
	Actor   Kind = "ACTOR"
)

// Method is how a caller came by its token.
type Method string

// The methods. A token that a guard verifies has one of the first four.
const (
	UserSession         Method = "USER_SESSION"
	ClientCredentials   Method = "CLIENT_CREDENTIALS"
	PersonalAccessToken Method = "PERSONAL_ACCESS_TOKEN"
	OnBehalfOf          Method = "ON_BEHALF_OF"
)

// PrincipalRef is a principal, by id (prn_…) and kind.
type PrincipalRef struct {
	ID   string
	Kind Kind
}

// Set is a set of names. It does not change.
type Set struct{ members []string }

// NewSet returns a set of the names, in their order.
func NewSet(members ...string) Set {
	set := Set{members: make([]string, 0, len(members))}
	for _, member := range members {
		if !set.Has(member) {
			set.members = append(set.members, member)
		}
	}
	return set
}

// Has reports whether the name is in the set.
func (s Set) Has(name string) bool { return slices.Contains(s.members, name) }

// Len returns how many names are in the set.
func (s Set) Len() int { return len(s.members) }

// All returns the names in their order.
func (s Set) All() iter.Seq[string] { return slices.Values(s.members) }

// Slice returns a copy of the names in their order.
func (s Set) Slice() []string { return slices.Clone(s.members) }

// String returns the names with a space between.
func (s Set) String() string { return strings.Join(s.members, " ") }

// MarshalJSON writes the names as a list.
func (s Set) MarshalJSON() ([]byte, error) { return json.Marshal(append([]string{}, s.members...)) }

// Delegation is what a service was allowed to do for a user.
type Delegation struct {
	// Actor is the service that acts.
	Actor PrincipalRef
	// ActorClientID is the acting service's client id, by which requirements may name it.
	ActorClientID string
	JobID         string
	// OriginSessionID is the user's session that the delegation came from; empty for a standing delegation.
	OriginSessionID string
	ExpiresAt       time.Time
	// Depth is how many services stand between the user and the caller: 1 for one.
	Depth int
}

// AuthContext is who is calling: signet.authz.v1.AuthContext. What is absent is empty or zero. Each call has its own
// copy, so that a handler which changes it changes nothing for others.
type AuthContext struct {
	Principal  PrincipalRef
	IdentityID string
	AppID      string
	TenantID   string
	ContextID  string
	SessionID  string
	// DeviceID is the device that the session is bound to.
	DeviceID     string
	TokenID      string
	CredentialID string
	Issuer       string
	Audience     string
	Scopes       Set
	Method       Method
	// Delegation is nil unless a service acts for the principal.
	Delegation *Delegation
	// AuthTime is when the user signed in; zero for services.
	AuthTime  time.Time
	IssuedAt  time.Time
	ExpiresAt time.Time
	// PermVer is the version of the principal's permissions in the app.
	PermVer int64

	versions versions
	source   *source
	// grants is nil where they are not loaded.
	grants *Grants
}

// Grants are keys of what a caller holds in its token's app, tenant and context.
type Grants struct {
	// Roles are held in all of that place: a role on a single resource is not among them.
	Roles Set
	// Permissions are held there or on a resource there, as far as the token's scopes let them be used.
	Permissions Set
}

// Grants returns the caller's roles and permissions, and whether they are loaded: no token carries them. What is not
// loaded is not "none": [Guard.LoadGrants] loads it.
func (c *AuthContext) Grants() (grants Grants, loaded bool) {
	if c.grants == nil {
		return Grants{}, false
	}
	return *c.grants, true
}

// source is behind a pointer, so that printing a context prints neither.
type source struct{ token, payload string }

// versions are what PermVer is the sum of.
type versions struct{ principal, policy int64 }

// Claims returns the verified claims as they are in the token: a fresh copy, whose numbers are json.Number.
func (c *AuthContext) Claims() map[string]any {
	claims, err := parseObject([]byte(c.source.payload))
	if err != nil {
		return map[string]any{}
	}
	return claims
}

// RawClaims returns the verified claims as the JSON text that was signed.
func (c *AuthContext) RawClaims() json.RawMessage { return json.RawMessage(c.source.payload) }

// session returns the session whose end ends the token: for a delegated one, that of the user who delegated.
func (c *AuthContext) session() string {
	if c.SessionID == "" && c.Delegation != nil {
		return c.Delegation.OriginSessionID
	}
	return c.SessionID
}

// copyFor returns the caller's own copy, with the token that it came with.
func (c *AuthContext) copyFor(token string) *AuthContext {
	own := *c
	if c.Delegation != nil {
		delegation := *c.Delegation
		own.Delegation = &delegation
	}
	own.source = &source{token: token, payload: c.source.payload}
	return &own
}

func (c *AuthContext) withGrants(grants Grants) *AuthContext {
	own := *c
	own.grants = &grants
	return &own
}

type callerKey struct{}

// WithCaller returns a context that carries the caller: for transports that this module does not have.
func WithCaller(ctx context.Context, caller *AuthContext) context.Context {
	return context.WithValue(ctx, callerKey{}, caller)
}

// Caller returns who is calling. It is nil in a public endpoint, and where a request carries its own credential and no
// valid token.
func Caller(ctx context.Context) *AuthContext {
	caller, _ := ctx.Value(callerKey{}).(*AuthContext)
	return caller
}
