import type { DescMessage, Message } from "@bufbuild/protobuf"
import type { Interceptor } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import { refusalError } from "../errors.ts"
import { planOf } from "../validation/plan.ts"
import { unstorableText } from "../wire/text.ts"

/**
 * Refuses messages that break the rules of their schema: INVALID_FIELD, with one BadRequest violation per broken rule.
 * Runs after the guard, so that an unauthenticated caller learns nothing by trying values.
 *
 * @param inputs Every served request type.
 * @throws UnknownRule at start for a schema with an unknown rule: no message is served unless all of its rules are
 *   checked.
 */
export function validate(inputs: Iterable<DescMessage>): Interceptor {
  const plans = new Map(Array.from(inputs, (desc) => [desc, planOf(desc)]))
  const check = (desc: DescMessage, message: Message): void => {
    const field = unstorableText(desc, message)
    if (field !== undefined) {
      throw new Refused("INVALID_FIELD", { message: "the text has a forbidden character", metadata: { field } })
    }
    const violationsOf = plans.get(desc)
    if (violationsOf === undefined) throw new Error(`${desc.typeName} has no plan`)
    const violations = violationsOf(message)
    if (violations.length === 0) return
    const first = violations[0]?.field
    throw refusalError(new Refused("INVALID_FIELD", first ? { metadata: { field: first } } : {}), violations)
  }
  return (next) => async (req) => {
    if (!req.stream) {
      check(req.method.input, req.message)
      return next(req)
    }
    const { message, method } = req
    return next({
      ...req,
      message: (async function* () {
        for await (const item of message) {
          check(method.input, item)
          yield item
        }
      })(),
    })
  }
}
