// Compares the plans with protovalidate for every served request type: fields, sentences and order.
import { create, type DescMessage, type Message } from "@bufbuild/protobuf"
import { pathToString } from "@bufbuild/protobuf/reflect"
import { createValidator } from "@bufbuild/protovalidate"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { effort } from "../../../test/support/effort.ts"
import { services } from "../../node/routes.ts"
import { planOf } from "./plan.ts"
import { messages } from "./testing/messages.ts"

const inputs = [...new Set(services.flatMap(({ methods }) => methods.map(({ input }) => input)))]
const validator = createValidator()

function expected(desc: DescMessage, message: Message): { field: string; description: string }[] {
  const result = validator.validate(desc, message)
  if (result.kind === "error") throw result.error
  if (result.kind === "valid") return []
  return result.violations.map(({ field, message }) => ({ field: pathToString(field), description: message }))
}

test("the generated requests break rules", () => {
  expect(inputs.length).toBeGreaterThan(25)
  const broken = inputs.filter((desc) => planOf(desc)(create(desc)).length > 0)
  expect(broken.length).toBeGreaterThan(15)
})

describe.each(inputs.map((desc) => [desc.name, desc] as const))("%s", (_, desc) => {
  const violationsOf = planOf(desc)

  test("has the violations that protovalidate finds", () => {
    fc.assert(
      fc.property(messages(desc), (message) => {
        expect(violationsOf(message)).toEqual(expected(desc, message))
      }),
      { numRuns: effort(2, 1_500, 100_000) },
    )
  })
})
