package guard

import (
	"math"
	"time"
)

// parsePermissions returns nil unless the statement is that issuer's, is of exactly this key, and is whole: an old one
// under a newer key, or one of somebody else, is none.
func parsePermissions(claims map[string]any, issuer string, key snapshotKey) *Permissions {
	permVer, hasVersion := numberOf(claims["perm_ver"])
	isAsked := claims["iss"] == issuer && claims["sub"] == key.principal && claims["app_id"] == key.at.app &&
		isOptional(claims, "tenant_id", key.at.tenant) && isOptional(claims, "context_id", key.at.context) &&
		hasVersion && permVer == float64(key.permVer)
	roles, hasRoles := claims["roles"].([]any)
	scopes, hasScopes := claims["scopes"].(map[string]any)
	grants, hasGrants := claims["grants"].([]any)
	if !isAsked || !hasRoles || !hasScopes || !hasGrants {
		return nil
	}
	permissions := &Permissions{roles: map[string]role{}, scopes: map[string][]string{}}
	for _, member := range roles {
		id, role, ok := parseRole(member)
		if !ok {
			return nil
		}
		permissions.roles[id] = role
	}
	for scope, member := range scopes {
		texts, ok := textsOf(member)
		if !ok {
			return nil
		}
		permissions.scopes[scope] = texts
	}
	for _, member := range grants {
		grant, ok := parseGrant(member, key.at.app)
		if !ok {
			return nil
		}
		permissions.grants = append(permissions.grants, grant)
	}
	return permissions
}

// isOptional reports whether the claim is the text, or is absent where the text is empty.
func isOptional(claims map[string]any, name, text string) bool {
	if text == "" {
		return claims[name] == nil
	}
	return claims[name] == text
}

func parseRole(member any) (string, role, bool) {
	object, _ := member.(map[string]any)
	id, hasID := textOf(object["id"])
	key, hasKey := textOf(object["key"])
	permissions, hasPermissions := textsOf(object["permissions"])
	inheritable, hasInheritable := object["inheritable"].(bool)
	return id, role{key, permissions, inheritable}, hasID && hasKey && hasPermissions && hasInheritable
}

// parseGrant: what narrows and is not understood must not widen.
func parseGrant(member any, app string) (grant, bool) {
	object, _ := member.(map[string]any)
	parsed := grant{at: place{app: app}}
	var ok bool
	if parsed.roleID, ok = textOf(object["role_id"]); !ok {
		return parsed, false
	}
	if value, there := object["tenant_id"]; there {
		if parsed.at.tenant, ok = idOf("ten", value); !ok {
			return parsed, false
		}
	}
	if value, there := object["context_id"]; there {
		if parsed.at.context, ok = idOf("ctx", value); !ok {
			return parsed, false
		}
	}
	if value, there := object["resource"]; there {
		named, _ := value.(map[string]any)
		kind, hasKind := textOf(named["type"])
		id, hasID := textOf(named["id"])
		if !hasKind || !hasID {
			return parsed, false
		}
		parsed.resource = &resourceName{kind, id}
	}
	if value, there := object["expires_at_ms"]; there {
		number, ok := numberOf(value)
		if !ok || number != math.Trunc(number) || math.Abs(number) > maxSafeInteger {
			return parsed, false
		}
		at := time.UnixMilli(int64(number))
		parsed.expiresAt = &at
	}
	return parsed, true
}
