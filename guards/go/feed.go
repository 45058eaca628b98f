package guard

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"
)

// FeedProblem is why the feed stands still: a [Reason] of its statement, or ISSUER, UNTIMELY, ROLLBACK, GAP, FULL (more
// is revoked than there is room for) or UNREACHABLE (no answer came).
type FeedProblem string

const (
	problemFull        FeedProblem = "FULL"
	problemUnreachable FeedProblem = "UNREACHABLE"
)

// FeedError is what [RevocationFeed.Refresh] returns.
type FeedError struct {
	Problem FeedProblem
	Cause   error
}

// Error implements error.
func (e *FeedError) Error() string { return fmt.Sprintf("the revocation feed: %s", e.Problem) }

// Unwrap returns the cause, for logs.
func (e *FeedError) Unwrap() error { return e.Cause }

// FeedOptions configures [NewRevocationFeed].
type FeedOptions struct {
	// Issuer is the iss that is taken.
	Issuer string
	// BaseURL is where the issuer answers.
	BaseURL string
	// StatementKeys are the keys at /.well-known/statement-keys.json: others sign no statements.
	StatementKeys KeySet
	// Token is this service's own, with the scope auth.revocations.read.
	Token      TokenSource
	HTTPClient *http.Client
	// Capacity is the most entries that are held: 250,000, about 50 MB, where it is 0. With more the feed is stale.
	Capacity int
	// Wait is how long a call waits for news, in whole seconds: how old the feed gets while there is none. 3 s where it is 0.
	Wait time.Duration
	// OnProblem hears each time that the feed cannot go on. It tries again.
	OnProblem func(*FeedError)
	Now       func() time.Time
}

// RevocationFeed is what was revoked, followed from the issuer and held in memory, so that a verifier that asks nobody
// refuses it within moments. It is a [LivenessSource].
type RevocationFeed struct {
	options  FeedOptions
	fetch    fetcher
	now      func() time.Time
	revoked  *revocationSet
	verifier *jwtVerifier[*statement]

	// reading lets one reader at a time move the position.
	reading chan struct{}
	mu      sync.RWMutex
	at      position
}

const (
	defaultCapacity = 250_000
	// An issuer whose log never ends, or always begins anew, is no issuer.
	maxPages      = 10_000
	maxBeginnings = 3

	pauseBetween = 25 * time.Millisecond
	pauseCrowded = time.Second
	pauseFirst   = 250 * time.Millisecond
	pauseLongest = 15 * time.Second
	// Where too many wait already, others ask without waiting, for so long.
	crowdedFor = time.Minute
)

// NewRevocationFeed returns a feed that knows nothing yet: [RevocationFeed.Run] follows it.
func NewRevocationFeed(options FeedOptions) (*RevocationFeed, error) {
	if err := checkAddress("FeedOptions.BaseURL", options.BaseURL); err != nil {
		return nil, err
	}
	if options.Issuer == "" || options.StatementKeys == nil || options.Token == nil {
		return nil, errors.New("guard: FeedOptions requires Issuer, StatementKeys and Token")
	}
	if options.Capacity <= 0 {
		options.Capacity = defaultCapacity
	}
	if options.Wait < time.Second {
		options.Wait = 3 * time.Second
	}
	options.BaseURL = strings.TrimSuffix(options.BaseURL, "/")
	f := &RevocationFeed{
		options: options, fetch: newFetcher(options.HTTPClient), now: clockOr(options.Now),
		revoked: newRevocationSet(options.Capacity), reading: make(chan struct{}, 1),
	}
	f.verifier = &jwtVerifier[*statement]{
		typ: "rev+jwt", keys: f.WithoutRevoked(options.StatementKeys), now: f.now, maxLength: maxStatementLength,
		read: func(claims map[string]any, _ []byte, _ time.Time) (*statement, error) {
			parsed, err := parseStatement(claims)
			if err != nil {
				return nil, refuse(ReasonMalformedCredential)
			}
			return parsed, nil
		},
	}
	return f, nil
}

func (f *RevocationFeed) position() position {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.at
}

func (f *RevocationFeed) move(to position) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at = to
}

// AsOf returns until when everything that was revoked is known here; zero while nothing is.
func (f *RevocationFeed) AsOf() time.Time { return f.position().asOf }

// Seq returns the last place of the log that was read.
func (f *RevocationFeed) Seq() int64 { return f.position().seq }

// Len returns how many entries are held.
func (f *RevocationFeed) Len() int { return f.revoked.len() }

