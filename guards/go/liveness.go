package guard

import (
	"context"
	"slices"
	"time"
)

// active is the one status in which an entity may act.
const active = "ACTIVE"

// SessionFacts is what is known of a session.
type SessionFacts struct {
	Status            string
	IdleExpiresAt     time.Time
	AbsoluteExpiresAt time.Time
}

// Facts is what is known of a caller beyond its token. A status that is not "ACTIVE" refuses the call; "" is a status
// that is not known.
type Facts struct {
	Principal string
	// Actor is the service that acts; it is looked at only for delegated tokens.
	Actor    string
	Identity string
	// Session is nil where there is none of that id.
	Session *SessionFacts
	// Membership may be "" for services, which need none.
	Membership string
	App        string
	// Tenant and Context are looked at only for tokens that have one.
	Tenant  string
	Context string
	// Revoked lists what was revoked: PRINCIPAL, SESSION, CREDENTIAL, TOKEN.
	Revoked []string
	// MinPrincipalVersion and MinPolicyVersion are the lowest versions of authority that count.
	MinPrincipalVersion int64
	MinPolicyVersion    int64
}

// Liveness is what is known of a caller, and since when.
type Liveness struct {
	Facts Facts
	AsOf  time.Time
}

// LivenessSource tells whether a caller's principal, session, credential and membership are active. An error means that
// nobody can tell, and the call is refused with UNAVAILABLE. A [RevocationFeed] is one.
type LivenessSource interface {
	Liveness(ctx context.Context, caller *AuthContext) (*Liveness, error)
}

// farAway is later than any token lives.
var farAway = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// aliveFacts are those of a caller of whom nothing bad is known.
func aliveFacts() Facts {
	return Facts{
		Principal: active, Actor: active, Identity: active,
		Session:    &SessionFacts{Status: active, IdleExpiresAt: farAway, AbsoluteExpiresAt: farAway},
		Membership: active, App: active, Tenant: active, Context: active,
	}
}

// inactivity returns why principal, identity, session, credential or token is not active (step 3).
func inactivity(caller *AuthContext, facts *Facts, now time.Time) Reason {
	isRevoked := func(kind string) bool { return slices.Contains(facts.Revoked, kind) }
	switch {
	case facts.Principal != active || isRevoked("PRINCIPAL"):
		return ReasonPrincipalInactive
	case caller.Delegation != nil && facts.Actor != active:
		return ReasonPrincipalInactive
	case caller.IdentityID != "" && facts.Identity != active:
		return ReasonIdentityInactive
	}
	if caller.session() != "" {
		if facts.Session == nil || facts.Session.Status != active || isRevoked("SESSION") {
			return ReasonSessionRevoked
		}
		if !now.Before(facts.Session.IdleExpiresAt) || !now.Before(facts.Session.AbsoluteExpiresAt) {
			return ReasonSessionExpired
		}
	}
	switch {
	case isRevoked("CREDENTIAL"):
		return ReasonCredentialRevoked
	case isRevoked("TOKEN"):
		return ReasonTokenRevoked
	case caller.versions.principal < facts.MinPrincipalVersion || caller.versions.policy < facts.MinPolicyVersion:
		return ReasonPermissionsStale
	}
	return ""
}

// displacement returns why the principal has no place in the app now (step 4). Services need no membership.
func displacement(caller *AuthContext, facts *Facts) Reason {
	isOpen := facts.App == active && (caller.TenantID == "" || facts.Tenant == active) &&
		(caller.ContextID == "" || facts.Context == active)
	switch {
	case !isOpen:
		return ReasonTenantSuspended
	case caller.Principal.Kind == Service && facts.Membership == "":
		return ""
	case facts.Membership != active:
		return ReasonMembershipInactive
	}
	return ""
}
