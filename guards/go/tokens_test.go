package guard_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	"signet.dev/guard"
	"signet.dev/guard/internal/vectors"
)

type tokenVectors struct {
	Now              int64
	Issuer, Audience string
	JWKS             json.RawMessage
	Cases            []struct {
		Name          string
		Authorization *string
		Expected      struct {
			Reason  guard.Reason
			Context map[string]any
		}
	}
	Sequences []struct {
		Name  string
		Steps []struct {
			Now           int64
			Authorization string
			Expected      string
		}
	}
}

func readTokens(t testing.TB) (*tokenVectors, func(clock *vectors.Clock, cacheSize int) *guard.Guard) {
	var v tokenVectors
	vectors.Read(t, "tokens.json", &v)
	keys, err := guard.NewStaticKeySet(v.JWKS)
	if err != nil {
		t.Fatal(err)
	}
	return &v, func(clock *vectors.Clock, cacheSize int) *guard.Guard {
		g, err := guard.New(guard.Options{
			Issuer: v.Issuer, Audience: v.Audience, AppID: guard.AnyApp, KeySet: keys, CacheSize: cacheSize,
			Now: clock.Now,
		})
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
}

func TestTokens(t *testing.T) {
	v, newGuard := readTokens(t)
	for _, one := range v.Cases {
		t.Run(one.Name, func(t *testing.T) {
			clock := &vectors.Clock{}
			clock.Set(v.Now)
			var headers []string
			if one.Authorization != nil {
				headers = []string{*one.Authorization}
			}
			caller, err := newGuard(clock, -1).Authenticate(context.Background(), headers)
			if one.Expected.Reason != "" {
				if got := reasonOf(err); got != one.Expected.Reason {
					t.Fatalf("got %q, want %q", got, one.Expected.Reason)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := plainContext(t, caller); !reflect.DeepEqual(got, plain(t, one.Expected.Context)) {
				t.Fatalf("got %v, want %v", got, one.Expected.Context)
			}
		})
	}
	if len(v.Cases) < 200 {
		t.Fatalf("%d cases", len(v.Cases))
	}
}

func TestTokenSequences(t *testing.T) {
	v, newGuard := readTokens(t)
	for _, sequence := range v.Sequences {
		t.Run(sequence.Name, func(t *testing.T) {
			clock := &vectors.Clock{}
			g := newGuard(clock, 100)
			for i, step := range sequence.Steps {
				clock.Set(step.Now)
				_, err := g.Authenticate(context.Background(), []string{step.Authorization})
				if got := acceptedOr(err); got != step.Expected {
					t.Fatalf("step %d: got %s, want %s", i, got, step.Expected)
				}
			}
		})
	}
}

func reasonOf(err error) guard.Reason {
	var denial *guard.Denial
	if errors.As(err, &denial) {
		return denial.Reason
	}
	return ""
}

func acceptedOr(err error) string {
	if err == nil {
		return "accepted"
	}
	return string(reasonOf(err))
}

// plainContext writes a context as the vectors do.
func plainContext(t *testing.T, c *guard.AuthContext) map[string]any {
	orNull := func(text string) any {
		if text == "" {
			return nil
		}
		return text
	}
	ms := func(at time.Time) any {
		if at.IsZero() {
			return nil
		}
		return at.UnixMilli()
	}
	ref := func(of guard.PrincipalRef) any { return map[string]any{"id": of.ID, "kind": of.Kind} }
	var actor, delegation any
	if d := c.Delegation; d != nil {
		actor = ref(d.Actor)
		delegation = map[string]any{
			"actor": actor, "actorClientId": d.ActorClientID, "jobId": d.JobID, "depth": d.Depth,
			"originSessionId": orNull(d.OriginSessionID), "expiresAtMs": ms(d.ExpiresAt),
		}
	}
	principal, policy := guard.VersionsOf(c)
	return plain(t, map[string]any{
		"principal": ref(c.Principal), "identityId": orNull(c.IdentityID), "appId": c.AppID,
		"tenantId": orNull(c.TenantID), "contextId": orNull(c.ContextID), "sessionId": orNull(c.SessionID),
		"deviceId": orNull(c.DeviceID), "tokenId": orNull(c.TokenID), "credentialId": orNull(c.CredentialID),
		"issuer": c.Issuer, "audience": c.Audience, "scopes": c.Scopes.Slice(), "roles": grants(c),
		"permissions": grants(c), "method": c.Method, "actor": actor, "delegation": delegation,
		"authTimeMs": ms(c.AuthTime), "issuedAtMs": ms(c.IssuedAt), "expiresAtMs": ms(c.ExpiresAt),
		"permVer": c.PermVer, "versions": map[string]any{"principal": principal, "policy": policy},
	})
}

// grants are null: nothing that is verified loads them.
func grants(c *guard.AuthContext) any {
	if grants, loaded := c.Grants(); loaded {
		return grants
	}
	return nil
}

// plain is the value as JSON reads it again, with empty lists for none.
func plain(t *testing.T, value map[string]any) map[string]any {
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var again map[string]any
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	if again["scopes"] == nil {
		again["scopes"] = []any{}
	}
	return again
}
