package guard

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// AnyApp is the AppID of a service that serves every app.
const AnyApp = "*"

// Options configures [New].
type Options struct {
	// Issuer is the iss that is taken, exactly.
	Issuer string
	// Audience is the aud that is taken: this service's own.
	Audience string
	// AppID is the app that the service belongs to: tokens of other apps are refused with APP_MISMATCH. A service of
	// every app says [AnyApp].
	AppID string
	// KeySet verifies access tokens: the issuer's /.well-known/jwks.json.
	KeySet KeySet
	// Revocations makes what the issuer revokes be refused within moments, and withdraws keys. Run it.
	Revocations *RevocationFeed
	// Liveness is asked at each call instead of Revocations. Without either, what is known is as old as the token.
	Liveness LivenessSource
	// Introspection is asked when a requirement wants fresher facts than there are.
	Introspection Introspector
	// Permissions is asked what the caller was granted, where scopes do not decide. Without it nobody is granted anything.
	Permissions PermissionSource
	// DefaultFreshness holds for requirements that say none: 60 s, then introspection, where it is nil. Without
	// Revocations and Liveness it is a token's whole life.
	DefaultFreshness *Freshness
	// CacheSize is how many verified tokens are remembered: 10,000 where it is 0, none where it is negative.
	CacheSize int
	// Now is the clock; time.Now where it is nil.
	Now func() time.Time
}

// Guard decides who is calling and whether they may.
type Guard struct {
	issuer, audience, appID string
	verifier                *jwtVerifier[*AuthContext]
	liveness                LivenessSource
	introspection           Introspector
	permissions             PermissionSource
	defaultFreshness        Freshness
	now                     func() time.Time
}

const defaultCacheSize = 10_000

// New returns a guard, or an error that names the option that is missing.
func New(options Options) (*Guard, error) {
	switch {
	case options.Issuer == "":
		return nil, errors.New("guard: Options.Issuer is empty")
	case options.Audience == "":
		return nil, errors.New("guard: Options.Audience is empty")
	case options.KeySet == nil:
		return nil, errors.New("guard: Options.KeySet is nil")
	}
	appID := options.AppID
	if _, ok := idOf("app", appID); !ok && appID != AnyApp {
		return nil, fmt.Errorf("guard: Options.AppID is %q: name the app (app_…) or guard.AnyApp", appID)
	}
	if appID == AnyApp {
		appID = ""
	}
	keys, liveness := options.KeySet, options.Liveness
	if options.Revocations != nil {
		keys = options.Revocations.WithoutRevoked(keys)
		if liveness == nil {
			liveness = options.Revocations
		}
	}
	freshness := Freshness{MaxStaleness: longestToken, OnStale: Introspect}
	if liveness != nil {
		freshness.MaxStaleness = time.Minute
	}
	if options.DefaultFreshness != nil {
		freshness = *options.DefaultFreshness
		if err := Public().Fresh(freshness).checkFreshness(); err != nil {
			return nil, fmt.Errorf("guard: Options.DefaultFreshness: %w", err)
		}
	}
	cacheSize := options.CacheSize
	if cacheSize == 0 {
		cacheSize = defaultCacheSize
	}
	now := clockOr(options.Now)
	return &Guard{
		issuer: options.Issuer, audience: options.Audience, appID: appID,
		verifier: newAccessTokenVerifier(verifierOptions{
			issuer: options.Issuer, audience: options.Audience, keys: keys, now: now, cacheSize: cacheSize,
		}),
		liveness: liveness, introspection: options.Introspection, permissions: options.Permissions,
		defaultFreshness: freshness, now: now,
	}, nil
}

// Authenticate returns who the Authorization headers, as sent, say is calling. No headers are no credential. Its error
// is a [*Denial].
func (g *Guard) Authenticate(ctx context.Context, authorization []string) (*AuthContext, error) {
	token, err := bearerToken(authorization)
	if err != nil {
		return nil, err
	}
	caller, err := g.verifier.verify(ctx, token)
	if err != nil {
		return nil, denialOf(err)
	}
	return caller.copyFor(token), nil
}

