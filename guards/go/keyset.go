package guard

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"net/http"
	"sync"
	"time"
)

// KeySet finds the public key that a token names.
type KeySet interface {
	// Find returns a [*Denial] with KEY_UNKNOWN where no such key is published, and with UNAVAILABLE where the keys
	// cannot be had.
	Find(ctx context.Context, kid string) (*ecdsa.PublicKey, error)
}

// KeySetOptions configures [NewKeySet].
type KeySetOptions struct {
	// URL is the address of the issuer's JWK Set. It comes from settings, never from a request or a token.
	URL string
	// HTTPClient fetches the set; a client of the guard's own where it is nil. Redirects are never followed.
	HTTPClient *http.Client
	// Now is the clock; time.Now where it is nil.
	Now func() time.Time
}

const (
	keysMaxAge        = 5 * time.Minute
	keysMaxStale      = 24 * time.Hour
	keysCooldown      = 30 * time.Second
	keysFirstCooldown = 5 * time.Second
	unknownFor        = time.Minute
	maxUnknown        = 1_000
)

var keySetLimits = fetchLimits{timeout: 5 * time.Second, maxBytes: 65_536}

type loadedKeys struct {
	keys      map[string]*ecdsa.PublicKey
	fetchedAt time.Time
}

type remoteKeySet struct {
	url   string
	fetch fetcher
	now   func() time.Time

	refreshes flight[struct{}]
	mu        sync.RWMutex
	loaded    *loadedKeys
	triedAt   time.Time
	unknown   *bounded[string, time.Time]
}

// NewKeySet returns the issuer's published keys: fetched when they are needed and five minutes old, kept for a day while
// fetching fails. A kid that is not in the set leads to at most one fetch in 30 seconds. An answer is bounded to
// 5 seconds, 64 KiB and 16 keys.
func NewKeySet(options KeySetOptions) (KeySet, error) {
	if err := checkAddress("KeySetOptions.URL", options.URL); err != nil {
		return nil, err
	}
	return &remoteKeySet{
		url: options.URL, fetch: newFetcher(options.HTTPClient), now: clockOr(options.Now),
		unknown: newBounded[string, time.Time](maxUnknown),
	}, nil
}

func clockOr(now func() time.Time) func() time.Time {
	if now == nil {
		return time.Now
	}
	return now
}

// Find implements [KeySet].
func (s *remoteKeySet) Find(ctx context.Context, kid string) (*ecdsa.PublicKey, error) {
	loaded := s.current()
	if loaded == nil || s.now().Sub(loaded.fetchedAt) > keysMaxAge {
		if err := s.refresh(ctx); err != nil {
			return nil, unavailable(err)
		}
		loaded = s.current()
	}
	if loaded == nil || s.now().Sub(loaded.fetchedAt) > keysMaxStale {
		return nil, unavailable(errors.New("the key set is not available"))
	}
	if key := loaded.keys[kid]; key != nil {
		return key, nil
	}
	if s.isKnownUnknown(kid) {
		return nil, refuse(ReasonKeyUnknown)
	}
	if err := s.refresh(ctx); err != nil {
		return nil, unavailable(err)
	}
	after := s.current()
	if key := after.keys[kid]; key != nil {
		return key, nil
	}
	if after != loaded {
		s.mu.Lock()
		s.unknown.put(kid, s.now())
		s.mu.Unlock()
	}
	return nil, refuse(ReasonKeyUnknown)
}

func (s *remoteKeySet) current() *loadedKeys {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.loaded
}

func (s *remoteKeySet) isKnownUnknown(kid string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	since, there := s.unknown.get(kid)
	if there && s.now().Sub(since) >= unknownFor {
		s.unknown.remove(kid)
		return false
	}
	return there
}

// refresh fetches, unless that was tried too recently. Callers at the same time share one attempt. Its error is the
// caller's own end; a fetch that fails leaves the keys as they were.
func (s *remoteKeySet) refresh(ctx context.Context) error {
	_, err := s.refreshes.do(ctx, "", 2*keySetLimits.timeout, func(ctx context.Context) (struct{}, error) {
		s.mu.Lock()
		pause := keysCooldown
		if s.loaded == nil {
			pause = keysFirstCooldown
		}
		now := s.now()
		if !s.triedAt.IsZero() && now.Sub(s.triedAt) < pause {
			s.mu.Unlock()
			return struct{}{}, nil
		}
		s.triedAt = now
		s.mu.Unlock()
		text, err := s.fetch.text(ctx, question{url: s.url}, keySetLimits)
		if err != nil {
			return struct{}{}, nil
		}
		if keys, err := parseJWKS(text); err == nil {
			s.mu.Lock()
			s.loaded = &loadedKeys{keys: keys, fetchedAt: now}
			s.mu.Unlock()
		}
		return struct{}{}, nil
	})
	return err
}

type staticKeySet map[string]*ecdsa.PublicKey

// NewStaticKeySet returns the keys of a JWK Set that does not change: for tests, and where keys come with the program.
func NewStaticKeySet(document []byte) (KeySet, error) {
	keys, err := parseJWKS(document)
	if err != nil {
		return nil, err
	}
	return staticKeySet(keys), nil
}

// Find implements [KeySet].
func (s staticKeySet) Find(_ context.Context, kid string) (*ecdsa.PublicKey, error) {
	if key := s[kid]; key != nil {
		return key, nil
	}
	return nil, refuse(ReasonKeyUnknown)
}
