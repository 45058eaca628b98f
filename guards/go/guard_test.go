package guard_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"signet.dev/guard"
	"signet.dev/guard/internal/vectors"
)

const (
	someApp   = "app_0000000001e008000000000000"
	otherApp  = "app_0000000002e008000000000000"
	ownTenant = "ten_0000000001e008000000000000"
)

// newGuard is a guard of tokens.json at its time, and a good token of its.
func newGuard(t testing.TB, change func(*guard.Options)) (*guard.Guard, string) {
	var v tokenVectors
	vectors.Read(t, "tokens.json", &v)
	options := guard.Options{
		Issuer: v.Issuer, Audience: v.Audience, AppID: guard.AnyApp, KeySet: staticKeys(t, v.JWKS),
		Now: func() time.Time { return time.Unix(v.Now, 0) },
	}
	if change != nil {
		change(&options)
	}
	g, err := guard.New(options)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range v.Cases {
		if one.Name == "a user's" {
			return g, strings.TrimPrefix(*one.Authorization, "Bearer ")
		}
	}
	t.Fatal("no good token")
	return nil, ""
}

func TestAGuardDoesNotStartWithoutItsOptions(t *testing.T) {
	keys := staticKeys(t, []byte(`{"keys":[]}`))
	full := guard.Options{Issuer: "https://auth.example", Audience: "svc", AppID: guard.AnyApp, KeySet: keys}
	if _, err := guard.New(full); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*guard.Options){
		"Options.Issuer":           func(o *guard.Options) { o.Issuer = "" },
		"Options.Audience":         func(o *guard.Options) { o.Audience = "" },
		"Options.AppID":            func(o *guard.Options) { o.AppID = "" },
		"guard.AnyApp":             func(o *guard.Options) { o.AppID = "notes" },
		"Options.KeySet":           func(o *guard.Options) { o.KeySet = nil },
		"Options.DefaultFreshness": func(o *guard.Options) { o.DefaultFreshness = &guard.Freshness{OnStale: "MAYBE"} },
	} {
		options := full
		change(&options)
		if _, err := guard.New(options); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestARequirementThatCannotBeCheckedDoesNotStart(t *testing.T) {
	g, _ := newGuard(t, nil)
	for name, requirement := range map[string]guard.Requirement{
		"nothing":                    {},
		"an empty scope":             guard.Scope(""),
		"an action that is none":     guard.Action("edit"),
		"no kinds":                   guard.Kinds(),
		"an unknown kind":            guard.Kinds("ROBOT"),
		"no actors":                  guard.Delegated(),
		"an empty actor":             guard.Delegated(""),
		"an empty any_of":            guard.AnyOf(),
		"an empty all_of":            guard.AllOf(),
		"an empty part":              guard.AnyOf(guard.Scope("a"), guard.AllOf()),
		"public in a composite":      guard.AnyOf(guard.Public(), guard.Scope("a")),
		"a body's credential in one": guard.AllOf(guard.BodyCredential()),
		"a device's proof":           guard.DeviceProven(),
		"a graph":                    guard.Tenant(guard.FromGraph, "tenant"),
		"a path without variables":   guard.Tenant(guard.FromPath, "tenant_id"),
		"a header in capitals":       guard.Tenant(guard.FromHeader, "X-Tenant"),
		"an empty field":             guard.Tenant(guard.FromBody, ""),
		"a tenant from nowhere":      guard.Tenant("", "tenant_id"),
		"a token that has a field":   guard.Tenant(guard.FromToken, "tenant_id"),
		"a resource of the token":    guard.ActionOn("a.b.c", "note", guard.FromToken, ""),
		"a resource without a type":  guard.ActionOn("a.b.c", "", guard.FromBody, "id"),
		"an unknown on_stale":        guard.Scope("a").Fresh(guard.Freshness{OnStale: "MAYBE"}),
		"a negative age":             guard.Scope("a").Fresh(guard.Freshness{MaxStaleness: -1, OnStale: guard.Deny}),
		"a negative sign-in":         guard.Scope("a").MaxAuthAge(-time.Second),
		"freshness of public":        guard.Public().Fresh(guard.Freshness{OnStale: guard.Deny}),
	} {
		if _, err := g.HTTP(guard.HTTPOptions{}).Middleware(requirement); err == nil {
			t.Errorf("%s: started", name)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("Handler did not panic")
		}
	}()
	g.Handler(guard.Scope(""), http.NotFoundHandler())
}

func TestAPathVariableIsOneOfThePattern(t *testing.T) {
	g, _ := newGuard(t, nil)
	requirement := guard.Tenant(guard.FromPath, "tenant_id")
	for pattern, starts := range map[string]bool{
		"GET /tenants/{tenant_id}/notes": true, "/{tenant_id...}": true, "GET /tenants/{id}": false, "GET /tenants": false,
	} {
		err := g.HTTP(guard.HTTPOptions{}).Handle(http.NewServeMux(), pattern, requirement, http.NotFoundHandler())
		if (err == nil) != starts {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}

// answerOf is what a handler behind the requirement answers, and what it read of the body.
func answerOf(t *testing.T, requirement guard.Requirement, contentType, body string) (int, string) {
	g, token := newGuard(t, nil)
	protect, err := g.HTTP(guard.HTTPOptions{MaxBodyBytes: 200}).Middleware(requirement)
	if err != nil {
		t.Fatal(err)
	}
	read := ""
	handler := protect(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		read = string(text)
	}))
	request := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	request.Header.Set("Content-Type", contentType)
	request.Header.Set("Authorization", "Bearer "+token)
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	return answer.Code, read
}

func TestTheBodyIsReadInOneWay(t *testing.T) {
	requirement := guard.Tenant(guard.FromBody, "note.tenant_id")
	for _, one := range []struct {
		name, contentType, body string
		status                  int
	}{
		{"as the schema has it", "application/json", `{"note":{"tenant_id":"%s"}}`, 200},
		{"in lowerCamelCase", "application/json; charset=utf-8", `{"note":{"tenantId":"%s"}}`, 200},
		{"in both", "application/json", `{"note":{"tenantId":"%[1]s","tenant_id":"%[1]s"}}`, 403},
		{"and in other capitals", "application/json", `{"note":{"tenant_id":"%s","TENANT_ID":"ten_other"}}`, 403},
		{"in lowerCamelCase, and in capitals", "application/json", `{"note":{"tenantId":"%s","TENANT_ID":"ten_other"}}`, 403},
		{"of a holder that is there in capitals too", "application/json", `{"note":{"tenant_id":"%s"},"NOTE":{"tenant_id":"ten_other"}}`, 403},
		{"twice", "application/json", `{"note":{"tenant_id":"%[1]s","tenant_id":"%[1]s"}}`, 403},
		{"twice, once escaped", "application/json", `{"note":{"tenant_id":"x","tenant_i\u0064":"%s"}}`, 403},
		{"in a list", "application/json", `{"note":{"tenant_id":["%s"]}}`, 403},
		{"elsewhere", "application/json", `{"tenant_id":"%s"}`, 403},
		{"in other capitals", "application/json", `{"Note":{"TENANT_ID":"%s"}}`, 403},
		{"after another value", "application/json", `{"note":{"tenant_id":"%s"}}{}`, 403},
		{"as text", "text/plain", `{"note":{"tenant_id":"%s"}}`, 403},
		{"too long", "application/json", `{"note":{"tenant_id":"%s"}}` + strings.Repeat(" ", 200), 403},
		{"not at all", "application/json", ``, 403},
	} {
		body := one.body
		if strings.Contains(body, "%") {
			body = fmt.Sprintf(body, ownTenant)
		}
		status, read := answerOf(t, requirement, one.contentType, body)
		if status != one.status {
			t.Errorf("%s: %d", one.name, status)
		}
		if status == 200 && read != body {
			t.Errorf("%s: the handler read %q", one.name, read)
		}
	}
	long := strings.Repeat("x", 1_000)
	if status, read := answerOf(t, guard.AnyOf(requirement, guard.Scope("notes.read")), "application/json", long); status != 200 || read != long {
		t.Errorf("a long body: %d, %d bytes", status, len(read))
	}
}

func TestAnotherAppsTokenIsRefused(t *testing.T) {
	for app, want := range map[string]string{someApp: "allow", otherApp: "APP_MISMATCH", guard.AnyApp: "allow"} {
		g, token := newGuard(t, func(o *guard.Options) { o.AppID = app })
		if got := decide(t, g, token, guard.Scope("notes.read")); got != want {
			t.Errorf("%s: %s", app, got)
		}
	}
}

func TestAHandlerChangesItsOwnContextAlone(t *testing.T) {
	g, token := newGuard(t, nil)
	headers := []string{"Bearer " + token}
	first, err := g.Authenticate(context.Background(), headers)
	if err != nil {
		t.Fatal(err)
	}
	first.TenantID, first.Scopes = "changed", guard.NewSet("admin")
	first.Scopes.Slice()[0] = "changed"
	first.Claims()["sub"] = "changed"
	second, err := g.Authenticate(context.Background(), headers)
	if err != nil {
		t.Fatal(err)
	}
	if second.TenantID != ownTenant || second.Scopes.Has("admin") || second.Claims()["sub"] != second.Principal.ID {
		t.Fatalf("%+v", second)
	}
}

func TestNoTokenIsPrinted(t *testing.T) {
	g, token := newGuard(t, nil)
	caller, err := g.Authenticate(context.Background(), []string{"Bearer " + token})
	if err != nil {
		t.Fatal(err)
	}
	service, err := guard.NewServiceToken(guard.ServiceTokenOptions{
		URL: "https://auth.example/auth/token", ClientID: "svc", ClientSecret: "sgsec_hidden", Audience: "auth", Scope: "a",
	})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	slog.New(slog.NewJSONHandler(&out, nil)).Info("call", "caller", caller, "token", service)
	slog.New(slog.NewTextHandler(&out, nil)).Info("call", "caller", caller, "token", service)
	fmt.Fprintf(&out, "%v %+v %#v %v %+v %#v", caller, caller, caller, service, service, service)
	if text, err := json.Marshal(caller); err == nil {
		out.Write(text)
	}
	signature := token[strings.LastIndex(token, ".")+1:]
	for _, secret := range []string{signature, "sgsec_hidden"} {
		if strings.Contains(out.String(), secret) {
			t.Errorf("printed: %s", out.String())
		}
	}
	if !strings.Contains(out.String(), caller.Principal.ID) {
		t.Error("nothing was printed")
	}
}

func TestWhatFindResourceFailsWithIsAFault(t *testing.T) {
	g, token := newGuard(t, nil)
	var heard *guard.Denial
	options := guard.EndpointOptions{
		FindResource: func(context.Context, string, string) (*guard.Resource, error) { return nil, io.ErrUnexpectedEOF },
		OnDeny:       func(_ context.Context, denial *guard.Denial, _ *guard.AuthContext) { heard = denial },
	}
	endpoint, err := g.Endpoint(guard.ActionOn("a.b.c", "note", guard.FromBody, "id"), options, vectors.AnySource)
	if err != nil {
		t.Fatal(err)
	}
	read := func() guard.ReadValue { return func(guard.Source, string) string { return "n1" } }
	_, err = endpoint.Decide(context.Background(), []string{"Bearer " + token}, read)
	if reasonOf(err) != guard.ReasonInternal || heard == nil || strings.Contains(err.Error(), "EOF") {
		t.Fatalf("%v, heard %v", err, heard)
	}
}

func TestTheAuditHearsTheTrueReason(t *testing.T) {
	g, token := newGuard(t, nil)
	var heard guard.Reason
	options := guard.EndpointOptions{
		FindResource: func(context.Context, string, string) (*guard.Resource, error) {
			return &guard.Resource{Type: "note", ID: "n1", AppID: otherApp}, nil
		},
		OnDeny: func(_ context.Context, denial *guard.Denial, _ *guard.AuthContext) { heard = denial.TrueReason },
	}
	endpoint, err := g.Endpoint(guard.ActionOn("a.b.c", "note", guard.FromBody, "id"), options, vectors.AnySource)
	if err != nil {
		t.Fatal(err)
	}
	read := func() guard.ReadValue { return func(guard.Source, string) string { return "n1" } }
	_, err = endpoint.Decide(context.Background(), []string{"Bearer " + token}, read)
	if reasonOf(err) != guard.ReasonResourceUnresolved || heard != guard.ReasonAppMismatch {
		t.Fatalf("told %v, heard %s", err, heard)
	}
}

// TestManyAtOnce is for the race detector.
func TestManyAtOnce(t *testing.T) {
	var v feedVectors
	vectors.Read(t, "feed.json", &v)
	statement := v.Sequences[0].Steps[0].Exchanges[0].Answer
	var fetches atomic.Int64
	client := vectors.Transport(func(request *http.Request) (*http.Response, error) {
		if strings.HasPrefix(request.URL.Path, "/.well-known") {
			fetches.Add(1)
			time.Sleep(time.Millisecond)
			return vectors.Response(http.StatusOK, string(v.JWKS)), nil
		}
		return vectors.JSON(statement.Body), nil
	}).Client()
	now := func() time.Time { return time.Unix(v.Now, 0) }
	keys, err := guard.NewKeySet(guard.KeySetOptions{URL: v.Issuer + "/.well-known/jwks.json", HTTPClient: client, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	feed, err := guard.NewRevocationFeed(guard.FeedOptions{
		Issuer: v.Issuer, BaseURL: v.Issuer, StatementKeys: staticKeys(t, v.StatementJWKS), Token: vectors.OwnToken{},
		HTTPClient: client, Now: now,
	})
	if err != nil {
		t.Fatal(err)
	}
	g, err := guard.New(guard.Options{
		Issuer: v.Issuer, Audience: v.Audience, AppID: guard.AnyApp, KeySet: keys, Revocations: feed, Now: now, CacheSize: 3,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Add(1)
	go func() {
		defer all.Done()
		_ = feed.Run(ctx)
	}()
	var calls sync.WaitGroup
	for range 16 {
		calls.Add(1)
		go func() {
			defer calls.Done()
			for range 20 {
				for name, token := range v.Tokens {
					got := decide(t, g, token, guard.Kinds(guard.User, guard.Service).AllowDelegated())
					if got != "allow" && got != "TOKEN_NOT_YET_VALID" {
						t.Errorf("%s: %s", name, got)
					}
				}
			}
		}()
	}
	calls.Wait()
	stop()
	all.Wait()
	if fetches.Load() != 1 {
		t.Errorf("keys were fetched %d times", fetches.Load())
	}
}

type rememberingKeys struct{ asked []string }

func (k *rememberingKeys) Find(_ context.Context, kid string) (*ecdsa.PublicKey, error) {
	k.asked = append(k.asked, kid)
	return nil, guard.NewDenial(guard.ReasonKeyUnknown, nil)
}

func TestOnlyAKidOfTheRightShapeReachesTheKeySet(t *testing.T) {
	keys := &rememberingKeys{}
	var v tokenVectors
	vectors.Read(t, "tokens.json", &v)
	g, _ := newGuard(t, func(o *guard.Options) { o.KeySet = keys })
	for _, one := range v.Cases {
		if one.Authorization != nil {
			_, _ = g.Authenticate(context.Background(), []string{*one.Authorization})
		}
	}
	for _, kid := range keys.asked {
		if !regexp.MustCompile(`\A[A-Za-z0-9_-]{1,128}\z`).MatchString(kid) {
			t.Errorf("asked for %q", kid)
		}
	}
	if len(keys.asked) < 100 {
		t.Errorf("asked for %d keys", len(keys.asked))
	}
}

func TestAServiceTokenIsRenewed(t *testing.T) {
	clock := &vectors.Clock{}
	clock.Set(0)
	issued := 0
	tokens, err := guard.NewServiceToken(guard.ServiceTokenOptions{
		URL: "https://auth.example/auth/token", ClientID: "svc", ClientSecret: "secret", Audience: "auth", Scope: "a b",
		Now: clock.Now, HTTPClient: vectors.Transport(func(request *http.Request) (*http.Response, error) {
			if err := request.ParseForm(); err != nil {
				return nil, err
			}
			want := "audience=auth&client_id=svc&client_secret=secret&grant_type=client_credentials&scope=a+b"
			if request.Method != http.MethodPost || request.PostForm.Encode() != want {
				t.Errorf("asked %s %s", request.Method, request.PostForm.Encode())
			}
			issued++
			return vectors.JSON(map[string]any{"access_token": fmt.Sprintf("token-%d", issued), "expires_in": 600}), nil
		}).Client(),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		at            int64
		refused, want string
	}{
		{0, "", "token-1"}, {569, "", "token-1"}, {570, "", "token-2"}, {571, "token-1", "token-2"},
		{572, "token-2", "token-3"}, {573, "", "token-3"},
	} {
		clock.Set(step.at)
		if got, err := tokens.Token(context.Background(), step.refused); err != nil || got != step.want {
			t.Fatalf("at %d: %s, %v; want %s", step.at, got, err, step.want)
		}
	}
}

// secondToken gives another token for one that was refused.
type secondToken struct{}

func (secondToken) Token(_ context.Context, refused string) (string, error) {
	if refused == "" {
		return "first", nil
	}
	return "after " + refused, nil
}

func TestAnAnswerOf401AsksForAnotherToken(t *testing.T) {
	var v feedVectors
	vectors.Read(t, "feed.json", &v)
	var seen []string
	feed, err := guard.NewRevocationFeed(guard.FeedOptions{
		Issuer: v.Issuer, BaseURL: v.Issuer, StatementKeys: staticKeys(t, v.StatementJWKS), Token: secondToken{},
		Now: func() time.Time { return time.Unix(v.Now, 0) },
		HTTPClient: vectors.Transport(func(request *http.Request) (*http.Response, error) {
			seen = append(seen, request.Header.Get("Authorization"))
			if len(seen) == 1 {
				return vectors.Response(http.StatusUnauthorized, ""), nil
			}
			return vectors.JSON(v.Sequences[0].Steps[0].Exchanges[0].Answer.Body), nil
		}).Client(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := feed.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(seen, []string{"Bearer first", "Bearer after first"}) {
		t.Fatal(seen)
	}
}

func TestAnAnswerIsBoundedInTimeAndACallerDoesNotWaitLonger(t *testing.T) {
	keys, err := guard.NewKeySet(guard.KeySetOptions{
		URL: "https://auth.example/jwks.json", HTTPClient: vectors.Transport(func(request *http.Request) (*http.Response, error) {
			if deadline, ok := request.Context().Deadline(); !ok || time.Until(deadline) > 5*time.Second {
				t.Errorf("a fetch until %v", deadline)
			}
			<-request.Context().Done()
			return nil, request.Context().Err()
		}).Client(),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if _, err := keys.Find(ctx, "key-1"); reasonOf(err) != guard.ReasonUnavailable {
		t.Fatal(err)
	}
}
