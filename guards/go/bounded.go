package guard

import "container/list"

// bounded is a map that forgets what was added or touched longest ago. Its owner locks.
type bounded[K comparable, V any] struct {
	max     int
	order   *list.List
	entries map[K]*list.Element
	// onDrop hears of every value that leaves.
	onDrop func(V)
}

type boundedEntry[K comparable, V any] struct {
	key   K
	value V
}

func newBounded[K comparable, V any](limit int) *bounded[K, V] {
	return &bounded[K, V]{max: limit, order: list.New(), entries: map[K]*list.Element{}}
}

func (b *bounded[K, V]) get(key K) (V, bool) {
	if element, ok := b.entries[key]; ok {
		return element.Value.(boundedEntry[K, V]).value, true
	}
	var none V
	return none, false
}

func (b *bounded[K, V]) touch(key K) {
	if element, ok := b.entries[key]; ok {
		b.order.MoveToBack(element)
	}
}

func (b *bounded[K, V]) put(key K, value V) {
	if b.max <= 0 {
		return
	}
	b.remove(key)
	for b.order.Len() >= b.max {
		b.removeOldest()
	}
	b.entries[key] = b.order.PushBack(boundedEntry[K, V]{key, value})
}

func (b *bounded[K, V]) remove(key K) {
	if element, ok := b.entries[key]; ok {
		b.order.Remove(element)
		delete(b.entries, key)
		if b.onDrop != nil {
			b.onDrop(element.Value.(boundedEntry[K, V]).value)
		}
	}
}

func (b *bounded[K, V]) removeOldest() {
	if oldest := b.order.Front(); oldest != nil {
		b.remove(oldest.Value.(boundedEntry[K, V]).key)
	}
}

func (b *bounded[K, V]) len() int { return b.order.Len() }
