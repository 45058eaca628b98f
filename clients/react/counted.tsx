import type { ReactNode } from "react"
import { useText } from "./provider.tsx"
import { useRead } from "./use-call.ts"

export interface CountedProps {
  /** The things that an action ends. */
  readonly about: string
  /** Counts them when the question opens. */
  readonly count: (signal: AbortSignal) => Promise<string>
}

/** The things that a destructive action ends, with their number. */
export function Counted({ about, count }: CountedProps): ReactNode {
  const text = useText()
  const { data, error } = useRead(count)
  return (
    <>
      <p>{about}</p>
      <p aria-live="polite">{error === undefined ? (data ?? text.counting) : text.uncounted}</p>
    </>
  )
}