// Liveness implements [LivenessSource]. It asks nobody.
func (f *RevocationFeed) Liveness(_ context.Context, caller *AuthContext) (*Liveness, error) {
	// The position first: what is read in between is then known to be younger.
	asOf, now := f.AsOf(), f.now()
	issuedAt := caller.IssuedAt
	if issuedAt.After(now) {
		issuedAt = now
	}
	// When the token was issued, nothing that it concerns was revoked. What was since is told for as long as an access
	// token lives.
	if now.Sub(issuedAt) > longestToken || asOf.Before(issuedAt) {
		asOf = issuedAt
	}
	return &Liveness{Facts: f.revoked.factsOf(caller, now), AsOf: asOf}, nil
}

type keysWithoutRevoked struct {
	feed *RevocationFeed
	keys KeySet
}

// Find implements [KeySet].
func (k keysWithoutRevoked) Find(ctx context.Context, kid string) (*ecdsa.PublicKey, error) {
	if k.feed.revoked.isKeyRevoked(kid, k.feed.now()) {
		return nil, refuse(ReasonKeyUnknown)
	}
	return k.keys.Find(ctx, kid)
}

// WithoutRevoked returns the same keys without those that were revoked.
func (f *RevocationFeed) WithoutRevoked(keys KeySet) KeySet { return keysWithoutRevoked{f, keys} }

// Refresh reads to the end of the log without waiting for news. Its error is a [*FeedError].
func (f *RevocationFeed) Refresh(ctx context.Context) error { return f.pull(ctx, 0) }

// Run follows the feed until the context ends, and returns the context's error.
func (f *RevocationFeed) Run(ctx context.Context) error {
	var crowdedUntil time.Time
	for failures := 0; ctx.Err() == nil; {
		isCrowded := f.now().Before(crowdedUntil)
		wait, pause := f.options.Wait, pauseBetween
		if isCrowded {
			wait, pause = 0, pauseCrowded
		}
		if err := f.pull(ctx, wait); err != nil {
			if ctx.Err() != nil {
				break
			}
			if hasStatus(err, http.StatusTooManyRequests) {
				crowdedUntil = f.now().Add(crowdedFor)
			}
			f.tell(err)
			pause = min(pauseLongest, pauseFirst<<min(failures, 10))
			pause = pause/2 + rand.N(pause/2)
			failures++
		} else {
			failures = 0
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
	return ctx.Err()
}

func (f *RevocationFeed) tell(err error) {
	var problem *FeedError
	if f.options.OnProblem != nil && errors.As(err, &problem) {
		f.options.OnProblem(problem)
	}
}

// pull reads to the end; where there is no news it waits for some.
func (f *RevocationFeed) pull(ctx context.Context, wait time.Duration) error {
	select {
	case f.reading <- struct{}{}:
		defer func() { <-f.reading }()
	case <-ctx.Done():
		return &FeedError{problemUnreachable, ctx.Err()}
	}
	beginnings := 0
	for range maxPages {
		at := f.position()
		s, err := f.ask(ctx, at, wait)
		if err != nil {
			return err
		}
		next, problem := at.judge(s, f.options.Issuer, f.now())
		if problem == problemGap && beginnings < maxBeginnings {
			beginnings++
			// What is known stays known, until it expires.
			at.seq = 0
			f.move(at)
			continue
		}
		if problem != "" {
			return &FeedError{problem, nil}
		}
		if !f.revoked.add(newEntries(s, at), f.now()) {
			// Read again from the beginning, when some of it may have expired.
			at.seq = 0
			f.move(at)
			return &FeedError{problemFull, nil}
		}
		f.move(next)
		if s.to == s.head {
			return nil
		}
	}
	return &FeedError{problemUnreachable, errors.New("the revocation log did not end within the page limit")}
}

// newEntries leaves out what is known: it may have been followed by something newer of the same key.
func newEntries(s *statement, at position) []revocation {
	var entries []revocation
	for _, entry := range s.entries {
		if s.log != at.log || entry.seq > at.seq {
			entries = append(entries, entry)
		}
	}
	return entries
}

func (f *RevocationFeed) ask(ctx context.Context, at position, wait time.Duration) (*statement, error) {
	seconds := int(wait / time.Second)
	path := fmt.Sprintf("/auth/revocations?after=%d&wait=%d", at.seq, seconds)
	// The end of an empty log can be waited at like any other.
	if at.seq == 0 && (at.log == "" || at.head > 0) {
		path = "/auth/revocations/snapshot?after=0"
	}
	limits := fetchLimits{timeout: 10*time.Second + wait, maxBytes: maxStatementLength}
	text, err := f.fetch.textWithToken(ctx, f.options.Token, question{url: f.options.BaseURL + path}, limits)
	if err != nil {
		return nil, &FeedError{problemUnreachable, err}
	}
	jws := ""
	if answer, err := parseObject(text); err == nil {
		jws, _ = answer["statement"].(string)
	}
	s, err := f.verifier.verify(ctx, jws)
	if err != nil {
		return nil, &FeedError{FeedProblem(denialOf(err).Reason), err}
	}
	return s, nil
}
