package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"signet.dev/guard"
	authzv1 "signet.dev/guard/gen/signet/authz/v1"
	"signet.dev/guard/grpcguard"
)

type asked struct {
	Requirement json.RawMessage
	Claims      map[string]any
	// By source and field: "BODY tenant_id".
	Tenants map[string]string
}

type decision struct {
	Allow   bool         `json:"allow"`
	Reason  guard.Reason `json:"reason,omitempty"`
	Status  int          `json:"status,omitempty"`
	Message string       `json:"message,omitempty"`
	// What is told beside the reason: the scope that is missing.
	Metadata map[string]string `json:"metadata,omitempty"`
}

// decide answers each case with what the guard decides of a token with its claims, at the time that it was issued.
func decide(input *json.Decoder) error {
	var cases []asked
	if err := input.Decode(&cases); err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	decisions := []decision{}
	for _, one := range cases {
		_, err := decideOne(key, &one)
		var denial *guard.Denial
		switch {
		case err == nil:
			decisions = append(decisions, decision{Allow: true})
		case errors.As(err, &denial):
			decisions = append(decisions, decision{
				false, denial.Reason, denial.Status(), denial.Message(), denial.Metadata,
			})
		default:
			return err
		}
	}
	return json.NewEncoder(os.Stdout).Encode(decisions)
}

func decideOne(key *ecdsa.PrivateKey, one *asked) (*guard.AuthContext, error) {
	wire := &authzv1.AuthRequirement{}
	if err := protojson.Unmarshal(one.Requirement, wire); err != nil {
		return nil, err
	}
	requirement, err := grpcguard.ParseRequirement(wire)
	if err != nil {
		return nil, err
	}
	keys, err := guard.NewStaticKeySet(keySetOf(key))
	if err != nil {
		return nil, err
	}
	issuer, _ := one.Claims["iss"].(string)
	audience, _ := one.Claims["aud"].(string)
	issuedAt, _ := one.Claims["iat"].(float64)
	g, err := guard.New(guard.Options{
		Issuer: issuer, Audience: audience, AppID: guard.AnyApp, KeySet: keys,
		Now: func() time.Time { return time.Unix(int64(issuedAt), 0) },
	})
	if err != nil {
		return nil, err
	}
	endpoint, err := g.Endpoint(requirement, guard.EndpointOptions{}, func(guard.Source, string) error { return nil })
	if err != nil {
		return nil, err
	}
	token, err := sign(key, one.Claims)
	if err != nil {
		return nil, err
	}
	return endpoint.Decide(context.Background(), []string{"Bearer " + token}, func() guard.ReadValue {
		return func(from guard.Source, field string) string { return one.Tenants[string(from)+" "+field] }
	})
}

func encode(value any) string {
	text, _ := json.Marshal(value)
	return base64.RawURLEncoding.EncodeToString(text)
}

func keySetOf(key *ecdsa.PrivateKey) []byte {
	coordinate := func(bytes []byte) string { return base64.RawURLEncoding.EncodeToString(bytes) }
	document, _ := json.Marshal(map[string]any{"keys": []any{map[string]any{
		"kty": "EC", "crv": "P-256", "use": "sig", "kid": "key-1",
		"x": coordinate(key.X.FillBytes(make([]byte, 32))), "y": coordinate(key.Y.FillBytes(make([]byte, 32))),
	}}})
	return document
}

func sign(key *ecdsa.PrivateKey, claims map[string]any) (string, error) {
	header := map[string]any{"alg": "ES256", "typ": "at+jwt", "kid": "key-1"}
	input := encode(header) + "." + encode(claims)
	digest := sha256.Sum256([]byte(input))
	r, s, err := ecdsa.Sign(rand.Reader, key, digest[:])
	if err != nil {
		return "", err
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return input + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}
