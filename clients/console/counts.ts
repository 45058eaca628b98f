// Counts of audit events for pictures.
export interface Span {
  readonly startMs: number
  readonly endMs: number
  /** Number of equally long steps. */
  readonly steps: number
}

export interface Step {
  readonly startMs: number
  /** One count for each series. */
  readonly counts: readonly number[]
}

/**
 * Counts the events of each series in each step. Events outside of the span, and of no series, are not counted.
 *
 * @param events Time in milliseconds, and index of the series.
 */
export function countSteps(
  events: readonly { readonly atMs: number; readonly series: number }[],
  { startMs, endMs, steps }: Span,
  seriesCount: number,
): readonly Step[] {
  const stepMs = (endMs - startMs) / steps
  const counted = Array.from({ length: steps }, (_, index) => ({
    startMs: startMs + index * stepMs,
    counts: new Array<number>(seriesCount).fill(0),
  }))
  for (const { atMs, series } of events) {
    const step = counted[Math.floor((atMs - startMs) / stepMs)]
    const before = step?.counts[series]
    if (step !== undefined && before !== undefined && atMs < endMs) step.counts[series] = before + 1
  }
  return counted
}

export interface Counted {
  readonly name: string
  readonly count: number
}

/** The number of each name, most frequent first, then by name. */
export function countNames(names: readonly string[]): readonly Counted[] {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return [...counts]
    .map(([name, count]) => ({ name, count }))
    .sort((a, b) => b.count - a.count || (a.name < b.name ? -1 : 1))
}
