package guard_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"signet.dev/guard"
	"signet.dev/guard/internal/vectors"
)

type snapshotVectors struct {
	Now                 int64
	Issuer, Audience    string
	JWKS, StatementJWKS json.RawMessage
	Tokens              map[string]string
	Resources           map[string]guard.Resource
	Sequences           []struct {
		Name     string
		Capacity int
		Steps    []struct {
			Now         int64
			Token       string
			Requirement json.RawMessage
			Resource    string
			Exchanges   []exchange
			Expected    struct {
				Allow              bool
				Reason             guard.Reason
				Roles, Permissions *[]string
			}
		}
	}
}

func TestSnapshots(t *testing.T) {
	var v snapshotVectors
	vectors.Read(t, "snapshots.json", &v)
	for _, sequence := range v.Sequences {
		t.Run(sequence.Name, func(t *testing.T) {
			clock, issuer := &vectors.Clock{}, &scripted{t: t}
			permissions, err := guard.NewPermissionSnapshots(guard.SnapshotOptions{
				Issuer: v.Issuer, BaseURL: v.Issuer, StatementKeys: staticKeys(t, v.StatementJWKS),
				Token: vectors.OwnToken{}, HTTPClient: vectors.Transport(issuer.answer).Client(), Now: clock.Now,
				Capacity: sequence.Capacity,
			})
			if err != nil {
				t.Fatal(err)
			}
			g, err := guard.New(guard.Options{
				Issuer: v.Issuer, Audience: v.Audience, AppID: guard.AnyApp, KeySet: staticKeys(t, v.JWKS),
				Permissions: permissions, Now: clock.Now,
			})
			if err != nil {
				t.Fatal(err)
			}
			for i, step := range sequence.Steps {
				clock.Set(step.Now)
				issuer.exchanges = step.Exchanges
				options := guard.EndpointOptions{
					FindResource: func(context.Context, string, string) (*guard.Resource, error) {
						if found, there := v.Resources[step.Resource]; there {
							return &found, nil
						}
						return nil, nil
					},
				}
				grants, loaded, err := grantsAt(t, g, "Bearer "+v.Tokens[step.Token], step.Requirement, options)
				if len(issuer.exchanges) > 0 {
					t.Fatalf("step %d: the issuer was not asked %v", i, issuer.exchanges)
				}
				if reasonOf(err) != step.Expected.Reason || (err == nil) != step.Expected.Allow {
					t.Fatalf("step %d: got %v, want %+v", i, err, step.Expected)
				}
				if err != nil {
					continue
				}
				if loaded != (step.Expected.Roles != nil) {
					t.Fatalf("step %d: loaded: %v", i, loaded)
				}
				if loaded && (!sameNames(grants.Roles, *step.Expected.Roles) ||
					!sameNames(grants.Permissions, *step.Expected.Permissions)) {
					t.Fatalf("step %d: got %v, want %+v", i, grants, step.Expected)
				}
			}
		})
	}
}

// grantsAt decides a step, or loads what its caller was granted, and returns the grants that a handler is told of.
func grantsAt(
	t *testing.T, g *guard.Guard, header string, asked json.RawMessage, options guard.EndpointOptions,
) (guard.Grants, bool, error) {
	ctx := context.Background()
	if string(asked) == `"loadGrants"` {
		caller, err := g.Authenticate(ctx, []string{header})
		if err != nil {
			t.Fatal(err)
		}
		grants, err := g.LoadGrants(ctx, caller)
		return grants, true, err
	}
	endpoint, err := g.Endpoint(requirementIn(t, asked).Value(), options, vectors.AnySource)
	if err != nil {
		t.Fatal(err)
	}
	read := func() guard.ReadValue { return func(guard.Source, string) string { return "named" } }
	caller, err := endpoint.Decide(ctx, []string{header}, read)
	if err != nil {
		return guard.Grants{}, false, err
	}
	grants, loaded := caller.Grants()
	return grants, loaded, nil
}

func requirementIn(t *testing.T, text json.RawMessage) *vectors.Requirement {
	requirement := &vectors.Requirement{}
	if err := json.Unmarshal(text, requirement); err != nil {
		t.Fatal(err)
	}
	return requirement
}

// TestSnapshotsOfARevokedKey: a key that the feed revokes takes along what it signed, before it leaves the key set.
func TestSnapshotsOfARevokedKey(t *testing.T) {
	var v snapshotVectors
	var f feedVectors
	vectors.Read(t, "snapshots.json", &v)
	vectors.Read(t, "feed.json", &f)
	clock, issuer := &vectors.Clock{}, &scripted{t: t}
	clock.Set(v.Now)
	client := vectors.Transport(issuer.answer).Client()
	feed, err := guard.NewRevocationFeed(guard.FeedOptions{
		Issuer: v.Issuer, BaseURL: v.Issuer, StatementKeys: staticKeys(t, v.StatementJWKS), Token: vectors.OwnToken{},
		HTTPClient: client, Now: clock.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	permissions, err := guard.NewPermissionSnapshots(guard.SnapshotOptions{
		Issuer: v.Issuer, BaseURL: v.Issuer, StatementKeys: staticKeys(t, v.StatementJWKS), Revocations: feed,
		Token: vectors.OwnToken{}, HTTPClient: client, Now: clock.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	g, err := guard.New(guard.Options{
		Issuer: v.Issuer, Audience: v.Audience, AppID: guard.AnyApp, KeySet: staticKeys(t, v.JWKS), Revocations: feed,
		Permissions: permissions, Now: clock.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	snapshot := v.Sequences[0].Steps[0]
	issuer.exchanges = snapshot.Exchanges
	for range 2 {
		if got := decide(t, g, v.Tokens[snapshot.Token], requirementIn(t, snapshot.Requirement).Value()); got != "allow" {
			t.Fatal(got)
		}
	}
	for _, sequence := range f.Sequences {
		if strings.HasPrefix(sequence.Name, "a revoked key takes along") {
			issuer.exchanges = sequence.Steps[1].Exchanges
		}
	}
	if err := feed.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	issuer.exchanges = snapshot.Exchanges
	if got := decide(t, g, v.Tokens[snapshot.Token], requirementIn(t, snapshot.Requirement).Value()); got != "UNAVAILABLE" {
		t.Fatal(got)
	}
	if len(issuer.exchanges) > 0 {
		t.Fatal("the issuer was not asked again")
	}
}

func sameNames(set guard.Set, names []string) bool {
	return slices.Equal(slices.Sorted(set.All()), slices.Sorted(slices.Values(names)))
}
