package vectors

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"signet.dev/guard"
)

// Decisions is decisions.json.
type Decisions struct {
	Now              int64
	Issuer, Audience string
	Header, Claims   map[string]any
	Liveness         map[string]any
	Resources        map[string]guard.Resource
	Roles            map[string]struct {
		Permissions []string `json:"permissions"`
		Inheritable bool     `json:"inheritable"`
	}
	Scopes       map[string][]string
	Requirements map[string]*Requirement
	Situations   map[string]*Situation
	Cases        []Case
}

// Case is one decision.
type Case struct {
	Requirement, Situation string
	Expected               Outcome
}

// Outcome is what is decided, and what the caller is told.
type Outcome struct {
	Allow bool
	// Caller is null where the handler is told of no caller, and absent where it is told who calls.
	Caller          json.RawMessage
	Reason, Message string
	Status          int
	Metadata        map[string]string
	Challenge       *string
}

// Allowed is the outcome of a call that reaches its handler.
func Allowed(caller *guard.AuthContext) Outcome {
	if caller == nil {
		return Outcome{Allow: true, Caller: json.RawMessage("null")}
	}
	return Outcome{Allow: true}
}

// Situation is who calls, with what, and what is known of it.
type Situation struct {
	Authorization      json.RawMessage
	Claims, Header     map[string]any
	Signer             string
	Request            map[string]string
	TargetApp          string
	Liveness           json.RawMessage
	LivenessAgeSeconds int64
	Grants             json.RawMessage
	Introspection      json.RawMessage
}

// World builds what a case needs.
type World struct {
	*Decisions
	signers map[string]*ecdsa.PrivateKey
}

// ReadDecisions reads decisions.json.
func ReadDecisions(t testing.TB) *World {
	w := &World{Decisions: &Decisions{}, signers: map[string]*ecdsa.PrivateKey{}}
	Read(t, "decisions.json", w.Decisions)
	for _, signer := range []string{"issuer", "stranger", "statements"} {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		w.signers[signer] = key
	}
	return w
}

