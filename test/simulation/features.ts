// What a run may have beside the trouble that every run has. What is off draws nothing: a run without it stays the same.

const all = ["hints", "tabs", "renewal", "attachments", "rejoins", "pairing", "backup", "restored devices"] as const
/** Features that "all" does not contain. */
const byName = ["restored service"] as const
export type Feature = (typeof all)[number] | (typeof byName)[number]
export const features: readonly Feature[] = all

/** @param text Names with commas between them, or "all", which leaves out those of `byName`. @throws Error for a name that is none. */
export function parseFeatures(text: string): readonly Feature[] {
  if (text === "all") return all
  return text.split(",").map((name) => {
    const found = [...all, ...byName].find((one) => one === name)
    if (found === undefined) throw new Error(`no such feature: ${name}`)
    return found
  })
}

/** A feature in a run. It draws from a source of its own, so it changes what others draw no more than it must. */
export interface Playing {
  /** With each step of the run: one thing more, or nothing. */
  act?(): Promise<void>
  /** Trouble is over, and everybody is about to come back. */
  calm?(): void
  /** Everybody is back: finishes what was begun. */
  settle?(): Promise<void>
  /** What does not hold when the run is over, in words. */
  violations?(): Promise<readonly string[]>
}
