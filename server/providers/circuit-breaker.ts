// Stops requests to a provider that does not answer: sign-ins then fail at once instead of at the request's timeout.
import type { Clock } from "@signet/kernel/ports"
import { unavailable } from "./bounded-request.ts"

/** Consecutive requests without an answer that open the circuit. */
const maxFailures = 5
/** How long an open circuit refuses requests. Afterwards one request probes. */
const openMs = 10_000
/** Maximum number of names in memory. The least recently used one is evicted. */
const maxNames = 100

export interface CircuitBreaker {
  /**
   * Runs the work unless the circuit of this name is open.
   *
   * @param isAnswer True if the result is from a working service. An exception counts as no answer.
   * @throws Refused UPSTREAM_UNAVAILABLE if the circuit is open; otherwise what the work throws.
   */
  run<T>(name: string, work: () => Promise<T>, isAnswer: (result: T) => boolean): Promise<T>
}

interface Circuit {
  /** Consecutive failures. At `maxFailures` the circuit is open. */
  failures: number
  /** An open circuit permits a probe from this time on. */
  triesAtMs: number
  isProbing: boolean
}

export function createCircuitBreaker({ clock }: { clock: Clock }): CircuitBreaker {
  const circuits = new Map<string, Circuit>()

  function circuitOf(name: string): Circuit {
    const circuit = circuits.get(name) ?? { failures: 0, triesAtMs: 0, isProbing: false }
    circuits.delete(name)
    circuits.set(name, circuit)
    for (const oldest of circuits.keys()) {
      if (circuits.size <= maxNames) break
      circuits.delete(oldest)
    }
    return circuit
  }

  return {
    async run(name, work, isAnswer) {
      const circuit = circuitOf(name)
      const isProbe = circuit.failures >= maxFailures
      if (isProbe) {
        if (circuit.isProbing || clock.nowMs() < circuit.triesAtMs)
          throw unavailable("the circuit breaker is open after recent failures")
        circuit.isProbing = true
      }
      let isWell = false
      try {
        const result = await work()
        isWell = isAnswer(result)
        return result
      } finally {
        if (isProbe) circuit.isProbing = false
        // A request that started before the circuit opened may close it, but not prolong it.
        const wasOpen = circuit.failures >= maxFailures
        circuit.failures = isWell ? 0 : circuit.failures + 1
        if (!isWell && (isProbe || !wasOpen)) circuit.triesAtMs = clock.nowMs() + openMs
      }
    },
  }
}
