package guard_test

import (
	"context"
	"testing"

	"signet.dev/guard"
	"signet.dev/guard/internal/vectors"
)

// BenchmarkWarm verifies a token that was verified before, and decides.
func BenchmarkWarm(b *testing.B) { benchmark(b, 0) }

// BenchmarkCold verifies the signature each time, and decides.
func BenchmarkCold(b *testing.B) { benchmark(b, -1) }

func benchmark(b *testing.B, cacheSize int) {
	g, token := newGuard(b, func(o *guard.Options) { o.CacheSize = cacheSize })
	endpoint, err := g.Endpoint(guard.Scope("notes.read"), guard.EndpointOptions{}, vectors.AnySource)
	if err != nil {
		b.Fatal(err)
	}
	headers := []string{"Bearer " + token}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := endpoint.Decide(context.Background(), headers, nil); err != nil {
			b.Fatal(err)
		}
	}
}
