// The guard for a command: exit codes for scripts, a sentence for people, a problem for programs.
import type { AuthContext } from "@signet/kernel/authz/context"
import { Refused } from "@signet/kernel/errors"
import { problemOf, refusedOf } from "./problem.ts"
import { createDecide, type TargetOptions } from "./target.ts"

export interface ToolCall {
  /** An access token; undefined when there is none. Never from the command line, which others can see. */
  readonly token: string | undefined
  /** Options and arguments by name. */
  readonly args: ReadonlyMap<string, string>
  /** Whether `--json` was said: a refusal is then printed as a problem (RFC 9457) in one line. */
  readonly json: boolean
  /** Writes a line to standard error. */
  readonly complain: (line: string) => void
}

/**
 * A command that runs only for callers who meet the requirement. PATH and BODY read the arguments.
 *
 * @param run May throw Refused, and gives the exit code where it is not 0.
 * @returns The command with its exit code; what is thrown and is not Refused is thrown on.
 * @throws when the requirement cannot be checked here.
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
