import type { DescMessage } from "@bufbuild/protobuf"
import type { Interceptor } from "@connectrpc/connect"
import { planOf } from "../validation/plan.ts"
import { refuseViolations } from "./violations.ts"

/**
 * Refuses what `validate` refuses, in the same words, without an expression language: a tenth of the code.
 *
 * @param inputs Every request type that is served.
 * @throws UnknownRule when a schema has a rule that is not known: a message is checked whole, or not taken at all.
 */
export function validatePlain(inputs: Iterable<DescMessage>): Interceptor {
  const plans = new Map(Array.from(inputs, (desc) => [desc, planOf(desc)]))
  return refuseViolations((desc, message) => {
    const violationsOf = plans.get(desc)
    if (violationsOf === undefined) throw new Error(`${desc.typeName} has no plan`)
    return violationsOf(message)
  })
}
