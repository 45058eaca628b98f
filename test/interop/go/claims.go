package main

import (
	"math"
	"regexp"

	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	authzv1 "signet.example/notes/gen/signet/authz/v1"
)

const (
	maxLifeSeconds = 900
	maxActDepth    = 3
)

var idPattern = regexp.MustCompile(`^([a-z]{3})_[0-9a-hjkmnp-tv-z]{26}$`)

var methods = map[string]authzv1.AuthMethod{
	"session":            authzv1.AuthMethod_USER_SESSION,
	"client_credentials": authzv1.AuthMethod_CLIENT_CREDENTIALS,
	"pat":                authzv1.AuthMethod_PERSONAL_ACCESS_TOKEN,
	"on_behalf_of":       authzv1.AuthMethod_ON_BEHALF_OF,
}

// checkClaims says what is wrong with a verified payload: types, lifetime, and the shapes that a grant gives.
func checkClaims(claims map[string]any) string {
	exp, nbf, iat := claims["exp"], claims["nbf"], claims["iat"]
	switch {
	case !isCount(exp):
		return "TOKEN_EXPIRED"
	case !isCount(nbf) || !isCount(iat):
		return "TOKEN_NOT_YET_VALID"
	case exp.(float64)-iat.(float64) > maxLifeSeconds:
		return "TOKEN_EXPIRED"
	}
	if !isID("app", claims["app_id"]) {
		return "MALFORMED_CREDENTIAL"
	}
	if claims["principal_type"] != "user" && claims["principal_type"] != "service" {
		return "MALFORMED_CREDENTIAL"
	}
	if act, there := claims["act"]; there {
		if reason := checkAct(act, 1); reason != "" {
			return reason
		}
	}
	if !isWellFormed(claims) {
		return "MALFORMED_CREDENTIAL"
	}
	return ""
}

func isWellFormed(claims map[string]any) bool {
	has := func(name string) bool { _, there := claims[name]; return there }
	optional := map[string]string{
		"identity_id": "idn", "tenant_id": "ten", "context_id": "ctx", "sid": "ses", "osid": "ses", "did": "dev",
	}
	for name, kind := range optional {
		if has(name) && !isID(kind, claims[name]) {
			return false
		}
	}
	for _, name := range []string{"cred_id", "job_id"} {
		if has(name) && !isText(claims[name]) {
			return false
		}
	}
	gty, _ := claims["gty"].(string)
	isUser, isDelegated := claims["principal_type"] == "user", gty == "on_behalf_of"
	if _, known := methods[gty]; !known || !isID("prn", claims["sub"]) {
		return false
	}
	if isUser != has("identity_id") || has("sid") != (gty == "session") || isUser == (gty == "client_credentials") {
		return false
	}
	if isDelegated && !(has("act") && has("job_id")) {
		return false
	}
	if !isDelegated && (has("act") || has("job_id") || has("osid")) {
		return false
	}
	if (has("did") && gty != "session") || (has("auth_time") && !isCount(claims["auth_time"])) {
		return false
	}
	return isText(claims["jti"]) && isText(claims["client_id"]) && isCount(claims["perm_ver"]) &&
		isTexts(claims["scp"]) && isTexts(claims["amr"])
}

func checkAct(value any, depth int) string {
	if depth > maxActDepth {
		return "DELEGATION_CHAIN_TOO_DEEP"
	}
	act, ok := value.(map[string]any)
	if !ok || !isID("prn", act["sub"]) || act["principal_type"] != "service" || !isText(act["client_id"]) {
		return "MALFORMED_CREDENTIAL"
	}
	if next, there := act["act"]; there {
		return checkAct(next, depth+1)
	}
	return ""
}

// contextOf builds the AuthContext of claims that were checked.
func contextOf(claims map[string]any) (*authzv1.AuthContext, error) {
	all, err := structpb.NewStruct(claims)
	if err != nil {
		return nil, err
	}
	text := func(name string) string { value, _ := claims[name].(string); return value }
	kind := authzv1.PrincipalKind_SERVICE
	if text("principal_type") == "user" {
		kind = authzv1.PrincipalKind_USER
	}
	context := &authzv1.AuthContext{
		Principal:  &authzv1.PrincipalRef{Id: text("sub"), Kind: kind},
		IdentityId: text("identity_id"), AppId: text("app_id"), TenantId: text("tenant_id"),
		ContextId: text("context_id"), SessionId: text("sid"), DeviceId: text("did"), TokenId: text("jti"),
		CredentialId: text("cred_id"), Issuer: text("iss"), Audience: text("aud"),
		Method: methods[text("gty")], Claims: all,
	}
	for _, scope := range claims["scp"].([]any) {
		context.Scopes = append(context.Scopes, scope.(string))
	}
	// Only the outermost actor decides (RFC 8693 section 4.1).
	if act, ok := claims["act"].(map[string]any); ok {
		actor := &authzv1.PrincipalRef{Id: act["sub"].(string), Kind: authzv1.PrincipalKind_SERVICE}
		context.Actor = actor
		context.Delegation = &authzv1.Delegation{
			Actor: actor, JobId: text("job_id"), OriginSessionId: text("osid"),
			ExpiresAt: &timestamppb.Timestamp{Seconds: int64(claims["exp"].(float64))},
		}
	}
	return context, nil
}

func isID(kind string, value any) bool {
	text, _ := value.(string)
	match := idPattern.FindStringSubmatch(text)
	return match != nil && match[1] == kind
}

func isText(value any) bool {
	text, ok := value.(string)
	return ok && text != ""
}

func isTexts(value any) bool {
	list, ok := value.([]any)
	for _, member := range list {
		ok = ok && isText(member)
	}
	return ok
}

func isCount(value any) bool {
	number, ok := value.(float64)
	return ok && number >= 0 && number <= 1<<53-1 && number == math.Trunc(number)
}
