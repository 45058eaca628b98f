package main

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"math/big"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	skewSeconds    = 30
	maxTokenLength = 8192
)

var (
	bearerPattern = regexp.MustCompile(`(?i)^bearer +([A-Za-z0-9\-._~+/]+=*)$`)
	partPattern   = regexp.MustCompile(`^[A-Za-z0-9_-]*$`)
	// Names in a header that change how a token is read or with which key: our issuer writes none of them.
	forbidden = []string{"crit", "b64", "jku", "jwk", "x5u", "x5c", "zip"}
	// What providers sign with: such a token of another issuer is told apart, for the developer who sent it.
	providerAlgorithms = map[any]bool{
		"RS256": true, "RS384": true, "RS512": true, "PS256": true, "ES256": true, "ES384": true, "EdDSA": true,
	}
)

// verifier takes access tokens of one issuer for one audience.
type verifier struct {
	issuer, audience string
	keys             *keySet
	now              func() time.Time
}

// authenticate reads Authorization headers as sent. It returns the claims, or why there are none.
func (v *verifier) authenticate(headers []string) (map[string]any, string) {
	if len(headers) == 0 {
		return nil, "NO_CREDENTIAL"
	}
	match := bearerPattern.FindStringSubmatch(strings.Join(headers, ", "))
	switch {
	case match == nil:
		return nil, "MALFORMED_CREDENTIAL"
	case strings.HasPrefix(match[1], "sgpat_"):
		return nil, "PAT_NOT_BEARER"
	case strings.HasPrefix(match[1], "sgrt_"):
		return nil, "REFRESH_TOKEN_NOT_BEARER"
	}
	return v.verify(match[1])
}

func (v *verifier) verify(token string) (map[string]any, string) {
	parts := strings.Split(token, ".")
	if len(token) > maxTokenLength || len(parts) != 3 || parts[0] == "" || parts[1] == "" {
		return nil, "MALFORMED_CREDENTIAL"
	}
	kid, reason := v.header(parts[0], parts[1])
	if reason != "" {
		return nil, reason
	}
	key, reason := v.keys.find(kid)
	if reason != "" {
		return nil, reason
	}
	signature, ok := decodePart(parts[2])
	if !ok || len(signature) != 64 {
		return nil, "SIGNATURE_INVALID"
	}
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	r, s := new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])
	if !ecdsa.Verify(key, digest[:], r, s) {
		return nil, "SIGNATURE_INVALID"
	}
	claims, _, ok := decodeObject(parts[1])
	if !ok {
		return nil, "MALFORMED_CREDENTIAL"
	}
	return claims, v.claims(claims)
}

// header returns the kid of a header that our issuer may have written.
func (v *verifier) header(part, payload string) (string, string) {
	header, text, ok := decodeObject(part)
	if !ok || hasDuplicateNames(text) {
		return "", "MALFORMED_CREDENTIAL"
	}
	for _, name := range forbidden {
		if _, there := header[name]; there {
			return "", "MALFORMED_CREDENTIAL"
		}
	}
	if header["alg"] != "ES256" {
		return "", v.providerTokenOr("ALG_NOT_ALLOWED", header, payload)
	}
	if header["typ"] != "at+jwt" {
		return "", v.providerTokenOr("TYP_NOT_ALLOWED", header, payload)
	}
	if kid, _ := header["kid"].(string); kidPattern.MatchString(kid) {
		return kid, ""
	}
	return "", "KEY_UNKNOWN"
}

func (v *verifier) providerTokenOr(reason string, header map[string]any, payload string) string {
	typ, there := header["typ"]
	alg, _ := header["alg"].(string)
	if (there && typ != "JWT") || !providerAlgorithms[alg] {
		return reason
	}
	claims, _, _ := decodeObject(payload)
	if iss, ok := claims["iss"].(string); ok && iss != v.issuer {
		return "PROVIDER_TOKEN_NOT_ACCEPTED"
	}
	return reason
}

// claims checks issuer, audience and times before anything else is believed.
func (v *verifier) claims(claims map[string]any) string {
	if claims["iss"] != v.issuer {
		return "ISSUER_MISMATCH"
	}
	if claims["aud"] != v.audience {
		return "AUDIENCE_MISMATCH"
	}
	now := float64(v.now().UnixMilli()) / 1000
	if exp, ok := claims["exp"].(float64); ok && exp+skewSeconds <= now {
		return "TOKEN_EXPIRED"
	}
	for _, name := range []string{"nbf", "iat"} {
		if at, ok := claims[name].(float64); ok && at > now+skewSeconds {
			return "TOKEN_NOT_YET_VALID"
		}
	}
	return checkClaims(claims)
}

// decodePart reads base64url without padding, and only what an encoder writes: no line ends, no stray bits.
func decodePart(text string) ([]byte, bool) {
	if !partPattern.MatchString(text) {
		return nil, false
	}
	bytes, err := base64.RawURLEncoding.Strict().DecodeString(text)
	return bytes, err == nil
}

// decodeObject reads one JSON object. Maps, not structs: encoding/json would match a struct's names in any case.
func decodeObject(part string) (map[string]any, string, bool) {
	bytes, ok := decodePart(part)
	if !ok || !utf8.Valid(bytes) {
		return nil, "", false
	}
	var object map[string]any
	if err := json.Unmarshal(bytes, &object); err != nil || object == nil {
		return nil, "", false
	}
	return object, string(bytes), true
}

// hasDuplicateNames is for text that is valid JSON.
func hasDuplicateNames(text string) bool {
	decoder := json.NewDecoder(strings.NewReader(text))
	// The names seen in each open object; nil for an open list.
	open := []map[string]bool{}
	isName := false
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			return false
		}
		if err != nil {
			return true
		}
		if delim, ok := token.(json.Delim); ok {
			switch delim {
			case '{':
				open = append(open, map[string]bool{})
			case '[':
				open = append(open, nil)
			default:
				open = open[:len(open)-1]
			}
			isName = len(open) > 0 && open[len(open)-1] != nil
			continue
		}
		if len(open) == 0 || open[len(open)-1] == nil {
			continue
		}
		if isName {
			name, _ := token.(string)
			if open[len(open)-1][name] {
				return true
			}
			open[len(open)-1][name] = true
		}
		isName = !isName
	}
}
