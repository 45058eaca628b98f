package guard

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"net/url"
	"time"
)

// Introspector asks the issuer whether a token is still good. An error means that it did not answer.
type Introspector interface {
	Introspect(ctx context.Context, caller *AuthContext, token string) (*Liveness, error)
}

// IntrospectionOptions configures [NewIntrospection].
type IntrospectionOptions struct {
	// URL is the issuer's introspection endpoint (RFC 7662).
	URL string
	// Token is this service's own, with the scope auth.introspect.
	Token      TokenSource
	HTTPClient *http.Client
	Now        func() time.Time
	// Timeout is 2 s where it is 0.
	Timeout time.Duration
}

type introspection struct {
	url    string
	tokens TokenSource
	fetch  fetcher
	now    func() time.Time
	limits fetchLimits
	asking flight[*Liveness]
}

// NewIntrospection returns an introspector that asks the issuer; callers with one token at one time share one question.
func NewIntrospection(options IntrospectionOptions) (Introspector, error) {
	if err := checkAddress("IntrospectionOptions.URL", options.URL); err != nil {
		return nil, err
	}
	if options.Token == nil {
		return nil, errors.New("guard: IntrospectionOptions.Token is nil")
	}
	if options.Timeout <= 0 {
		options.Timeout = 2 * time.Second
	}
	return &introspection{
		url: options.URL, tokens: options.Token, fetch: newFetcher(options.HTTPClient), now: clockOr(options.Now),
		limits: fetchLimits{timeout: options.Timeout, maxBytes: 65_536},
	}, nil
}

// Introspect implements [Introspector].
func (i *introspection) Introspect(ctx context.Context, caller *AuthContext, token string) (*Liveness, error) {
	digest := sha256.Sum256([]byte(token))
	return i.asking.do(ctx, string(digest[:]), 2*i.limits.timeout, func(ctx context.Context) (*Liveness, error) {
		// Before the question: what changes while it is under way may be missed.
		asOf := i.now()
		asked := question{url: i.url, form: url.Values{"token": {token}}}
		text, err := i.fetch.textWithToken(ctx, i.tokens, asked, i.limits)
		if err != nil {
			return nil, err
		}
		answer, err := parseObject(text)
		if err != nil {
			return nil, errors.New("the response is not an introspection response")
		}
		facts := aliveFacts()
		switch answer["active"] {
		case false:
			// The issuer does not say why.
			facts.Revoked = []string{"TOKEN"}
		case true:
			if answer["jti"] != caller.TokenID {
				return nil, errors.New("the introspection response is not about this token")
			}
		default:
			return nil, errors.New("the response is not an introspection response")
		}
		return &Liveness{Facts: facts, AsOf: asOf}, nil
	})
}
