package guard

import (
	"crypto/sha256"
	"slices"
	"time"
)

type verifierOptions struct {
	issuer, audience string
	keys             KeySet
	now              func() time.Time
	cacheSize        int
}

func newAccessTokenVerifier(options verifierOptions) *jwtVerifier[*AuthContext] {
	v := &jwtVerifier[*AuthContext]{
		typ: "at+jwt", keys: options.keys, now: options.now, maxLength: maxTokenLength,
		read: func(claims map[string]any, payload []byte, now time.Time) (*AuthContext, error) {
			if claims["iss"] != options.issuer {
				return nil, refuse(ReasonIssuerMismatch)
			}
			if claims["aud"] != options.audience {
				return nil, refuse(ReasonAudienceMismatch)
			}
			if reason := timesOf(claims).untimely(now); reason != "" {
				return nil, refuse(reason)
			}
			return contextOf(claims, payload)
		},
		tell: func(reason Reason, header map[string]any, payloadPart string) Reason {
			if isOfProvider(header, payloadPart, options.issuer) {
				return ReasonProviderTokenNotAccepted
			}
			return reason
		},
	}
	if options.cacheSize > 0 {
		v.verified = newBounded[[sha256.Size]byte, verifiedJWT[*AuthContext]](options.cacheSize)
	}
	return v
}

var providerAlgorithms = []string{"RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"}

// isOfProvider tells a developer that a provider's ID token was sent. The token is refused either way.
func isOfProvider(header map[string]any, payloadPart, issuer string) bool {
	if typ, there := header["typ"]; there && typ != "JWT" {
		return false
	}
	alg, _ := header["alg"].(string)
	if !slices.Contains(providerAlgorithms, alg) {
		return false
	}
	claims, _, err := decodeObject(payloadPart)
	if err != nil {
		return false
	}
	iss, ok := claims["iss"].(string)
	return ok && iss != issuer
}
