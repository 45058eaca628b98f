package guard

import (
	"regexp"
	"time"
)

const (
	maxTokenLife = 900
	maxActDepth  = 3
	// longestToken is how long a revocation counts: no token that was issued before it is accepted later.
	longestToken = maxTokenLife*time.Second + skew
)

var idPattern = regexp.MustCompile(`\A([a-z]{3})_[0-9a-hjkmnp-tv-z]{26}\z`)

var methods = map[string]Method{
	"session":            UserSession,
	"client_credentials": ClientCredentials,
	"pat":                PersonalAccessToken,
	"on_behalf_of":       OnBehalfOf,
}

// idOf returns an id of that kind: a ten_ is never taken for an app_.
func idOf(kind string, value any) (string, bool) {
	text, _ := value.(string)
	match := idPattern.FindStringSubmatch(text)
	return text, match != nil && match[1] == kind
}

// contextOf returns who verified claims say is calling. It checks types, lifetime, and the shapes that a grant gives,
// in the verifier's order. Claims that are not known are ignored.
func contextOf(claims map[string]any, payload []byte) (*AuthContext, error) {
	issuer, hasIssuer := textOf(claims["iss"])
	audience, hasAudience := textOf(claims["aud"])
	exp, hasExp := countOf(claims["exp"])
	_, hasNbf := countOf(claims["nbf"])
	iat, hasIat := countOf(claims["iat"])
	switch {
	case !hasIssuer:
		return nil, refuse(ReasonIssuerMismatch)
	case !hasAudience:
		return nil, refuse(ReasonAudienceMismatch)
	case !hasExp:
		return nil, refuse(ReasonTokenExpired)
	case !hasNbf || !hasIat:
		return nil, refuse(ReasonTokenNotYetValid)
	case exp-iat > maxTokenLife:
		return nil, refuse(ReasonTokenExpired)
	}
	context := &AuthContext{
		Issuer: issuer, Audience: audience,
		IssuedAt: time.Unix(iat, 0).UTC(), ExpiresAt: time.Unix(exp, 0).UTC(),
		source: &source{payload: string(payload)},
	}
	if err := readSubject(context, claims); err != nil {
		return nil, err
	}
	if !readRest(context, claims) {
		return nil, refuse(ReasonMalformedCredential)
	}
	return context, nil
}

// readSubject reads subject, place and actor.
func readSubject(context *AuthContext, claims map[string]any) error {
	var ok bool
	malformed := refuse(ReasonMalformedCredential)
	if context.AppID, ok = idOf("app", claims["app_id"]); !ok {
		return malformed
	}
	switch claims["principal_type"] {
	case "user":
		context.Principal.Kind = User
	case "service":
		context.Principal.Kind = Service
	default:
		return malformed
	}
	act, hasAct := claims["act"]
	if hasAct {
		if err := readActor(context, act); err != nil {
			return err
		}
	}
	if context.Principal.ID, ok = idOf("prn", claims["sub"]); !ok {
		return malformed
	}
	var originSession string
	ids := []struct {
		name, kind string
		to         *string
	}{
		{"identity_id", "idn", &context.IdentityID}, {"tenant_id", "ten", &context.TenantID},
		{"context_id", "ctx", &context.ContextID}, {"sid", "ses", &context.SessionID}, {"osid", "ses", &originSession},
	}
	for _, id := range ids {
		if value, there := claims[id.name]; there {
			if *id.to, ok = idOf(id.kind, value); !ok {
				return malformed
			}
		}
	}
	var jobID string
	texts := map[string]*string{"cred_id": &context.CredentialID, "job_id": &jobID}
	for name, to := range texts {
		if value, there := claims[name]; there {
			if *to, ok = textOf(value); !ok {
				return malformed
			}
		}
	}
	gty, _ := claims["gty"].(string)
	if context.Method, ok = methods[gty]; !ok || !hasShape(context, hasAct, jobID, originSession) {
		return malformed
	}
	if context.Delegation != nil {
		context.Delegation.JobID, context.Delegation.OriginSessionID = jobID, originSession
		context.Delegation.ExpiresAt = context.ExpiresAt
	}
	return nil
}

// hasShape reports whether subject, session and actor are what the grant gives.
func hasShape(context *AuthContext, hasAct bool, jobID, originSession string) bool {
	isUser := context.Principal.Kind == User
	if isUser != (context.IdentityID != "") || isUser == (context.Method == ClientCredentials) {
		return false
	}
	if (context.SessionID != "") != (context.Method == UserSession) {
		return false
	}
	if context.Method == OnBehalfOf {
		return hasAct && jobID != ""
	}
	return !hasAct && jobID == "" && originSession == ""
}

// readActor reads the chain of actors. Only the outermost decides (RFC 8693 section 4.1); the others count.
func readActor(context *AuthContext, act any) error {
	depth := 1
	for next, there := act, true; there; depth++ {
		if depth > maxActDepth {
			return refuse(ReasonDelegationChainTooDeep)
		}
		actor, _ := next.(map[string]any)
		id, isPrincipal := idOf("prn", actor["sub"])
		client, hasClient := textOf(actor["client_id"])
		if !isPrincipal || actor["principal_type"] != "service" || !hasClient {
			return refuse(ReasonMalformedCredential)
		}
		if depth == 1 {
			context.Delegation = &Delegation{
				Actor: PrincipalRef{ID: id, Kind: Service}, ActorClientID: client,
			}
		}
		next, there = actor["act"]
	}
	context.Delegation.Depth = depth - 1
	return nil
}

func readRest(context *AuthContext, claims map[string]any) bool {
	var ok [5]bool
	var scopes []string
	context.TokenID, ok[0] = textOf(claims["jti"])
	_, ok[1] = textOf(claims["client_id"])
	context.PermVer, ok[2] = countOf(claims["perm_ver"])
	scopes, ok[3] = textsOf(claims["scp"])
	_, ok[4] = textsOf(claims["amr"])
	if ok != [5]bool{true, true, true, true, true} {
		return false
	}
	context.Scopes = NewSet(scopes...)
	if value, there := claims["pol_ver"]; there {
		policy, ok := countOf(value)
		if !ok || policy > context.PermVer {
			return false
		}
		// Of a sum whose parts are not told nothing is known, so both are the lowest that there are.
		context.versions = versions{principal: context.PermVer - policy, policy: policy}
	}
	if value, there := claims["auth_time"]; there {
		seconds, ok := countOf(value)
		if !ok {
			return false
		}
		context.AuthTime = time.Unix(seconds, 0).UTC()
	}
	// Only a session has a device.
	if value, there := claims["did"]; there {
		device, ok := idOf("dev", value)
		if !ok || context.Method != UserSession {
			return false
		}
		context.DeviceID = device
	}
	return true
}
