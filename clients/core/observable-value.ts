/** A value with listeners. Each gets the current value first, then every change, in order. */
export interface ObservableValue<T> {
  readonly current: T
  set(value: T): void
  /** Calls the listener with the current value. @returns Ends the subscription. */
  subscribe(listener: (value: T) => void): () => void
  iterate(): AsyncIterator<T, undefined>
  /** Ends every iteration and drops all listeners. */
  close(): void
}

export function createObservableValue<T>(first: T): ObservableValue<T> {
  let current = first
  let isClosed = false
  const listeners = new Set<(value: T) => void>()
  const closers = new Set<() => void>()

  function subscribe(listener: (value: T) => void): () => void {
    // A new function, so that a listener that subscribes twice is called twice.
    const own = (value: T) => listener(value)
    listeners.add(own)
    own(current)
    return () => {
      listeners.delete(own)
    }
  }

  return {
    get current() {
      return current
    },
    set(value) {
      if (isClosed || value === current) return
      current = value
      for (const listener of [...listeners]) {
        // A listener that throws affects neither the other listeners nor the caller of `set`.
        try {
          listener(value)
        } catch (error) {
          queueMicrotask(() => {
            throw error
          })
        }
      }
    },
    subscribe,
    iterate() {
      const waiting: T[] = []
      let wake: (() => void) | undefined
      let isDone = isClosed
      const end = () => {
        isDone = true
        unsubscribe()
        closers.delete(end)
        wake?.()
      }
      const unsubscribe = subscribe((value) => {
        waiting.push(value)
        wake?.()
      })
      closers.add(end)
      return {
        async next() {
          while (waiting.length === 0 && !isDone) {
            await new Promise<void>((resolve) => {
              wake = resolve
            })
          }
          const [value] = waiting.splice(0, 1)
          return value === undefined ? { done: true, value: undefined } : { done: false, value }
        },
        async return() {
          waiting.length = 0
          end()
          return { done: true, value: undefined }
        },
      }
    },
    close() {
      isClosed = true
      listeners.clear()
      for (const end of [...closers]) end()
    },
  }
}
