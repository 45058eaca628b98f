// The plans find what protovalidate finds: field by field, in its words and its order, for every request of messaging.
import { create, type DescField, type DescMessage, type Message, ScalarType } from "@bufbuild/protobuf"
import { pathToString, reflect } from "@bufbuild/protobuf/reflect"
import { createValidator } from "@bufbuild/protovalidate"
import { CreateAppRequestSchema } from "@signet/proto/auth/v1/apps"
import { CreateProviderClientRequestSchema } from "@signet/proto/auth/v1/provider_clients"
import { RotateSecretRequestSchema } from "@signet/proto/auth/v1/service_account_service"
import { TransferService } from "@signet/proto/transfer/v1/transfer_service"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { effort } from "../../../test/support/effort.ts"
import { messagingServices } from "../../rpc/messaging/routes.ts"
import { planOf } from "./plan.ts"

const services = [...messagingServices, TransferService]
const inputs = [...new Set(services.flatMap(({ methods }) => methods.map(({ input }) => input)))]
const validator = createValidator()

function expected(desc: DescMessage, message: Message): { field: string; description: string }[] {
  const result = validator.validate(desc, message)
  if (result.kind === "error") throw result.error
  if (result.kind === "valid") return []
  return result.violations.map(({ field, message }) => ({ field: pathToString(field), description: message }))
}

/** Lengths at which rules change their mind, and others. */
const lengths = [0, 1, 15, 16, 17, 31, 32, 33, 64, 512, 513]
const bytes = fc.constantFrom(...lengths).chain((length) => fc.constant(new Uint8Array(length).fill(length)))
const longBytes = fc
  .constantFrom(8_192, 8_193, 32_900, 32_901, 65_536, 65_537, 262_144, 262_145, 1_048_576, 1_048_577, 4_194_305)
  .map((length) => new Uint8Array(length))
const ids = fc
  .tuple(
    fc.constantFrom("cnv", "att", "clm", "dir", "dev", "prn", "wel", "xyz"),
    fc.constantFrom("_", "-", ""),
    fc.constantFrom(
      "",
      "0",
      "7",
      "8",
      "0".repeat(25),
      `7${"z".repeat(25)}`,
      `0${"A".repeat(25)}`,
      `0${"a".repeat(25)}`,
      `0${"i".repeat(25)}`,
    ),
    fc.constantFrom("", "\n", " ", "é"),
  )
  .map((parts) => parts.join(""))
const texts = fc.oneof(
  { weight: 4, arbitrary: ids },
  fc.constantFrom(
    "",
    "0".repeat(64),
    "f".repeat(63),
    "F".repeat(64),
    "x".repeat(512),
    "x".repeat(513),
    "𝑎".repeat(512),
  ),
  fc.string({ unit: "grapheme", maxLength: 40 }),
)
const wholes = fc.constantFrom(
  ...[0n, 1n, 20n, 21n, 99n, 100n, 200n, 201n, 4_194_304n, 4_194_305n, 104_857_600n, 104_857_601n, 4_294_967_295n],
)
const large = fc.constantFrom(4_294_967_296n, 2n ** 63n, 2n ** 64n - 1n)

function scalars(type: ScalarType): fc.Arbitrary<unknown> {
  switch (type) {
    case ScalarType.STRING:
      return texts
    case ScalarType.BYTES:
      return fc.oneof({ weight: 9, arbitrary: bytes }, longBytes)
    case ScalarType.BOOL:
      return fc.boolean()
    case ScalarType.UINT32:
      return wholes.map(Number)
    case ScalarType.INT32:
      return fc
        .oneof(
          wholes,
          wholes.map((value) => -value),
        )
        .map((value) => Number(BigInt.asIntN(32, value)))
    case ScalarType.INT64:
      return fc.oneof(
        wholes,
        wholes.map((value) => -value),
      )
    case ScalarType.UINT64:
      return fc.oneof(wholes, large)
    default:
      throw new Error(`no values of ${ScalarType[type]}`)
  }
}

function values(field: DescField): fc.Arbitrary<unknown> {
  switch (field.fieldKind) {
    case "scalar":
      return scalars(field.scalar)
    case "enum":
      return fc.integer({ min: -1, max: 9 })
    case "message":
      return messages(field.message)
    case "list": {
      const item =
        field.listKind === "scalar"
          ? scalars(field.scalar)
          : field.listKind === "message"
            ? messages(field.message)
            : fc.nat(9)
      const few = fc.array(item, { maxLength: 4 })
      // As many as a limit allows and one more, all the same or all different.
      const many = fc.constantFrom(8, 9, 100, 101, 201, 202, 256, 257)
      return fc.oneof(
        { weight: 4, arbitrary: few },
        fc.tuple(item, many).map(([one, count]) => Array(count).fill(one)),
      )
    }
    case "map":
      throw new Error("no map in a request")
  }
}

/** Each field absent or of some value; of a oneof the last one stays. */
function messages(desc: DescMessage): fc.Arbitrary<Message> {
  const fields = fc.tuple(...desc.fields.map((field) => fc.option(values(field), { freq: 4, nil: undefined })))
  return fields.map((chosen) => {
    const message = create(desc)
    const target = reflect(desc, message)
    for (const [at, field] of desc.fields.entries()) {
      const value = chosen[at]
      if (value === undefined) continue
      if (field.fieldKind === "message") target.set(field, reflect(field.message, value as Message))
      else if (field.fieldKind === "list") for (const item of value as unknown[]) add(target, field, item)
      else target.set(field, value)
    }
    return message
  })
}

function add(target: ReturnType<typeof reflect>, field: DescField & { fieldKind: "list" }, item: unknown): void {
  const list = target.get(field)
  list.add(field.listKind === "message" ? reflect(field.message, item as Message) : item)
}

test("there are requests, and rules that are broken", () => {
  expect(inputs.length).toBeGreaterThan(25)
  const broken = inputs.filter((desc) => planOf(desc)(create(desc)).length > 0)
  expect(broken.length).toBeGreaterThan(15)
})

describe.each(inputs.map((desc) => [desc.name, desc] as const))("%s", (_, desc) => {
  const violationsOf = planOf(desc)

  test("is found wanting as by protovalidate", () => {
    fc.assert(
      fc.property(messages(desc), (message) => {
        expect(violationsOf(message)).toEqual(expected(desc, message))
      }),
      { numRuns: effort(60, 1_500, 100_000) },
    )
  })
})

test.each<[string, DescMessage, RegExp]>([
  ["of a duration", RotateSecretRequestSchema, /overlap: buf.validate.FieldRules says duration/],
  ["of a format", CreateProviderClientRequestSchema, /redirect_uris\[\]: buf.validate.StringRules says uri/],
  ["of a pattern that two engines may read differently", CreateAppRequestSchema, /key: pattern/],
])("a rule %s, which is not known, is not passed over", (_, desc, why) => {
  expect(() => planOf(desc)).toThrow(why)
})
