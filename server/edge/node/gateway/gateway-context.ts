import type { DescMethod } from "@bufbuild/protobuf"
import type { Target } from "./target.ts"

/** The dependencies that the gateway's parts share. */
export interface GatewayContext {
  readonly target: Target
  /** By path. */
  readonly methods: ReadonlyMap<string, DescMethod>
  readonly moreHeaders: ReadonlySet<string>
  /** The longest request body of any method. */
  readonly maxBodyBytes: number
  readonly maxAnswerBytes: number
  readonly bodyMs: number
  readonly callMs: number
  /** Aborted to end streams. */
  readonly closing: AbortSignal
  /** Aborted to end all calls. */
  readonly shutdown: AbortSignal
  readonly onFault: (fault: unknown) => void
}
