package guard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// PermissionSource tells what a caller's principal was granted, where the token is of. A [*Denial] with
// PERMISSIONS_STALE means that authority changed since the token was issued; any other error that nobody can tell.
type PermissionSource interface {
	Permissions(ctx context.Context, caller *AuthContext) (*Permissions, error)
}

// SnapshotOptions configures [NewPermissionSnapshots].
type SnapshotOptions struct {
	// Issuer is the iss that is taken.
	Issuer string
	// BaseURL is where the issuer answers.
	BaseURL string
	// StatementKeys are the keys at /.well-known/statement-keys.json: others sign no snapshots.
	StatementKeys KeySet
	// Revocations is the guard's: what a revoked key signed is neither taken nor kept.
	Revocations *RevocationFeed
	// Token is this service's own, with the scope auth.permissions.read.
	Token      TokenSource
	HTTPClient *http.Client
	Now        func() time.Time
	// Capacity is how many snapshots are held: 1,000 where it is 0.
	Capacity int
	// MaxHeldBytes is how long all of them may be as they were signed: 32 MiB where it is 0.
	MaxHeldBytes int
}

const maxSnapshotLength = 1_048_576

var snapshotLimits = fetchLimits{timeout: 5 * time.Second, maxBytes: maxSnapshotLength + 1_024}

// snapshotKey is what a snapshot is of: all of it is asked for, and all of it must be answered.
type snapshotKey struct {
	principal string
	at        place
	permVer   int64
}

type heldSnapshot struct {
	// permissions is nil where the issuer has a newer version.
	permissions *Permissions
	kid         string
	length      int
}

type permissionSnapshots struct {
	options  SnapshotOptions
	keys     KeySet
	fetch    fetcher
	verifier *jwtVerifier[map[string]any]
	loading  flight[*heldSnapshot]

	mu         sync.Mutex
	held       *bounded[snapshotKey, *heldSnapshot]
	heldLength int
}

// NewPermissionSnapshots returns what callers of any app were granted: asked of the issuer once for each version of it,
// and kept, since what a version is never changes.
func NewPermissionSnapshots(options SnapshotOptions) (PermissionSource, error) {
	if err := checkAddress("SnapshotOptions.BaseURL", options.BaseURL); err != nil {
		return nil, err
	}
	if options.Issuer == "" || options.StatementKeys == nil || options.Token == nil {
		return nil, errors.New("guard: SnapshotOptions requires Issuer, StatementKeys and Token")
	}
	if options.Capacity <= 0 {
		options.Capacity = 1_000
	}
	if options.MaxHeldBytes <= 0 {
		options.MaxHeldBytes = 32 << 20
	}
	options.BaseURL = strings.TrimSuffix(options.BaseURL, "/")
	keys := options.StatementKeys
	if options.Revocations != nil {
		keys = options.Revocations.WithoutRevoked(keys)
	}
	s := &permissionSnapshots{
		options: options, keys: keys, fetch: newFetcher(options.HTTPClient),
		held: newBounded[snapshotKey, *heldSnapshot](options.Capacity),
	}
	s.held.onDrop = func(dropped *heldSnapshot) { s.heldLength -= dropped.length }
	s.verifier = &jwtVerifier[map[string]any]{
		typ: "perm+jwt", keys: keys, now: clockOr(options.Now), maxLength: maxSnapshotLength,
		read: func(claims map[string]any, _ []byte, now time.Time) (map[string]any, error) {
			if reason := timesOf(claims).untimely(now); reason != "" {
				return nil, refuse(reason)
			}
			return claims, nil
		},
	}
	return s, nil
}

// Permissions implements [PermissionSource].
func (s *permissionSnapshots) Permissions(ctx context.Context, caller *AuthContext) (*Permissions, error) {
	key := snapshotKey{principal: caller.Principal.ID, at: placeOf(caller), permVer: caller.PermVer}
	held := s.remembered(ctx, key)
	if held == nil {
		var err error
		name := fmt.Sprintf("%s %s %d", key.principal, key.at, key.permVer)
		held, err = s.loading.do(ctx, name, 3*snapshotLimits.timeout, func(ctx context.Context) (*heldSnapshot, error) {
			return s.load(ctx, key)
		})
		if err != nil {
			return nil, unavailable(err)
		}
		s.keep(key, held)
	}
	if held.permissions == nil {
		return nil, refuse(ReasonPermissionsStale)
	}
	return held.permissions, nil
}

// heldPermissions implements [heldSource].
func (s *permissionSnapshots) heldPermissions(ctx context.Context, caller *AuthContext) *Permissions {
	key := snapshotKey{principal: caller.Principal.ID, at: placeOf(caller), permVer: caller.PermVer}
	held := s.remembered(ctx, key)
	if held == nil {
		return nil
	}
	return held.permissions
}

// remembered returns what is in memory. A key that was withdrawn takes its snapshots with it.
func (s *permissionSnapshots) remembered(ctx context.Context, key snapshotKey) *heldSnapshot {
	s.mu.Lock()
	held, there := s.held.get(key)
	s.mu.Unlock()
	if !there {
		return nil
	}
	if held.permissions != nil {
		if _, err := s.keys.Find(ctx, held.kid); err != nil {
			s.mu.Lock()
			s.held.remove(key)
			s.mu.Unlock()
			return nil
		}
	}
	s.mu.Lock()
	s.held.touch(key)
	s.mu.Unlock()
	return held
}

func (s *permissionSnapshots) keep(key snapshotKey, held *heldSnapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held.put(key, held)
	s.heldLength += held.length
	for s.heldLength > s.options.MaxHeldBytes && s.held.len() > 0 {
		s.held.removeOldest()
	}
}

func (s *permissionSnapshots) load(ctx context.Context, key snapshotKey) (*heldSnapshot, error) {
	path := fmt.Sprintf("/auth/permissions/%s?appId=%s", key.principal, key.at.app)
	if key.at.tenant != "" {
		path += "&tenantId=" + key.at.tenant
	}
	if key.at.context != "" {
		path += "&contextId=" + key.at.context
	}
	// Ids were checked when the token was: none has a character that an address escapes.
	asked := question{url: fmt.Sprintf("%s%s&permVer=%d", s.options.BaseURL, path, key.permVer)}
	text, err := s.fetch.textWithToken(ctx, s.options.Token, asked, snapshotLimits)
	// SNAPSHOT_OUTDATED is the one conflict that there is.
	if hasStatus(err, http.StatusConflict) {
		return &heldSnapshot{}, nil
	}
	if err != nil {
		return nil, err
	}
	answer, err := parseObject(text)
	if err != nil {
		return nil, errors.New("the response is not a snapshot")
	}
	jws, _ := answer["jws"].(string)
	claims, err := s.verifier.verify(ctx, jws)
	if err != nil {
		return nil, err
	}
	permissions := parsePermissions(claims, s.options.Issuer, key)
	if permissions == nil {
		return nil, errors.New("the issuer's snapshot does not match the request")
	}
	header, _, err := decodeObject(jws[:strings.IndexByte(jws, '.')])
	if err != nil {
		return nil, err
	}
	kid, _ := header["kid"].(string)
	return &heldSnapshot{permissions: permissions, kid: kid, length: len(jws)}, nil
}
