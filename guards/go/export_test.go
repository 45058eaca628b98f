package guard

// VersionsOf returns what the context's PermVer is the sum of.
func VersionsOf(c *AuthContext) (principal, policy int64) {
	return c.versions.principal, c.versions.policy
}
