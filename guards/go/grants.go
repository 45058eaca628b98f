package guard

import (
	"maps"
	"slices"
	"time"
)

// Resource is a protected resource, as the service that owns it found it in its own store: never as a request tells it.
type Resource struct {
	Type  string
	ID    string
	AppID string
	// TenantID and ContextID are empty for none.
	TenantID  string
	ContextID string
}

// place is an app, and in it a tenant and a context; "" for none.
type place struct{ app, tenant, context string }

func placeOf(caller *AuthContext) place {
	return place{caller.AppID, caller.TenantID, caller.ContextID}
}

func placeOfResource(resource *Resource) place {
	return place{resource.AppID, resource.TenantID, resource.ContextID}
}

type role struct {
	key         string
	permissions []string
	// inheritable: a grant of it covers everything below its node.
	inheritable bool
}

// grant is a role that the principal has at a node: a resource, or everything of a context, tenant or app.
type grant struct {
	roleID string
	at     place
	// resource is nil for every resource of the place.
	resource *resourceName
	// expiresAt is nil for a grant without an end. It holds before, and not at it.
	expiresAt *time.Time
}

type resourceName struct{ kind, id string }

// Permissions is what a principal was granted at a place, and what the app's roles and scopes mean. It does not change.
type Permissions struct {
	roles map[string]role
	// scopes has the permissions that a token with the scope may use.
	scopes map[string][]string
	grants []grant
}

func (g *grant) isLive(now time.Time) bool { return g.expiresAt == nil || now.Before(*g.expiresAt) }

func (g *grant) isAround(p place) bool {
	return g.at.app == p.app && (g.at.tenant == "" || g.at.tenant == p.tenant) &&
		(g.at.context == "" || g.at.context == p.context)
}

// covers reports whether the grant is on this very resource or, where it is inherited, on a node that it is in.
func (g *grant) covers(inheritable bool, resource *Resource) bool {
	if g.resource == nil {
		return inheritable && g.isAround(placeOfResource(resource))
	}
	return g.at == placeOfResource(resource) && *g.resource == resourceName{resource.Type, resource.ID}
}

// reaches reports whether the grant holds somewhere at a place: on it, on a resource of it or, where it is inherited, on
// a node that the place is in.
func (g *grant) reaches(inheritable bool, p place) bool {
	return g.at == p || (g.resource == nil && inheritable && g.isAround(p))
}

// reachesWhole reports whether the grant holds in all of a place: on it or, where it is inherited, on a node that the
// place is in.
func (g *grant) reachesWhole(inheritable bool, p place) bool {
	return g.resource == nil && g.reaches(inheritable, p)
}

func (p *Permissions) isHeld(scopes Set, now time.Time, permission string, applies func(*grant, bool) bool) bool {
	isUsable := slices.ContainsFunc(scopes.members, func(scope string) bool {
		return slices.Contains(p.scopes[scope], permission)
	})
	return isUsable && slices.ContainsFunc(p.grants, func(grant grant) bool {
		role, known := p.roles[grant.roleID]
		return known && slices.Contains(role.permissions, permission) && grant.isLive(now) &&
			applies(&grant, role.inheritable)
	})
}

func (p *Permissions) isHeldAt(scopes Set, now time.Time, permission string, at place) bool {
	return p.isHeld(scopes, now, permission, func(grant *grant, inheritable bool) bool {
		return grant.reaches(inheritable, at)
	})
}

func (p *Permissions) isHeldOn(scopes Set, now time.Time, permission string, resource *Resource) bool {
	return p.isHeld(scopes, now, permission, func(grant *grant, inheritable bool) bool {
		return grant.covers(inheritable, resource)
	})
}

// hasRoleAt reports whether the role is held in the whole place: a role on one of its resources is not. Scopes do not
// narrow a role.
func (p *Permissions) hasRoleAt(now time.Time, key string, at place) bool {
	return slices.ContainsFunc(p.grants, func(grant grant) bool {
		role, known := p.roles[grant.roleID]
		return known && role.key == key && grant.isLive(now) && grant.reachesWhole(role.inheritable, at)
	})
}

// heldAt returns the keys of the roles, and the permissions, that are held at a place.
func (p *Permissions) heldAt(scopes Set, now time.Time, at place) Grants {
	roles, permissions := map[string]bool{}, map[string]bool{}
	for _, grant := range p.grants {
		role, known := p.roles[grant.roleID]
		if !known || !grant.isLive(now) || !grant.reaches(role.inheritable, at) {
			continue
		}
		if grant.reachesWhole(role.inheritable, at) {
			roles[role.key] = true
		}
		for _, permission := range role.permissions {
			for scope := range scopes.All() {
				if slices.Contains(p.scopes[scope], permission) {
					permissions[permission] = true
				}
			}
		}
	}
	return Grants{
		Roles:       NewSet(slices.Sorted(maps.Keys(roles))...),
		Permissions: NewSet(slices.Sorted(maps.Keys(permissions))...),
	}
}
