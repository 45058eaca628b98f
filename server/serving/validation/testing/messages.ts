import { create, type DescField, type DescMessage, getOption, type Message, ScalarType } from "@bufbuild/protobuf"
import { reflect } from "@bufbuild/protobuf/reflect"
import { type FieldRules, field as fieldOption } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js"
import fc from "fast-check"
import { uriTexts } from "./uris.ts"

/** Lengths at the limits of rules, and others. */
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
const addresses = fc.oneof(uriTexts, fc.webUrl({ withQueryParameters: true, withFragments: true }))
const texts = fc.oneof(
  { weight: 4, arbitrary: ids },
  { weight: 1, arbitrary: addresses },
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
/** Seconds at the limits of durations and timestamps. */
const seconds = fc.constantFrom(604_800n, 604_801n, 253_402_300_799n, 253_402_300_800n)
const large = fc.constantFrom(4_294_967_296n, 2n ** 63n, 2n ** 64n - 1n)

/** Texts of a pattern, and the same with one changed character. */
function matching(pattern: string): fc.Arbitrary<string> {
  const whole = fc.stringMatching(new RegExp(pattern, "u"))
  const spoiled = fc.tuple(whole, fc.nat(), fc.constantFrom("", ".", "-", "_", "A", "0", "\n", "é"))
  return fc.oneof(
    whole,
    spoiled.map(([text, place, other]) => {
      const at = text.length === 0 ? 0 : place % text.length
      return text.slice(0, at) + other + text.slice(at + 1)
    }),
  )
}

/** @param rules The rules of the field, or of its list's items. */
function scalars(type: ScalarType, rules: FieldRules | undefined): fc.Arbitrary<unknown> {
  const pattern = rules?.type.case === "string" ? rules.type.value.pattern : ""
  switch (type) {
    case ScalarType.STRING:
      return pattern === "" ? texts : fc.oneof({ weight: 2, arbitrary: matching(pattern) }, texts)
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
        seconds,
        wholes.map((value) => -value),
      )
    case ScalarType.UINT64:
      return fc.oneof(wholes, large)
    default:
      throw new Error(`no values of ${ScalarType[type]}`)
  }
}

function values(field: DescField, depth: number): fc.Arbitrary<unknown> {
  const rules = getOption(field, fieldOption)
  switch (field.fieldKind) {
    case "scalar":
      return scalars(field.scalar, rules)
    case "enum":
      return fc.integer({ min: -1, max: 9 })
    case "message":
      return messages(field.message, depth + 1)
    case "list": {
      const item =
        field.listKind === "scalar"
          ? scalars(field.scalar, rules.type.case === "repeated" ? rules.type.value.items : undefined)
          : field.listKind === "message"
            ? messages(field.message, depth + 1)
            : fc.nat(9)
      const few = fc.array(item, { maxLength: 4 })
      // The limit of a list and one more, with equal or different items.
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

/** A message may contain its own type, as a requirement does: messages below this depth have no messages. */
const maxDepth = 4

/** Messages of a type, most of them near a limit. Each field is absent or has a value; in a oneof the last one wins. */
export function messages(desc: DescMessage, depth = 0): fc.Arbitrary<Message> {
  const isLeaf = (field: DescField) => field.fieldKind !== "message" && !(field.fieldKind === "list" && field.message)
  const chosenFields = depth < maxDepth ? desc.fields : desc.fields.filter(isLeaf)
  const fields = fc.tuple(...chosenFields.map((field) => fc.option(values(field, depth), { freq: 4, nil: undefined })))
  return fields.map((chosen) => {
    const message = create(desc)
    const target = reflect(desc, message)
    for (const [at, field] of chosenFields.entries()) {
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
