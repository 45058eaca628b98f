package guard_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"signet.dev/guard"
	"signet.dev/guard/internal/vectors"
)

type feedVectors struct {
	Now                 int64
	Issuer, Audience    string
	JWKS, StatementJWKS json.RawMessage
	Tokens              map[string]string
	Sequences           []struct {
		Name     string
		Capacity int
		Steps    []struct {
			Now       int64
			Exchanges []exchange
			Problem   string
			Seq       int64
			Size      int
			AsOf      int64

			Token         string
			Requirement   *vectors.Requirement
			Introspection string
			Expected      string
		}
	}
}

type exchange struct {
	Asked  string
	Answer vectors.Answer
}

// scripted answers as the exchanges say, in their order.
type scripted struct {
	t             *testing.T
	exchanges     []exchange
	introspection string
}

func (s *scripted) answer(request *http.Request) (*http.Response, error) {
	if request.Header.Get("Authorization") != "Bearer own" {
		s.t.Errorf("%s was asked without the service's own token", request.URL)
	}
	if request.URL.Path == "/auth/token/introspect" {
		return s.introspect(request)
	}
	asked := request.URL.RequestURI()
	if len(s.exchanges) == 0 || s.exchanges[0].Asked != asked {
		s.t.Errorf("asked %s, want %v", asked, s.exchanges)
		return nil, vectors.ErrUnreachable
	}
	answer := s.exchanges[0].Answer
	s.exchanges = s.exchanges[1:]
	switch {
	case answer.IsUnreachable:
		return nil, vectors.ErrUnreachable
	case answer.Status != 0:
		return vectors.Response(answer.Status, ""), nil
	}
	return vectors.JSON(answer.Body), nil
}

func (s *scripted) introspect(request *http.Request) (*http.Response, error) {
	switch s.introspection {
	case "", "down":
		return nil, vectors.ErrUnreachable
	case "inactive":
		return vectors.JSON(map[string]any{"active": false}), nil
	case "another token":
		return vectors.JSON(map[string]any{"active": true, "jti": "jti_another"}), nil
	}
	if err := request.ParseForm(); err != nil {
		return nil, err
	}
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(request.PostForm.Get("token"), ".")[1])
	if err != nil {
		return nil, err
	}
	var claims struct{ JTI string }
	if err := json.Unmarshal(payload, &claims); err != nil {
		return nil, err
	}
	return vectors.JSON(map[string]any{"active": true, "jti": claims.JTI}), nil
}

func staticKeys(t testing.TB, document []byte) guard.KeySet {
	keys, err := guard.NewStaticKeySet(document)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func TestFeed(t *testing.T) {
	var v feedVectors
	vectors.Read(t, "feed.json", &v)
	anybody := guard.Kinds(guard.User, guard.Service).AllowDelegated()
	for _, sequence := range v.Sequences {
		t.Run(sequence.Name, func(t *testing.T) {
			clock, issuer := &vectors.Clock{}, &scripted{t: t}
			client := vectors.Transport(issuer.answer).Client()
			feed, err := guard.NewRevocationFeed(guard.FeedOptions{
				Issuer: v.Issuer, BaseURL: v.Issuer, StatementKeys: staticKeys(t, v.StatementJWKS),
				Token: vectors.OwnToken{}, HTTPClient: client, Now: clock.Now, Capacity: max(sequence.Capacity, 0),
			})
			if err != nil {
				t.Fatal(err)
			}
			introspection, err := guard.NewIntrospection(guard.IntrospectionOptions{
				URL: v.Issuer + "/auth/token/introspect", Token: vectors.OwnToken{}, HTTPClient: client, Now: clock.Now,
			})
			if err != nil {
				t.Fatal(err)
			}
			g, err := guard.New(guard.Options{
				Issuer: v.Issuer, Audience: v.Audience, AppID: guard.AnyApp, KeySet: staticKeys(t, v.JWKS),
				Revocations: feed, Introspection: introspection, Now: clock.Now,
			})
			if err != nil {
				t.Fatal(err)
			}
			for i, step := range sequence.Steps {
				clock.Set(step.Now)
				issuer.exchanges, issuer.introspection = step.Exchanges, step.Introspection
				if step.Token != "" {
					requirement := anybody
					if step.Requirement != nil {
						requirement = step.Requirement.Value()
					}
					if got := decide(t, g, v.Tokens[step.Token], requirement); got != step.Expected {
						t.Fatalf("step %d: %s: got %s, want %s", i, step.Token, got, step.Expected)
					}
					continue
				}
				if got := problemOf(feed.Refresh(context.Background())); got != step.Problem {
					t.Fatalf("step %d: got problem %q, want %q", i, got, step.Problem)
				}
				asOf := int64(0)
				if !feed.AsOf().IsZero() {
					asOf = feed.AsOf().Unix()
				}
				if feed.Seq() != step.Seq || feed.Len() != step.Size || asOf != step.AsOf || len(issuer.exchanges) > 0 {
					t.Fatalf("step %d: got seq %d, size %d, as of %d, left %v; want %+v", i, feed.Seq(), feed.Len(), asOf,
						issuer.exchanges, step)
				}
			}
		})
	}
}

func problemOf(err error) string {
	var problem *guard.FeedError
	if errors.As(err, &problem) {
		return string(problem.Problem)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// decide returns "allow" or the reason.
func decide(t testing.TB, g *guard.Guard, token string, requirement guard.Requirement) string {
	endpoint, err := g.Endpoint(requirement, guard.EndpointOptions{}, vectors.AnySource)
	if err != nil {
		t.Fatal(err)
	}
	none := func() guard.ReadValue { return func(guard.Source, string) string { return "" } }
	if _, err := endpoint.Decide(context.Background(), []string{"Bearer " + token}, none); err != nil {
		return string(reasonOf(err))
	}
	return "allow"
}
