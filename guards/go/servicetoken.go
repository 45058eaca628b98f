package guard

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// ServiceTokenOptions configures [NewServiceToken].
type ServiceTokenOptions struct {
	// URL is the issuer's token endpoint.
	URL          string
	ClientID     string
	ClientSecret string
	// Audience is the issuer's own: "auth".
	Audience string
	// Scope has scopes with a space between: auth.revocations.read, auth.introspect, auth.permissions.read.
	Scope      string
	HTTPClient *http.Client
	Now        func() time.Time
}

// ServiceToken is a service's own access token (client_credentials), asked for when there is none or it is about to
// expire.
type ServiceToken struct {
	options ServiceTokenOptions
	fetch   fetcher
	now     func() time.Time
	asking  flight[string]

	mu    sync.Mutex
	token string
	until time.Time
}

// renewBefore: half a minute before it expires a token is as good as none.
const renewBefore = 30 * time.Second

var tokenLimits = fetchLimits{timeout: 5 * time.Second, maxBytes: 65_536}

// NewServiceToken returns a token source, or an error that names the option that is missing.
func NewServiceToken(options ServiceTokenOptions) (*ServiceToken, error) {
	if err := checkAddress("ServiceTokenOptions.URL", options.URL); err != nil {
		return nil, err
	}
	if options.ClientID == "" || options.ClientSecret == "" || options.Audience == "" || options.Scope == "" {
		return nil, errors.New("guard: ServiceTokenOptions requires ClientID, ClientSecret, Audience and Scope")
	}
	return &ServiceToken{options: options, fetch: newFetcher(options.HTTPClient), now: clockOr(options.Now)}, nil
}

// Token returns the token. Refused is one that was answered with 401, so that another is asked for; "" for none.
func (s *ServiceToken) Token(ctx context.Context, refused string) (string, error) {
	s.mu.Lock()
	if refused != "" && s.token == refused {
		s.token = ""
	}
	token, isFresh := s.token, s.token != "" && s.now().Before(s.until)
	s.mu.Unlock()
	if isFresh {
		return token, nil
	}
	return s.asking.do(ctx, "", 2*tokenLimits.timeout, s.ask)
}

func (s *ServiceToken) ask(ctx context.Context) (string, error) {
	askedAt := s.now()
	text, err := s.fetch.text(ctx, question{url: s.options.URL, form: url.Values{
		"grant_type": {"client_credentials"}, "client_id": {s.options.ClientID},
		"client_secret": {s.options.ClientSecret}, "audience": {s.options.Audience}, "scope": {s.options.Scope},
	}}, tokenLimits)
	if err != nil {
		return "", err
	}
	answer, err := parseObject(text)
	if err != nil {
		return "", errors.New("the token endpoint's response is not a token response")
	}
	token, hasToken := textOf(answer["access_token"])
	seconds, hasSeconds := numberOf(answer["expires_in"])
	if !hasToken || !hasSeconds {
		return "", errors.New("the token endpoint's response is not a token response")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token, s.until = token, askedAt.Add(time.Duration(seconds*float64(time.Second))-renewBefore)
	return token, nil
}

// MarshalJSON keeps the secret and the token out of logs.
func (s *ServiceToken) MarshalJSON() ([]byte, error) { return json.Marshal("service token") }

// String keeps the secret and the token out of logs.
func (s *ServiceToken) String() string { return "service token of " + s.options.ClientID }

// GoString keeps the secret and the token out of logs.
func (s *ServiceToken) GoString() string { return s.String() }

// TokenSource gives a service's own access token. A [ServiceToken] is one.
type TokenSource interface {
	// Token returns the token; refused is one that was answered with 401.
	Token(ctx context.Context, refused string) (string, error)
}

// textWithToken asks with the token, and again with another one where it is answered 401.
func (f fetcher) textWithToken(ctx context.Context, tokens TokenSource, asked question, limits fetchLimits) ([]byte, error) {
	token, err := tokens.Token(ctx, "")
	if err != nil {
		return nil, err
	}
	asked.bearer = token
	text, err := f.text(ctx, asked, limits)
	if !hasStatus(err, http.StatusUnauthorized) {
		return text, err
	}
	if asked.bearer, err = tokens.Token(ctx, token); err != nil {
		return nil, err
	}
	return f.text(ctx, asked, limits)
}
