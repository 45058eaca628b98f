import type { ReactNode } from "react"
import { useAsk } from "./ask.ts"
import { t } from "./text/counted.ts"

interface CountedProps {
  /** The things that the action ends. */
  readonly about: string
  readonly of: readonly string[]
  /** Counts what ends, when the question opens. */
  readonly count: (signal: AbortSignal) => Promise<string>
}

/** The things that a destructive action ends, with their number. */
export function Counted({ about, of, count }: CountedProps): ReactNode {
  const { data, error } = useAsk(["count", ...of], count)
  return (
    <>
      <p>{about}</p>
      <p aria-live="polite">{error ? t.uncounted : (data ?? t.counting)}</p>
    </>
  )
}
