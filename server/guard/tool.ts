// The guard for a command: an exit code for scripts, a sentence for users, a problem document for programs.
import type { AuthContext } from "@signet/kernel/authz/context"
import { Refused } from "@signet/kernel/errors"
import { problemOf, refusedOf } from "./problem.ts"
import { createDecide, type TargetOptions } from "./target.ts"

export interface ToolCall {
  /** An access token; undefined if there is none. Never from the command line, which other users can see. */
  readonly token: string | undefined
  /** Options and arguments by name. */
  readonly args: ReadonlyMap<string, string>
  /** True for `--json`: a refusal is printed as a problem document (RFC 9457) in one line. */
  readonly json: boolean
  /** Writes a line to standard error. */
  readonly complain: (line: string) => void
}

/**
 * Wraps a command so that it runs only for callers who meet the requirement. PATH and BODY read the arguments.
 *
 * @param run May throw Refused; returns the exit code if it is not 0.
 * @returns A function that runs the command and returns its exit code. Exceptions other than Refused propagate.
 * @throws Error if the requirement cannot be checked here.
 */
export function guardTool<Call extends ToolCall>(
  options: TargetOptions,
  run: (call: Call, caller: AuthContext | undefined) => number | undefined | Promise<number | undefined>,
): (call: Call) => Promise<number> {
  const decide = createDecide(options, {
    PATH: (field) => field !== "",
    BODY: (field) => field !== "",
  })
  return async (call) => {
    const header = call.token === undefined ? null : `Bearer ${call.token}`
    try {
      const decision = await decide(header, () => (from, field) => {
        return from === "PATH" || from === "BODY" ? call.args.get(field) || undefined : undefined
      })
      if (!decision.allow) throw refusedOf(decision)
      return (await run(call, decision.context)) ?? 0
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      call.complain(call.json ? JSON.stringify(problemOf(error)) : `${error.message} (${error.reason})`)
      return exitCodeOf(error)
    }
  }
}

/** 2 usage, 3 unauthenticated, 4 denied, 5 not found, 6 conflict, 7 rate limited, 10 unavailable; 1 for faults. */
export function exitCodeOf({ status }: Refused): number {
  switch (status) {
    case 401:
      return 3
    case 403:
      return 4
    case 404:
      return 5
    case 409:
      return 6
    case 429:
      return 7
    case 499:
    case 503:
    case 504:
    case 507:
      return 10
    default:
      return status >= 500 ? 1 : 2
  }
}