// authorize decides the call of a caller, or of a credential that was refused with notKnown.
func (g *Guard) authorize(
	ctx context.Context, caller *AuthContext, notKnown error, requirement Requirement, request requestFacts,
) (*AuthContext, *Denial) {
	switch requirement.is {
	case checkPublic:
		return nil, nil
	case checkBodyCredential:
		// Ending a session again is no error, so the handler is told who calls although the session may have ended.
		if notKnown != nil || !g.isOfApp(caller) || (caller.Delegation != nil && !requirement.allowDelegated) {
			return nil, nil
		}
		return caller, nil
	}
	if notKnown != nil {
		return nil, denialOf(notKnown)
	}
	request.appID = g.appID
	known := &call{caller: caller, request: request, now: g.now()}
	if g.liveness != nil {
		liveness, err := g.liveness.Liveness(ctx, caller)
		if err != nil {
			return nil, denialOf(unavailable(err))
		}
		known.liveness = liveness
	}
	admitted, denial := g.decideWhole(ctx, known, requirement)
	if denial == nil {
		return g.withHeld(ctx, admitted), nil
	}
	if !denial.introspect || g.introspection == nil {
		return admitted, denial
	}
	fresh, err := g.introspection.Introspect(ctx, caller, caller.source.token)
	if err != nil {
		return nil, denial
	}
	known.liveness, known.now = fresh, g.now()
	admitted, denial = g.decideWhole(ctx, known, requirement)
	if denial == nil {
		admitted = g.withHeld(ctx, admitted)
	}
	return admitted, denial
}

// LoadGrants returns the caller's roles and permissions: from memory, or asked of the issuer. For handlers whose caller
// does not have them, since its requirement did not need them. Its error is a [*Denial], or says that the guard has no
// Options.Permissions.
func (g *Guard) LoadGrants(ctx context.Context, caller *AuthContext) (Grants, error) {
	if g.permissions == nil {
		return Grants{}, errors.New("guard: LoadGrants requires Options.Permissions")
	}
	permissions, denial := g.permissionsOf(ctx, caller)
	if denial != nil {
		return Grants{}, denial
	}
	return permissions.heldAt(caller.Scopes, g.now(), placeOf(caller)), nil
}

// heldSource is a PermissionSource that can tell what is in memory: nil where the issuer would have to be asked.
type heldSource interface {
	heldPermissions(ctx context.Context, caller *AuthContext) *Permissions
}

// withHeld returns the caller with the grants that are in memory, where the decision did not need them.
func (g *Guard) withHeld(ctx context.Context, caller *AuthContext) *AuthContext {
	source, canTell := g.permissions.(heldSource)
	if !canTell || caller.grants != nil {
		return caller
	}
	permissions := source.heldPermissions(ctx, caller)
	if permissions == nil {
		return caller
	}
	return caller.withGrants(permissions.heldAt(caller.Scopes, g.now(), placeOf(caller)))
}

// permissionsOf asks what the caller was granted.
func (g *Guard) permissionsOf(ctx context.Context, caller *AuthContext) (*Permissions, *Denial) {
	permissions, err := g.permissions.Permissions(ctx, caller)
	if err == nil {
		return permissions, nil
	}
	var told *Denial
	if !errors.As(err, &told) {
		err = unavailable(err)
	}
	return nil, denialOf(err)
}

// isOfApp reports whether the caller's token is of the app that the service belongs to.
func (g *Guard) isOfApp(caller *AuthContext) bool { return g.appID == "" || g.appID == caller.AppID }

// decideWhole decides, and asks what was granted where that can change the decision.
func (g *Guard) decideWhole(ctx context.Context, known *call, requirement Requirement) (*AuthContext, *Denial) {
	denial := g.decide(known, requirement)
	// What fails before step 6 fails whatever was granted, and nothing that was granted takes away.
	if denial == nil || denial.step < 6 || !requirement.asksPermissions() || g.permissions == nil {
		return known.caller, denial
	}
	permissions, told := g.permissionsOf(ctx, known.caller)
	if told != nil {
		return nil, told
	}
	held := *known
	held.permissions = permissions
	held.caller = known.caller.withGrants(permissions.heldAt(held.caller.Scopes, held.now, placeOf(held.caller)))
	return held.caller, g.decide(&held, requirement)
}

// decide is the specification's algorithm from step 3 on: without a clock, a store or a network.
func (g *Guard) decide(known *call, requirement Requirement) *Denial {
	if known.caller.Issuer != g.issuer {
		return NewDenial(ReasonIssuerMismatch, nil)
	}
	if known.caller.Audience != g.audience {
		return NewDenial(ReasonAudienceMismatch, nil)
	}
	if known.liveness != nil {
		if reason := inactivity(known.caller, &known.liveness.Facts, known.now); reason != "" {
			return failed(3, reason, nil)
		}
	}
	denial, takesActor := evaluate(requirement, known, inherited{freshness: g.defaultFreshness})
	if denial != nil {
		return denial
	}
	// A token with an actor is taken only where something says so.
	if known.caller.Delegation != nil && !takesActor {
		return failed(8, ReasonActorNotAllowed, nil)
	}
	return nil
}
