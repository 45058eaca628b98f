// Sums of counted audit events for pictures.
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
 * Sums the counts of each series in each step. Counts outside of the span, and of no series, are left out.
 *
 * @param counted Time in milliseconds, index of the series, and number of events.
 */
export function sumSteps(
  counted: readonly { readonly atMs: number; readonly series: number; readonly count: number }[],
  { startMs, endMs, steps }: Span,
  seriesCount: number,
): readonly Step[] {
  const stepMs = (endMs - startMs) / steps
  const sums = Array.from({ length: steps }, (_, index) => ({
    startMs: startMs + index * stepMs,
    counts: new Array<number>(seriesCount).fill(0),
  }))
  for (const { atMs, series, count } of counted) {
    const step = sums[Math.floor((atMs - startMs) / stepMs)]
    const before = step?.counts[series]
    if (step !== undefined && before !== undefined && atMs < endMs) step.counts[series] = before + count
  }
  return sums
}

export interface Counted {
  readonly name: string
  readonly count: number
}

/** The sum of each name, largest first, then by name. */
export function sumNames(counted: readonly Counted[]): readonly Counted[] {
  const sums = new Map<string, number>()
  for (const { name, count } of counted) sums.set(name, (sums.get(name) ?? 0) + count)
  return [...sums]
    .map(([name, count]) => ({ name, count }))
    .sort((a, b) => b.count - a.count || (a.name < b.name ? -1 : 1))
}
