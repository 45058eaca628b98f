package guard

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// Challenge returns the WWW-Authenticate header of a refusal (RFC 6750 section 3, RFC 9470 section 3); "" for none.
func (d *Denial) Challenge() string {
	switch d.Reason {
	case ReasonMissingScope:
		return bearerChallenge("error", "insufficient_scope", "scope", d.Metadata["scope"])
	case ReasonStepUpRequired:
		return bearerChallenge("error", "insufficient_user_authentication", "max_age", d.Metadata["max_age"])
	case ReasonNoCredential:
		// Nothing was wrong with a credential that was not there (RFC 6750 section 3.1).
		return bearerChallenge()
	}
	if d.Status() != http.StatusUnauthorized {
		return ""
	}
	return bearerChallenge("error", "invalid_token", "error_description", d.Message())
}

// bearerChallenge takes names and values in turn.
func bearerChallenge(parameters ...string) string {
	parts := []string{`realm="signet"`}
	for pair := range slices.Chunk(parameters, 2) {
		// Printable ASCII without quote and backslash: nothing that a caller sent can end the quoted string.
		value := strings.Map(func(r rune) rune {
			if r < ' ' || r > '~' || r == '"' || r == '\\' {
				return -1
			}
			return r
		}, pair[1])
		parts = append(parts, pair[0]+`="`+value+`"`)
	}
	return "Bearer " + strings.Join(parts, ", ")
}

type problem struct {
	Type     string            `json:"type"`
	Title    string            `json:"title"`
	Status   int               `json:"status"`
	Detail   string            `json:"detail"`
	Reason   Reason            `json:"reason"`
	Domain   string            `json:"domain"`
	Metadata map[string]string `json:"metadata"`
}

// WriteProblem answers with a refusal: a problem (RFC 9457) and a challenge (RFC 6750). Any error that is no [*Denial]
// is told as INTERNAL.
func WriteProblem(w http.ResponseWriter, err error) {
	denial := denialOf(err)
	metadata := denial.Metadata
	if metadata == nil {
		metadata = map[string]string{}
	}
	text, _ := json.Marshal(problem{
		Type: "urn:signet:reason:" + string(denial.Reason), Title: denial.Message(), Status: denial.Status(),
		Detail: denial.Message(), Reason: denial.Reason, Domain: "signet", Metadata: metadata,
	})
	header := w.Header()
	header.Set("Content-Type", "application/problem+json")
	header.Set("Cache-Control", "no-store")
	if challenge := denial.Challenge(); challenge != "" {
		header.Set("WWW-Authenticate", challenge)
	}
	w.WriteHeader(denial.Status())
	_, _ = w.Write(text)
}
