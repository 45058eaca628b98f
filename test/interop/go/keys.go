package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"net/http"
	"regexp"
	"sync"
	"time"
)

const (
	maxKeys       = 16
	maxKeySetSize = 64 << 10
	keysMaxAge    = 5 * time.Minute
	keysMaxStale  = 24 * time.Hour
	keysCooldown  = 30 * time.Second
)

var kidPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)

// keySet holds the issuer's public keys: fetched seldom, kept long, bounded in size and time.
type keySet struct {
	url     string
	client  *http.Client
	mu      sync.Mutex
	keys    map[string]*ecdsa.PublicKey
	fetched time.Time
	tried   time.Time
}

func newKeySet(url string) *keySet {
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &keySet{url: url, client: &http.Client{Timeout: 5 * time.Second, CheckRedirect: noRedirect}}
}

// find returns the key, or KEY_UNKNOWN, or UNAVAILABLE when the keys cannot be had.
func (s *keySet) find(kid string) (*ecdsa.PublicKey, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.keys[kid] == nil || now.Sub(s.fetched) > keysMaxAge {
		// What a forged kid can cause is one fetch in 30 s.
		if now.Sub(s.tried) > keysCooldown {
			s.tried = now
			if keys, err := s.fetch(); err == nil {
				s.keys, s.fetched = keys, now
			}
		}
	}
	if s.keys == nil || now.Sub(s.fetched) > keysMaxStale {
		return nil, "UNAVAILABLE"
	}
	if key := s.keys[kid]; key != nil {
		return key, ""
	}
	return nil, "KEY_UNKNOWN"
}

func (s *keySet) fetch() (map[string]*ecdsa.PublicKey, error) {
	response, err := s.client.Get(s.url)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, errors.New(response.Status)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxKeySetSize+1))
	if err != nil || len(text) > maxKeySetSize {
		return nil, errors.New("a key set that cannot be read")
	}
	return parseKeys(text)
}

// parseKeys reads the ES256 keys of a JWK Set (RFC 7517 section 5) and passes over others.
func parseKeys(text []byte) (map[string]*ecdsa.PublicKey, error) {
	var set struct{ Keys []map[string]any }
	if err := json.Unmarshal(text, &set); err != nil || len(set.Keys) > maxKeys {
		return nil, errors.New("not a JWK Set")
	}
	keys := map[string]*ecdsa.PublicKey{}
	for _, jwk := range set.Keys {
		kid, _ := jwk["kid"].(string)
		if jwk["kty"] != "EC" || jwk["crv"] != "P-256" || jwk["use"] != "sig" || !kidPattern.MatchString(kid) {
			continue
		}
		if alg, there := jwk["alg"]; there && alg != "ES256" {
			continue
		}
		x, y := coordinate(jwk["x"]), coordinate(jwk["y"])
		if x == nil || y == nil || !elliptic.P256().IsOnCurve(x, y) || keys[kid] != nil {
			return nil, errors.New("a key that is none")
		}
		keys[kid] = &ecdsa.PublicKey{Curve: elliptic.P256(), X: x, Y: y}
	}
	return keys, nil
}

func coordinate(value any) *big.Int {
	text, _ := value.(string)
	if bytes, ok := decodePart(text); ok && len(bytes) == 32 {
		return new(big.Int).SetBytes(bytes)
	}
	return nil
}
