// The guard for a port of an app graph: a function of the graph's context and an input.
import type { AuthContext } from "@signet/kernel/authz/context"
import { jsonField } from "./json-field.ts"
import { refusedOf } from "./problem.ts"
import { createDecide, type TargetOptions } from "./target.ts"

/** What a graph hands to each port. A port verifies the credential itself, so no port can say who is calling. */
export interface GraphContext {
  /** The Authorization header that the graph was entered with; null when there was none. */
  readonly authorization: string | null
  /** What the graph's entry found out: ids of tenants and resources, by name. */
  readonly values: ReadonlyMap<string, string>
}

export type Port<Input, Output> = (context: GraphContext, input: Input) => Promise<Output>

/**
 * A port that runs only for callers who meet the requirement. GRAPH reads the context's values; PATH and BODY read the
 * input, so that a method's requirement serves a port, too.
 *
 * @param run The third argument is for ports that this one calls.
 * @throws at once, when the requirement cannot be checked here; a call throws Refused when it is denied.
 */
export function guardPort<Input, Output>(
  options: TargetOptions,
  run: (input: Input, caller: AuthContext | undefined, context: GraphContext) => Output | Promise<Output>,
): Port<Input, Output> {
  const decide = createDecide(options, {
    PATH: (field) => field !== "",
    BODY: (field) => field !== "",
    GRAPH: (field) => field !== "",
  })
  return async (context, input) => {
    const decision = await decide(context.authorization, () => (from, field) => {
      if (from === "GRAPH") return context.values.get(field) || undefined
      return from === "PATH" || from === "BODY" ? jsonField(input, field) : undefined
    })
    if (!decision.allow) throw refusedOf(decision)
    return run(input, decision.context, context)
  }
}
