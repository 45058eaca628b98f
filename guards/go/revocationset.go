package guard

import (
	"sync"
	"time"
)

// revocation is one thing that verifiers must refuse.
type revocation struct {
	seq       int64
	name      revocationName
	expiresAt time.Time
	// issuedBefore: only tokens that were issued before this are refused; zero refuses every token.
	issuedBefore time.Time
	// minVersion is for AUTHORITY and POLICY.
	minVersion int64
}

// revocationName is what a later entry replaces an earlier one by.
type revocationName struct{ kind, key, app string }

var revocationKinds = map[string]bool{
	"TOKEN": true, "SESSION": true, "CREDENTIAL": true, "PRINCIPAL": true, "TENANT": true, "CONTEXT": true,
	"APP": true, "AUTHORITY": true, "POLICY": true, "KEY": true, "ISSUER_EPOCH": true,
}

// isOver: clocks may differ, so a token is taken for that long after it expired.
func (r *revocation) isOver(now time.Time) bool { return !now.Before(r.expiresAt.Add(skew)) }

// revocationSet holds what was revoked, bounded, until it has expired.
type revocationSet struct {
	capacity int
	mu       sync.RWMutex
	entries  map[revocationName]revocation
	sweptAt  time.Time
}

const sweepEvery = 10 * time.Second

func newRevocationSet(capacity int) *revocationSet {
	return &revocationSet{capacity: capacity, entries: map[revocationName]revocation{}}
}

// add returns false where there is no room: then the set knows less than there is.
func (s *revocationSet) add(added []revocation, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.sweptAt) > sweepEvery || len(s.entries)+len(added) > s.capacity {
		for name, entry := range s.entries {
			if entry.isOver(now) {
				delete(s.entries, name)
			}
		}
		s.sweptAt = now
	}
	for _, entry := range added {
		if entry.isOver(now) {
			continue
		}
		if _, known := s.entries[entry.name]; !known && len(s.entries) >= s.capacity {
			return false
		}
		s.entries[entry.name] = entry
	}
	return true
}

func (s *revocationSet) len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.entries)
}

func (s *revocationSet) find(kind, key, app string, now time.Time) (revocation, bool) {
	if key == "" {
		return revocation{}, false
	}
	entry, there := s.entries[revocationName{kind, key, app}]
	return entry, there && !entry.isOver(now)
}

func (s *revocationSet) isKeyRevoked(kid string, now time.Time) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, revoked := s.find("KEY", kid, "", now)
	return revoked
}

type reach int

const (
	reachNone reach = iota
	// reachBefore: the token was issued before an instant from which on others count.
	reachBefore
	reachAll
)

func (s *revocationSet) reachOf(kind, key string, caller *AuthContext, now time.Time) reach {
	entry, there := s.find(kind, key, "", now)
	switch {
	case !there:
		return reachNone
	case entry.issuedBefore.IsZero():
		return reachAll
	case caller.IssuedAt.Before(entry.issuedBefore):
		return reachBefore
	}
	return reachNone
}

// factsOf returns what the set says of a caller whose token is good otherwise.
func (s *revocationSet) factsOf(caller *AuthContext, now time.Time) Facts {
	s.mu.RLock()
	defer s.mu.RUnlock()
	of := func(kind, key string) reach { return s.reachOf(kind, key, caller, now) }
	actorID := ""
	if caller.Delegation != nil {
		actorID = caller.Delegation.Actor.ID
	}
	app, tenant, context := of("APP", caller.AppID), of("TENANT", caller.TenantID), of("CONTEXT", caller.ContextID)
	principal, actor := of("PRINCIPAL", caller.Principal.ID), of("PRINCIPAL", actorID)
	facts := aliveFacts()
	isOld := of("ISSUER_EPOCH", "all") == reachBefore
	for _, one := range []reach{principal, actor, app, tenant, context} {
		isOld = isOld || one == reachBefore
	}
	mark := func(kind string, is bool) {
		if is {
			facts.Revoked = append(facts.Revoked, kind)
		}
	}
	mark("PRINCIPAL", principal == reachAll)
	mark("SESSION", of("SESSION", caller.session()) != reachNone)
	mark("CREDENTIAL", of("CREDENTIAL", caller.CredentialID) != reachNone)
	mark("TOKEN", isOld || of("TOKEN", caller.TokenID) != reachNone)
	const suspended = "SUSPENDED"
	for _, one := range []struct {
		reach reach
		to    *string
	}{{actor, &facts.Actor}, {app, &facts.App}, {tenant, &facts.Tenant}, {context, &facts.Context}} {
		if one.reach == reachAll {
			*one.to = suspended
		}
	}
	if entry, there := s.find("AUTHORITY", caller.Principal.ID, caller.AppID, now); there {
		facts.MinPrincipalVersion = entry.minVersion
	}
	if entry, there := s.find("POLICY", caller.AppID, "", now); there {
		facts.MinPolicyVersion = entry.minVersion
	}
	return facts
}
