package guard_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"signet.dev/guard"
	"signet.dev/guard/internal/vectors"
)

// TestDecisionsOverHTTP decides every case behind net/http, with what the caller is told.
func TestDecisionsOverHTTP(t *testing.T) {
	w := vectors.ReadDecisions(t)
	for _, one := range w.Cases {
		t.Run(one.Requirement+": "+one.Situation, func(t *testing.T) {
			situation, requirement := w.Situations[one.Situation], w.Requirements[one.Requirement]
			mux := http.NewServeMux()
			options := guard.HTTPOptions{EndpointOptions: guard.EndpointOptions{FindResource: w.FindResource}}
			var caller *guard.AuthContext
			handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { caller = guard.Caller(r.Context()) })
			for _, pattern := range []string{"POST /notes", "POST /tenants/{tenant_id}"} {
				err := w.Guard(t, situation).HTTP(options).Handle(mux, pattern, requirement.Value(), handler)
				if err != nil && !strings.Contains(err.Error(), "PATH has no field") {
					t.Fatal(err)
				}
			}
			path, body := "/notes", map[string]any{}
			for field, value := range situation.Request {
				put(body, field, value)
			}
			for _, check := range requirement.Checks() {
				if check.From == guard.FromPath {
					path = "/tenants/" + situation.Request[check.Field]
				}
			}
			text, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			request := httptest.NewRequest(http.MethodPost, path, strings.NewReader(string(text)))
			request.Header.Set("Content-Type", "application/json")
			for _, header := range w.Authorization(situation) {
				request.Header.Add("Authorization", header)
			}
			answer := httptest.NewRecorder()
			mux.ServeHTTP(answer, request)
			if got := outcomeOf(t, answer, caller); !reflect.DeepEqual(got, one.Expected) {
				t.Fatalf("got %+v, want %+v", got, one.Expected)
			}
		})
	}
	if len(w.Cases) < 200 {
		t.Fatalf("%d cases", len(w.Cases))
	}
}

// put sets a field by its path.
func put(into map[string]any, path, value string) {
	name, rest, isDeeper := strings.Cut(path, ".")
	if !isDeeper {
		into[name] = value
		return
	}
	deeper := map[string]any{}
	into[name] = deeper
	put(deeper, rest, value)
}

func outcomeOf(t *testing.T, answer *httptest.ResponseRecorder, caller *guard.AuthContext) vectors.Outcome {
	if answer.Code == http.StatusOK {
		return vectors.Allowed(caller)
	}
	var problem struct {
		Type, Title, Detail, Domain, Reason string
		Status                              int
		Metadata                            map[string]string
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &problem); err != nil {
		t.Fatalf("%d %s: %v", answer.Code, answer.Body, err)
	}
	if problem.Domain != "signet" || problem.Type != "urn:signet:reason:"+problem.Reason || problem.Status != answer.Code {
		t.Fatalf("an unusual problem: %s", answer.Body)
	}
	if answer.Header().Get("Content-Type") != "application/problem+json" || answer.Header().Get("Cache-Control") != "no-store" {
		t.Fatalf("unusual headers: %v", answer.Header())
	}
	outcome := vectors.Outcome{
		Reason: problem.Reason, Message: problem.Detail, Status: problem.Status, Metadata: problem.Metadata,
	}
	if challenge := answer.Header().Values("WWW-Authenticate"); len(challenge) > 0 {
		outcome.Challenge = &challenge[0]
	}
	return outcome
}
