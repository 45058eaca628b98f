// The guard for a port of an app graph: a function of the graph's context and an input.
import type { AuthContext } from "@signet/kernel/authz/context"
import { jsonField } from "./json-field.ts"
import { refusedOf } from "./problem.ts"
import { createDecide, type TargetOptions } from "./target.ts"

/**
 * The context that a graph passes to each port. A port verifies the credential itself, so no other port can assert the
 * caller.
 */
export interface GraphContext {
  /** The Authorization header of the call that entered the graph; null if there was none. */
  readonly authorization: string | null
  /** Ids of tenants and resources that the graph's entry determined, by name. */
  readonly values: ReadonlyMap<string, string>
}

export type Port<Input, Output> = (context: GraphContext, input: Input) => Promise<Output>

/**
 * Wraps a port so that it runs only for callers who meet the requirement. GRAPH reads the context's values. PATH and
 * BODY read the input, so an RPC's requirement also works for a port.
 *
 * @param run The third argument is the context for ports that this one calls.
 * @throws Error at once if the requirement cannot be checked here. A denied call throws Refused.
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
