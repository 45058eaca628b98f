// The code that the generator's test mutates.
export const limit = 2 + 1

export function isAllowed(count: number, isAdmin: boolean): boolean {
  return count < limit || isAdmin
}

/** The sample's test calls it only with values above the limit. */
export function excess(value: number): number {
  return value > limit ? value : 0
}

export function countTo(end: number): number {
  let count = 0
  for (;;) {
    if (count >= end) return count
    count++
  }
}

export function never(): void {
  if (limit < 0) throw new Error("no test reaches this condition")
}
