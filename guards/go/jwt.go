package guard

import (
	"context"
	"crypto/ecdsa"
	"crypto/sha256"
	"math/big"
	"strings"
	"sync"
	"time"
)

const (
	skew           = 30 * time.Second
	maxTokenLength = 8_192
)

// forbiddenHeaders change how a token is read or with which key: our issuer writes none of them.
var forbiddenHeaders = []string{"crit", "b64", "jku", "jwk", "x5u", "x5c", "zip"}

// jwtVerifier verifies JWTs of one type, in the order in which the attacks of RFC 8725 are cheapest to reject.
type jwtVerifier[V any] struct {
	// typ is the one type that is taken.
	typ       string
	keys      KeySet
	now       func() time.Time
	maxLength int
	// read returns what verified claims say, or why they are not taken. It checks the times with untimely.
	read func(claims map[string]any, payload []byte, now time.Time) (V, error)
	// tell returns what to tell of a header that is not taken; nil tells the reason itself.
	tell func(reason Reason, header map[string]any, payloadPart string) Reason

	mu sync.Mutex
	// verified has the tokens that were verified, by SHA-256 of the whole token; nil remembers none.
	verified *bounded[[sha256.Size]byte, verifiedJWT[V]]
}

type verifiedJWT[V any] struct {
	value V
	times times
	kid   string
}

// verify returns what the token says. Its error is a [*Denial].
func (v *jwtVerifier[V]) verify(ctx context.Context, token string) (V, error) {
	var none V
	if len(token) > v.maxLength {
		return none, refuse(ReasonMalformedCredential)
	}
	var digest [sha256.Size]byte
	if v.verified != nil {
		digest = sha256.Sum256([]byte(token))
		if known, ok := v.remembered(digest); ok {
			if reason := known.times.untimely(v.now()); reason != "" {
				v.forget(digest)
				return none, refuse(reason)
			}
			// A key that was withdrawn takes its tokens with it.
			if _, err := v.keys.Find(ctx, known.kid); err == nil {
				return known.value, nil
			}
		}
	}
	parts := strings.Split(token, ".")
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" {
		return none, refuse(ReasonMalformedCredential)
	}
	kid, err := v.header(parts[0], parts[1])
	if err != nil {
		return none, err
	}
	key, err := v.keys.Find(ctx, kid)
	if err != nil {
		return none, denialOf(err)
	}
	if !isSigned(key, token[:len(parts[0])+1+len(parts[1])], parts[2]) {
		return none, refuse(ReasonSignatureInvalid)
	}
	claims, payload, err := decodeObject(parts[1])
	if err != nil {
		return none, refuse(ReasonMalformedCredential)
	}
	value, err := v.read(claims, payload, v.now())
	if err != nil {
		return none, err
	}
	if v.verified != nil {
		v.mu.Lock()
		v.verified.put(digest, verifiedJWT[V]{value, timesOf(claims), kid})
		v.mu.Unlock()
	}
	return value, nil
}

func (v *jwtVerifier[V]) remembered(digest [sha256.Size]byte) (verifiedJWT[V], bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.verified.get(digest)
}

func (v *jwtVerifier[V]) forget(digest [sha256.Size]byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.verified.remove(digest)
}

// header returns the kid of a header that our issuer may have written.
func (v *jwtVerifier[V]) header(part, payloadPart string) (string, error) {
	header, text, err := decodeObject(part)
	if err != nil || hasDuplicateNames(text) {
		return "", refuse(ReasonMalformedCredential)
	}
	for _, name := range forbiddenHeaders {
		if _, there := header[name]; there {
			return "", refuse(ReasonMalformedCredential)
		}
	}
	told := func(reason Reason) error {
		if v.tell != nil {
			reason = v.tell(reason, header, payloadPart)
		}
		return refuse(reason)
	}
	if header["alg"] != "ES256" {
		return "", told(ReasonAlgNotAllowed)
	}
	if header["typ"] != v.typ {
		return "", told(ReasonTypNotAllowed)
	}
	// The shape of every kid that the issuer publishes; nothing else reaches the key set.
	kid, _ := header["kid"].(string)
	if !kidPattern.MatchString(kid) {
		return "", refuse(ReasonKeyUnknown)
	}
	return kid, nil
}

// isSigned verifies ES256: r and s, 32 bytes each (RFC 7518 section 3.4).
func isSigned(key *ecdsa.PublicKey, signed, signaturePart string) bool {
	signature, err := decodeBase64(signaturePart)
	if err != nil || len(signature) != 64 {
		return false
	}
	digest := sha256.Sum256([]byte(signed))
	r, s := new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])
	return ecdsa.Verify(key, digest[:], r, s)
}

// times are the claims that say when a token counts, in seconds; what is no number is left to who reads the claims.
type times struct{ exp, nbf, iat *float64 }

func timesOf(claims map[string]any) times {
	number := func(name string) *float64 {
		if value, ok := numberOf(claims[name]); ok {
			return &value
		}
		return nil
	}
	return times{number("exp"), number("nbf"), number("iat")}
}

// untimely returns why the time is past exp, or before nbf or iat; clocks may differ by 30 seconds.
func (t times) untimely(now time.Time) Reason {
	seconds := float64(now.UnixMilli()) / 1_000
	switch {
	case t.exp != nil && *t.exp+skew.Seconds() <= seconds:
		return ReasonTokenExpired
	case t.nbf != nil && *t.nbf > seconds+skew.Seconds():
		return ReasonTokenNotYetValid
	case t.iat != nil && *t.iat > seconds+skew.Seconds():
		return ReasonTokenNotYetValid
	}
	return ""
}
