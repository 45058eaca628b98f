package guard

import (
	"context"
	"sync"
	"time"
)

// flight lets callers who want the same at the same time share one run.
type flight[V any] struct {
	mu       sync.Mutex
	underWay map[string]*run[V]
}

type run[V any] struct {
	done  chan struct{}
	value V
	err   error
}

// do joins the run of that name, or starts one. The run does not end with the caller that started it: others wait for
// it too. It has to end by itself within the time.
func (f *flight[V]) do(ctx context.Context, name string, limit time.Duration, work func(context.Context) (V, error)) (V, error) {
	f.mu.Lock()
	current := f.underWay[name]
	if current == nil {
		current = &run[V]{done: make(chan struct{})}
		if f.underWay == nil {
			f.underWay = map[string]*run[V]{}
		}
		f.underWay[name] = current
		go func() {
			detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
			defer cancel()
			defer func() {
				f.mu.Lock()
				delete(f.underWay, name)
				f.mu.Unlock()
				close(current.done)
			}()
			current.value, current.err = work(detached)
		}()
	}
	f.mu.Unlock()
	select {
	case <-current.done:
		return current.value, current.err
	case <-ctx.Done():
		var none V
		return none, ctx.Err()
	}
}
