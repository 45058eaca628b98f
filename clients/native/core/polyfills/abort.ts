// AbortController and AbortSignal (DOM standard section 3), as far as the client and Connect use them.
import { clock } from "../clock.ts"

type Listener = (event: { readonly type: "abort"; readonly target: AbortSignal }) => void

export class AbortSignal {
  aborted = false
  reason: unknown = undefined
  readonly #listeners = new Set<Listener>()

  addEventListener(type: string, listener: Listener): void {
    if (type === "abort") this.#listeners.add(listener)
  }
  removeEventListener(type: string, listener: Listener): void {
    if (type === "abort") this.#listeners.delete(listener)
  }
  throwIfAborted(): void {
    if (this.aborted) throw this.reason
  }

  static any(signals: Iterable<AbortSignal>): AbortSignal {
    const combined = new AbortSignal()
    for (const signal of signals) {
      if (signal.aborted) {
        abort(combined, signal.reason)
        break
      }
      signal.addEventListener("abort", () => abort(combined, signal.reason))
    }
    return combined
  }

  static timeout(ms: number): AbortSignal {
    const signal = new AbortSignal()
    clock.after(ms, () => abort(signal, new DOMException("the time limit has passed", "TimeoutError")))
    return signal
  }

  /** For this module. */
  static listenersOf(signal: AbortSignal): readonly Listener[] {
    const all = [...signal.#listeners]
    signal.#listeners.clear()
    return all
  }
}

function abort(signal: AbortSignal, reason: unknown): void {
  if (signal.aborted) return
  signal.aborted = true
  signal.reason = reason
  for (const listener of AbortSignal.listenersOf(signal)) listener({ type: "abort", target: signal })
}

export class AbortController {
  readonly signal = new AbortSignal()
  abort(reason: unknown = new DOMException("the operation was aborted", "AbortError")): void {
    abort(this.signal, reason)
  }
}
