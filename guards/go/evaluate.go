package guard

import (
	"slices"
	"strconv"
	"time"
)

// call is one call whose caller is known, and what is known of it.
type call struct {
	caller *AuthContext
	// liveness is nil where nothing is known but that the token was issued.
	liveness *Liveness
	// permissions is nil where nobody asked, and then no permission is held.
	permissions *Permissions
	request     requestFacts
	now         time.Time
}

// requestFacts is what the request says and what the target found for it.
type requestFacts struct {
	// appID is the app that the target belongs to; "" where it serves every app.
	appID string
	// tenants are those that the request names, by source and field.
	tenants map[tenantKey]string
	// resources are those that the target found; what is missing was not found.
	resources map[resourceKey]*Resource
}

type tenantKey struct {
	from  Source
	field string
}

type resourceKey struct {
	kind  string
	from  Source
	field string
}

// inherited is what a composite hands down to its parts.
type inherited struct {
	freshness Freshness
	// maxAuthAge is 0 for however long ago.
	maxAuthAge time.Duration
}

// narrow returns what holds inside of a requirement: the least age that is asked for, and the nearest freshness.
func (i inherited) narrow(r Requirement) inherited {
	if r.freshness != nil {
		i.freshness = *r.freshness
	}
	if r.maxAuthAge > 0 && (i.maxAuthAge == 0 || r.maxAuthAge < i.maxAuthAge) {
		i.maxAuthAge = r.maxAuthAge
	}
	return i
}

// evaluate returns nil where the call meets the requirement, and then whether a token with an actor is taken, too.
func evaluate(r Requirement, of *call, options inherited) (denial *Denial, takesActor bool) {
	options = options.narrow(r)
	switch r.is {
	case checkScope, checkAction, checkRole, checkResourceAction, checkKinds, checkTenant, checkDelegated, checkDevice:
		if denial := failureOf(r, of, options); denial != nil {
			return denial, false
		}
		return nil, r.is == checkDelegated || r.allowDelegated
	case checkAnyOf:
		return anyOf(r, of, options)
	case checkAllOf:
		return allOf(r, of, options)
	}
	// A requirement that was not checked at start.
	return NewDenial(ReasonInternal, nil), false
}

// anyOf passes with any part; else it tells of the part that got furthest, the first of those that got equally far.
func anyOf(r Requirement, of *call, options inherited) (*Denial, bool) {
	var told *Denial
	hasPassed, takesActor, introspect := false, r.allowDelegated, false
	for _, part := range r.of {
		denial, takes := evaluate(part, of, options)
		if denial == nil {
			hasPassed, takesActor = true, takesActor || takes
			continue
		}
		introspect = introspect || denial.introspect
		if told == nil || denial.step > told.step {
			told = denial
		}
	}
	switch {
	case hasPassed:
		return nil, takesActor
	case told == nil:
		return NewDenial(ReasonInternal, nil), false
	}
	told.introspect = introspect
	return told, false
}

// allOf passes with all parts; else it tells of the part that failed at the earliest step, the first of those.
func allOf(r Requirement, of *call, options inherited) (*Denial, bool) {
	var told *Denial
	takesActor, introspect := r.allowDelegated, false
	for _, part := range r.of {
		denial, takes := evaluate(part, of, options)
		takesActor = takesActor || takes
		if denial == nil {
			continue
		}
		introspect = introspect || denial.introspect
		if told == nil || denial.step < told.step {
			told = denial
		}
	}
	switch {
	case len(r.of) == 0:
		return NewDenial(ReasonInternal, nil), false
	case told == nil:
		return nil, takesActor
	}
	told.introspect = introspect
	return told, false
}

func failed(step int, reason Reason, metadata map[string]string) *Denial {
	return &Denial{Reason: reason, TrueReason: reason, Metadata: metadata, step: step}
}

// failureOf returns the first step, 3 to 8, that the call fails for one check.
func failureOf(check Requirement, of *call, options inherited) *Denial {
	if denial := staleness(of, options.freshness); denial != nil {
		return denial
	}
	if check.is == checkDevice && of.caller.DeviceID == "" {
		return failed(3, ReasonDeviceRequired, nil)
	}
	if denial := wrongPlace(check, of); denial != nil {
		return denial
	}
	if check.is == checkKinds && !slices.Contains(check.kinds, of.caller.Principal.Kind) {
		return failed(5, ReasonPrincipalKindNotAllowed, nil)
	}
	if denial := missing(check, of); denial != nil {
		return denial
	}
	if denial := tooLongAgo(of, options.maxAuthAge); denial != nil {
		return denial
	}
	if denial := notGranted(check, of); denial != nil {
		return denial
	}
	return wrongActor(check, of)
}

