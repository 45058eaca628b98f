package guard_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"signet.dev/guard"
	"signet.dev/guard/internal/vectors"
)

type keySetVectors struct {
	Now       int64
	Documents []struct {
		Name, Text string
		PadTo      int
		Expected   *[]string
	}
	Sequences []struct {
		Name  string
		Steps []struct {
			Now      int64
			Answer   *vectors.Answer
			Find     string
			Expected string
			Fetches  int
		}
	}
}

func newKeySet(t *testing.T, clock *vectors.Clock, answer vectors.Transport) guard.KeySet {
	keys, err := guard.NewKeySet(guard.KeySetOptions{
		URL: "https://auth.example/.well-known/jwks.json", HTTPClient: answer.Client(), Now: clock.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func found(keys guard.KeySet, kid string) string {
	if _, err := keys.Find(context.Background(), kid); err != nil {
		return string(reasonOf(err))
	}
	return "found"
}

func TestKeySetDocuments(t *testing.T) {
	var v keySetVectors
	vectors.Read(t, "key-sets.json", &v)
	kids := []string{"key-1", "rsa-1", "hmac", "ed", "", "../key", "key-1\n", strings.Repeat("k", 129)}
	for _, document := range v.Documents {
		if document.Expected != nil {
			kids = append(kids, *document.Expected...)
		}
	}
	for _, document := range v.Documents {
		t.Run(document.Name, func(t *testing.T) {
			clock := &vectors.Clock{}
			clock.Set(v.Now)
			text := document.Text + strings.Repeat(" ", max(0, document.PadTo-len(document.Text)))
			keys := newKeySet(t, clock, func(*http.Request) (*http.Response, error) {
				return vectors.Response(http.StatusOK, text), nil
			})
			for _, kid := range kids {
				want := "UNAVAILABLE"
				if document.Expected != nil {
					want = "KEY_UNKNOWN"
					if slices.Contains(*document.Expected, kid) {
						want = "found"
					}
				}
				if got := found(keys, kid); got != want {
					t.Fatalf("%s: got %s, want %s", kid, got, want)
				}
			}
		})
	}
}

func TestKeySetSequences(t *testing.T) {
	var v keySetVectors
	vectors.Read(t, "key-sets.json", &v)
	for _, sequence := range v.Sequences {
		t.Run(sequence.Name, func(t *testing.T) {
			clock := &vectors.Clock{}
			fetches := 0
			answer := &vectors.Answer{IsUnreachable: true}
			keys := newKeySet(t, clock, func(request *http.Request) (*http.Response, error) {
				fetches++
				if request.URL.Path != "/.well-known/jwks.json" {
					t.Errorf("a redirect to %s was followed", request.URL)
				}
				if answer.IsUnreachable {
					return nil, vectors.ErrUnreachable
				}
				response := vectors.Response(answer.Status, answer.Text)
				if answer.Location != "" {
					response.Header.Set("Location", answer.Location)
				}
				return response, nil
			})
			for i, step := range sequence.Steps {
				clock.Set(step.Now)
				if step.Answer != nil {
					answer = step.Answer
				}
				if got := found(keys, step.Find); got != step.Expected || fetches != step.Fetches {
					t.Fatalf("step %d: got %s after %d fetches, want %s after %d", i, got, fetches, step.Expected, step.Fetches)
				}
			}
		})
	}
}