func (w *World) sign(signer string, header, claims map[string]any) string {
	encode := func(value any) string {
		text, err := json.Marshal(value)
		if err != nil {
			panic(err)
		}
		return base64.RawURLEncoding.EncodeToString(text)
	}
	input := encode(header) + "." + encode(claims)
	digest := sha256.Sum256([]byte(input))
	r, s, err := ecdsa.Sign(rand.Reader, w.signers[signer], digest[:])
	if err != nil {
		panic(err)
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return input + "." + base64.RawURLEncoding.EncodeToString(signature)
}

func (w *World) keys(signer, kid string) guard.KeySet {
	coordinate := func(bytes []byte) string { return base64.RawURLEncoding.EncodeToString(bytes) }
	public := &w.signers[signer].PublicKey
	document, err := json.Marshal(map[string]any{"keys": []any{map[string]any{
		"kty": "EC", "crv": "P-256", "use": "sig", "kid": kid,
		"x": coordinate(public.X.FillBytes(make([]byte, 32))), "y": coordinate(public.Y.FillBytes(make([]byte, 32))),
	}}})
	if err != nil {
		panic(err)
	}
	keys, err := guard.NewStaticKeySet(document)
	if err != nil {
		panic(err)
	}
	return keys
}

func changed(base, change map[string]any) map[string]any {
	merged := map[string]any{}
	for _, from := range []map[string]any{base, change} {
		for name, value := range from {
			merged[name] = value
			if value == nil {
				delete(merged, name)
			}
		}
	}
	return merged
}

// Authorization is the situation's headers; nil for none.
func (w *World) Authorization(s *Situation) []string {
	if string(s.Authorization) == "null" {
		return nil
	}
	if s.Authorization != nil {
		var header string
		if err := json.Unmarshal(s.Authorization, &header); err != nil {
			panic(err)
		}
		return []string{header}
	}
	signer := "issuer"
	if s.Signer != "" {
		signer = s.Signer
	}
	return []string{"Bearer " + w.sign(signer, changed(w.Header, s.Header), changed(w.Claims, s.Claims))}
}

// Guard is one that knows what the situation says.
func (w *World) Guard(t testing.TB, s *Situation) *guard.Guard {
	t.Helper()
	now := func() time.Time { return time.Unix(w.Now, 0) }
	permissions, err := guard.NewPermissionSnapshots(guard.SnapshotOptions{
		Issuer: w.Issuer, BaseURL: w.Issuer, StatementKeys: w.keys("statements", "statement-1"), Token: OwnToken{},
		Now: now, HTTPClient: Transport(func(request *http.Request) (*http.Response, error) {
			return w.snapshot(s, request)
		}).Client(),
	})
	if err != nil {
		t.Fatal(err)
	}
	options := guard.Options{
		Issuer: w.Issuer, Audience: w.Audience, AppID: guard.AnyApp, KeySet: w.keys("issuer", "key-1"),
		Permissions: permissions, Now: now,
	}
	if s.TargetApp != "" {
		options.AppID = s.TargetApp
	}
	if string(s.Liveness) != `"unknown"` {
		age := time.Duration(s.LivenessAgeSeconds) * time.Second
		options.Liveness = known{w, s.Liveness, now().Add(-age)}
	}
	if s.Introspection != nil {
		options.Introspection = known{w, s.Introspection, now()}
	}
	g, err := guard.New(options)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// FindResource finds what the target has in its store.
func (w *World) FindResource(_ context.Context, _, id string) (*guard.Resource, error) {
	for _, resource := range w.Resources {
		if resource.ID == id {
			return &resource, nil
		}
	}
	return nil, nil
}

// snapshot answers what the situation's principal was granted.
func (w *World) snapshot(s *Situation, request *http.Request) (*http.Response, error) {
	switch string(s.Grants) {
	case `"down"`:
		return nil, ErrUnreachable
	case `"stale"`:
		return Response(http.StatusConflict, ""), nil
	}
	var given []struct {
		Role, TenantID, ContextID string
		Resource                  map[string]any
		ExpiresAtMs               *json.Number
	}
	if s.Grants != nil {
		if err := json.Unmarshal(s.Grants, &given); err != nil {
			return nil, err
		}
	}
	grants, roles := []any{}, []any{}
	for _, one := range given {
		grant := map[string]any{"role_id": one.Role}
		if one.TenantID != "" {
			grant["tenant_id"] = one.TenantID
		}
		if one.ContextID != "" {
			grant["context_id"] = one.ContextID
		}
		if one.Resource != nil {
			grant["resource"] = one.Resource
		}
		if one.ExpiresAtMs != nil {
			grant["expires_at_ms"] = *one.ExpiresAtMs
		}
		grants = append(grants, grant)
	}
	for key, role := range w.Roles {
		roles = append(roles, map[string]any{
			"id": key, "key": key, "permissions": role.Permissions, "inheritable": role.Inheritable,
		})
	}
	claims := changed(w.Claims, s.Claims)
	answer := map[string]any{"iss": w.Issuer, "iat": w.Now, "roles": roles, "scopes": w.Scopes, "grants": grants}
	for _, name := range []string{"sub", "app_id", "tenant_id", "context_id", "perm_ver"} {
		if value, there := claims[name]; there {
			answer[name] = value
		}
	}
	header := map[string]any{"alg": "ES256", "typ": "perm+jwt", "kid": "statement-1"}
	_ = request
	return JSON(map[string]any{"jws": w.sign("statements", header, answer)}), nil
}

// known answers what is known of a caller, as guard.LivenessSource and guard.Introspector.
type known struct {
	world  *World
	change json.RawMessage
	asOf   time.Time
}

func (k known) Introspect(context.Context, *guard.AuthContext, string) (*guard.Liveness, error) {
	return k.liveness()
}

func (k known) Liveness(context.Context, *guard.AuthContext) (*guard.Liveness, error) {
	return k.liveness()
}

func (k known) liveness() (*guard.Liveness, error) {
	if string(k.change) == `"down"` {
		return nil, ErrUnreachable
	}
	change := map[string]any{}
	if k.change != nil {
		decoder := json.NewDecoder(bytes.NewReader(k.change))
		decoder.UseNumber()
		if err := decoder.Decode(&change); err != nil {
			return nil, err
		}
	}
	session := changed(k.world.Liveness["session"].(map[string]any), nil)
	if of, there := change["session"].(map[string]any); there {
		session = changed(session, of)
	}
	merged := changed(k.world.Liveness, change)
	status := func(of map[string]any, name string) string {
		text, _ := of[name].(string)
		return text
	}
	at := func(name string) time.Time {
		ms, err := session[name].(json.Number).Float64()
		if err != nil {
			panic(err)
		}
		return time.UnixMilli(int64(ms))
	}
	version := func(name string) int64 {
		number, err := merged["minimum"].(map[string]any)[name].(json.Number).Int64()
		if err != nil {
			panic(err)
		}
		return number
	}
	var revoked []string
	for _, kind := range merged["revoked"].([]any) {
		revoked = append(revoked, kind.(string))
	}
	return &guard.Liveness{AsOf: k.asOf, Facts: guard.Facts{
		Principal: status(merged, "principal"), Actor: status(merged, "actor"), Identity: status(merged, "identity"),
		Membership: status(merged, "membership"), App: status(merged, "app"), Tenant: status(merged, "tenant"),
		Session: &guard.SessionFacts{
			Status: status(session, "status"), IdleExpiresAt: at("idleExpiresAtMs"),
			AbsoluteExpiresAt: at("absoluteExpiresAtMs"),
		},
		// The vectors' store says nothing of contexts: what is not asked for is open.
		Context: "ACTIVE", Revoked: revoked,
		MinPrincipalVersion: version("principal"), MinPolicyVersion: version("policy"),
	}}, nil
}
