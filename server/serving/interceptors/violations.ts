import type { DescMessage, Message } from "@bufbuild/protobuf"
import type { Interceptor } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import { type FieldViolation, refusalError } from "../errors.ts"
import { unstorableText } from "../wire/text.ts"

/**
 * Refuses messages that break the rules of their schema: INVALID_FIELD, with one BadRequest violation a broken rule.
 * Behind the guard, so that strangers learn nothing by trying values.
 *
 * @param violationsOf What is wrong with a message by its rules; nothing when it is in order.
 */
export function refuseViolations(
  violationsOf: (desc: DescMessage, message: Message) => readonly FieldViolation[],
): Interceptor {
  const check = (desc: DescMessage, message: Message): void => {
    const field = unstorableText(desc, message)
    if (field !== undefined) {
      throw new Refused("INVALID_FIELD", { message: "text may not hold this character", metadata: { field } })
    }
    const violations = violationsOf(desc, message)
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
