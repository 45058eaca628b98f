// Stops asking whoever does not answer, so that sign-ins fail at once instead of waiting for each time limit.
import type { Clock } from "@signet/kernel/ports"
import { unavailable } from "./bounded-request.ts"

/** So many requests in a row without an answer open the circuit. */
const maxFailures = 5
/** How long nobody asks then; after it, one request tries. */
const openMs = 10_000
/** How many names are remembered; the longest unused is forgotten first. */
const maxNames = 100

export interface CircuitBreaker {
  /**
   * Runs the work, unless the last ones of that name had no answer.
   *
   * @param isAnswer Whether what the work resolved to came from a working service; a throw never does.
   * @throws Refused UPSTREAM_UNAVAILABLE without running it; otherwise what the work throws.
   */
  run<T>(name: string, work: () => Promise<T>, isAnswer: (result: T) => boolean): Promise<T>
}

interface Circuit {
  /** In a row. The circuit is open from maxFailures on. */
  failures: number
  /** While it is open, nobody tries before. */
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
        // What was under way when the circuit opened may close it, but not keep it open longer.
        const wasOpen = circuit.failures >= maxFailures
        circuit.failures = isWell ? 0 : circuit.failures + 1
        if (!isWell && (isProbe || !wasOpen)) circuit.triesAtMs = clock.nowMs() + openMs
      }
    },
  }
}
