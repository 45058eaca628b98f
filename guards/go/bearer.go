package guard

import (
	"regexp"
	"strings"
)

// b64token of RFC 6750 section 2.1. Two headers arrive joined by a comma, which is none of its characters.
var bearerPattern = regexp.MustCompile(`\A(?i:bearer) +([A-Za-z0-9\-._~+/]+=*)\z`)

// bearerToken returns the token in Authorization headers as sent; no headers at all are no credential.
func bearerToken(headers []string) (string, error) {
	if len(headers) == 0 {
		return "", refuse(ReasonNoCredential)
	}
	match := bearerPattern.FindStringSubmatch(strings.Join(headers, ", "))
	if match == nil {
		return "", refuse(ReasonMalformedCredential)
	}
	switch token := match[1]; {
	case strings.HasPrefix(token, "sgpat_"):
		return "", refuse(ReasonPatNotBearer)
	case strings.HasPrefix(token, "sgrt_"):
		return "", refuse(ReasonRefreshTokenNotBearer)
	default:
		return token, nil
	}
}
