import type { DescMethod } from "@bufbuild/protobuf"
import type { Target } from "./target.ts"

/** What the parts of the gateway share. */
export interface GatewayContext {
  readonly target: Target
  /** By path. */
  readonly methods: ReadonlyMap<string, DescMethod>
  readonly moreHeaders: ReadonlySet<string>
  /** The longest body that any method takes. */
  readonly maxBodyBytes: number
  readonly maxAnswerBytes: number
  readonly bodyMs: number
  readonly callMs: number
  /** Streams end now. */
  readonly closing: AbortSignal
  /** Calls end now. */
  readonly shutdown: AbortSignal
  readonly onFault: (fault: unknown) => void
}
