// Package vectors reads the vectors that every guard passes: server/guard/vectors in Signet's repository. For tests.
package vectors

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"signet.dev/guard"
)

// Read decodes a file of vectors, or skips the test where the repository is not around the module.
func Read(t testing.TB, name string, into any) {
	t.Helper()
	_, file, _, _ := runtime.Caller(0)
	text, err := os.ReadFile(filepath.Join(filepath.Dir(file), "../../../../server/guard/vectors", name))
	if errors.Is(err, os.ErrNotExist) {
		t.Skipf("%s: vectors are in Signet's repository", name)
	}
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// Clock is a clock that tests set. It is not for several goroutines that set it.
type Clock struct{ At time.Time }

// Now is the time.
func (c *Clock) Now() time.Time { return c.At }

// Set sets the clock to seconds since the Unix epoch.
func (c *Clock) Set(seconds int64) { c.At = time.Unix(seconds, 0) }

// Transport answers requests of the guard in the issuer's place.
type Transport func(request *http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f Transport) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// Client is an http.Client of it.
func (f Transport) Client() *http.Client { return &http.Client{Transport: f} }

// ErrUnreachable is what a request meets where nothing answers.
var ErrUnreachable = errors.New("nothing answers")

// Response is an answer with a status and a body.
func Response(status int, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader([]byte(body))),
	}
}

// JSON is an answer of 200 with a body.
func JSON(body any) *http.Response {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return Response(http.StatusOK, string(text))
}

// Answer is what an issuer answers: "unreachable", or a body, or a status.
type Answer struct {
	IsUnreachable bool
	Status        int             `json:"status"`
	Text          string          `json:"text"`
	Location      string          `json:"location"`
	Body          json.RawMessage `json:"-"`
}

// UnmarshalJSON keeps the whole body.
func (a *Answer) UnmarshalJSON(text []byte) error {
	if string(text) == `"unreachable"` {
		a.IsUnreachable = true
		return nil
	}
	type plain Answer
	if err := json.Unmarshal(text, (*plain)(a)); err != nil {
		return err
	}
	a.Body = bytes.Clone(text)
	return nil
}

// Requirement is one as the vectors write it.
type Requirement struct {
	Is     string          `json:"is"`
	Scope  string          `json:"scope"`
	Action string          `json:"action"`
	Role   string          `json:"role"`
	Type   string          `json:"type"`
	From   guard.Source    `json:"from"`
	Field  string          `json:"field"`
	Of     json.RawMessage `json:"of"`
	Actors []string        `json:"actors"`
	Proof  bool            `json:"proof"`

	Freshness *struct {
		MaxStalenessMs int64         `json:"maxStalenessMs"`
		OnStale        guard.OnStale `json:"onStale"`
	} `json:"freshness"`
	MaxAuthAgeSeconds int64 `json:"maxAuthAgeSeconds"`
	AllowDelegated    bool  `json:"allowDelegated"`
}

// Kinds are those of a requirement of kinds.
func (r *Requirement) Kinds() (kinds []guard.Kind) {
	if err := json.Unmarshal(r.Of, &kinds); err != nil {
		panic(err)
	}
	return kinds
}

// Parts are those of a composite.
func (r *Requirement) Parts() (parts []*Requirement) {
	if err := json.Unmarshal(r.Of, &parts); err != nil {
		panic(err)
	}
	return parts
}

// Checks are the single checks in a requirement.
func (r *Requirement) Checks() []*Requirement {
	if r.Is != "anyOf" && r.Is != "allOf" {
		return []*Requirement{r}
	}
	var checks []*Requirement
	for _, part := range r.Parts() {
		checks = append(checks, part.Checks()...)
	}
	return checks
}

// Value is the requirement as the guard takes it.
func (r *Requirement) Value() guard.Requirement {
	value := r.check()
	if r.AllowDelegated {
		value = value.AllowDelegated()
	}
	if r.MaxAuthAgeSeconds > 0 {
		value = value.MaxAuthAge(time.Duration(r.MaxAuthAgeSeconds) * time.Second)
	}
	if r.Freshness != nil {
		value = value.Fresh(guard.Freshness{
			MaxStaleness: time.Duration(r.Freshness.MaxStalenessMs) * time.Millisecond, OnStale: r.Freshness.OnStale,
		})
	}
	return value
}

func (r *Requirement) check() guard.Requirement {
	var parts []guard.Requirement
	switch r.Is {
	case "public":
		return guard.Public()
	case "bodyCredential":
		return guard.BodyCredential()
	case "scope":
		return guard.Scope(r.Scope)
	case "role":
		return guard.Role(r.Role)
	case "action":
		return guard.Action(r.Action)
	case "resourceAction":
		return guard.ActionOn(r.Action, r.Type, r.From, r.Field)
	case "kinds":
		return guard.Kinds(r.Kinds()...)
	case "tenant":
		return guard.Tenant(r.From, r.Field)
	case "delegated":
		return guard.Delegated(r.Actors...)
	case "device":
		return guard.Device()
	case "anyOf", "allOf":
		for _, part := range r.Parts() {
			parts = append(parts, part.Value())
		}
	default:
		panic(fmt.Sprintf("an unknown requirement: %s", r.Is))
	}
	if r.Is == "anyOf" {
		return guard.AnyOf(parts...)
	}
	return guard.AllOf(parts...)
}

// OwnToken is the service's own, for requests to the issuer.
type OwnToken struct{}

// Token implements guard.TokenSource.
func (OwnToken) Token(context.Context, string) (string, error) { return "own", nil }

// AnySource lets a requirement read everything.
func AnySource(guard.Source, string) error { return nil }