// staleness: principal, session and credential were active when the token was issued; that is known at least.
func staleness(of *call, freshness Freshness) *Denial {
	asOf := of.caller.IssuedAt
	if of.liveness != nil {
		asOf = of.liveness.AsOf
	}
	if freshness.OnStale == Allow || of.now.Sub(asOf) <= freshness.MaxStaleness {
		return nil
	}
	denial := failed(3, ReasonRevocationStateStale, nil)
	denial.introspect = freshness.OnStale == Introspect
	return denial
}

func wrongPlace(check Requirement, of *call) *Denial {
	caller := of.caller
	if of.request.appID != "" && of.request.appID != caller.AppID {
		return failed(4, ReasonAppMismatch, nil)
	}
	if of.liveness != nil {
		if reason := displacement(caller, &of.liveness.Facts); reason != "" {
			return failed(4, reason, nil)
		}
	}
	switch check.is {
	case checkTenant:
		if caller.TenantID == "" {
			return failed(4, ReasonTenantRequired, nil)
		}
		if check.from != FromToken && of.request.tenants[tenantKey{check.from, check.field}] != caller.TenantID {
			return failed(4, ReasonTenantMismatch, nil)
		}
	case checkResourceAction:
		resource := of.request.resources[resourceKey{check.resourceType, check.from, check.field}]
		var problem Reason
		switch {
		case resource == nil || resource.Type != check.resourceType:
			problem = ReasonResourceUnresolved
		case resource.AppID != caller.AppID:
			problem = ReasonAppMismatch
		case resource.TenantID != caller.TenantID:
			problem = ReasonTenantMismatch
		case resource.ContextID != caller.ContextID:
			problem = ReasonContextMismatch
		default:
			return nil
		}
		// The same answer for somebody else's resource and for none, or the difference would tell which ids exist.
		denial := failed(4, ReasonResourceUnresolved, nil)
		denial.TrueReason = problem
		return denial
	}
	return nil
}

func missing(check Requirement, of *call) *Denial {
	switch check.is {
	case checkScope:
		if !of.caller.Scopes.Has(check.name) {
			return failed(6, ReasonMissingScope, map[string]string{"scope": check.name})
		}
	case checkRole:
		if of.permissions == nil || !of.permissions.hasRoleAt(of.now, check.name, placeOf(of.caller)) {
			return failed(6, ReasonMissingRole, map[string]string{"role": check.name})
		}
	case checkAction, checkResourceAction:
		if of.permissions == nil || !of.permissions.isHeldAt(of.caller.Scopes, of.now, check.name, placeOf(of.caller)) {
			return failed(6, ReasonMissingPermission, map[string]string{"permission": check.name})
		}
	}
	return nil
}

func tooLongAgo(of *call, maxAuthAge time.Duration) *Denial {
	if maxAuthAge == 0 {
		return nil
	}
	if at := of.caller.AuthTime; !at.IsZero() && of.now.Sub(at) <= maxAuthAge {
		return nil
	}
	seconds := strconv.FormatInt(int64(maxAuthAge/time.Second), 10)
	return failed(6, ReasonStepUpRequired, map[string]string{"max_age": seconds})
}

func notGranted(check Requirement, of *call) *Denial {
	if check.is != checkResourceAction {
		return nil
	}
	resource := of.request.resources[resourceKey{check.resourceType, check.from, check.field}]
	if resource != nil && of.permissions != nil &&
		of.permissions.isHeldOn(of.caller.Scopes, of.now, check.name, resource) {
		return nil
	}
	return failed(7, ReasonResourceNotGranted, nil)
}

func wrongActor(check Requirement, of *call) *Denial {
	delegation := of.caller.Delegation
	if delegation == nil {
		if check.is == checkDelegated {
			return failed(8, ReasonActorRequired, nil)
		}
		return nil
	}
	if check.is == checkDelegated && !slices.Contains(check.actors, delegation.Actor.ID) &&
		!slices.Contains(check.actors, delegation.ActorClientID) {
		return failed(8, ReasonActorNotAllowed, nil)
	}
	if !of.now.Before(delegation.ExpiresAt.Add(skew)) {
		return failed(8, ReasonDelegationExpired, nil)
	}
	return nil
}
