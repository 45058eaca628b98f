package guard

import (
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"errors"
	"math/big"
	"regexp"
)

const maxKeys = 16

var (
	kidPattern        = regexp.MustCompile(`\A[A-Za-z0-9_-]{1,128}\z`)
	coordinatePattern = regexp.MustCompile(`\A[A-Za-z0-9_-]{43}\z`)
)

// parseJWKS returns the ES256 keys in a JWK Set by kid. Other keys are passed over (RFC 7517 section 5). It rejects a
// document that is no set, has more than 16 keys, two of ours with one kid, or a key that is no point of the curve.
func parseJWKS(text []byte) (map[string]*ecdsa.PublicKey, error) {
	set, err := parseObject(text)
	if err != nil {
		return nil, errors.New("not a JWK Set")
	}
	list, ok := set["keys"].([]any)
	if !ok {
		return nil, errors.New("not a JWK Set")
	}
	if len(list) > maxKeys {
		return nil, errors.New("the JWK Set has more than 16 keys")
	}
	keys := map[string]*ecdsa.PublicKey{}
	for _, member := range list {
		jwk, _ := member.(map[string]any)
		if !isOurs(jwk) {
			continue
		}
		kid, _ := jwk["kid"].(string)
		if keys[kid] != nil {
			return nil, errors.New("the JWK Set has two keys with the same kid")
		}
		if keys[kid], err = publicKey(jwk["x"].(string), jwk["y"].(string)); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// isOurs reports whether the key can verify an access token.
func isOurs(jwk map[string]any) bool {
	if jwk["kty"] != "EC" || jwk["crv"] != "P-256" || jwk["use"] != "sig" {
		return false
	}
	if alg, there := jwk["alg"]; there && alg != "ES256" {
		return false
	}
	matches := func(name string, pattern *regexp.Regexp) bool {
		text, _ := jwk[name].(string)
		return pattern.MatchString(text)
	}
	return matches("kid", kidPattern) && matches("x", coordinatePattern) && matches("y", coordinatePattern)
}

func publicKey(x, y string) (*ecdsa.PublicKey, error) {
	xBytes, err := decodeBase64(x)
	if err != nil {
		return nil, err
	}
	yBytes, err := decodeBase64(y)
	if err != nil {
		return nil, err
	}
	// Rejects what is no point of the curve.
	if _, err := ecdh.P256().NewPublicKey(append(append([]byte{4}, xBytes...), yBytes...)); err != nil {
		return nil, errors.New("a key of the JWK Set is not a point of P-256")
	}
	return &ecdsa.PublicKey{
		Curve: elliptic.P256(), X: new(big.Int).SetBytes(xBytes), Y: new(big.Int).SetBytes(yBytes),
	}, nil
}
