import type { Reason } from "./reason.ts"

export const canonicalReasons: readonly Reason[] = [
  {
    file: "proto/canonical/bytes.ts",
    why: "A byte past the end reads as 0 through `?? 0`, and the lengths decide: the result has the same sign.",
    changes: [
      "i < a.length → i <= a.length",
      "Math.min(a.length, b.length) → a.length",
      "Math.min(a.length, b.length) → b.length",
      "i < shorter → i <= shorter",
    ],
  },
  {
    file: "proto/canonical/canonical.ts",
    why: "A second line of defence: the parser accepts nothing that the writer would not have written (the differential test).",
    changes: ['ensure(equalBytes(write(rules, message), bytes), "CPB_NOT_REPRODUCED") → nothing'],
  },
  {
    file: "proto/canonical/canonical.ts",
    why: "`subarray` clamps at the end of the bytes, and a cursor over a nested message has bytes of its own.",
    changes: ["Math.min(cursor.at + tag.length, cursor.end) → cursor.at + tag.length"],
  },
  {
    file: "proto/canonical/canonical.ts",
    why: "A message that is created from its schema holds values of the types of its fields: both halves of the condition agree, and the second one narrows the type.",
    changes: [
      "value !== null → true",
      'typeof value === "object" → true',
      'field.kind === "bytes" → true',
      "value instanceof Uint8Array → true",
      'field.kind === "string" → true',
      'typeof value === "string" → true',
      'field.kind === "bigint" → true',
      'typeof value === "bigint" → true',
      'field.kind === "number" → true',
      'typeof value === "number" → true',
    ],
  },
  {
    file: "proto/canonical/canonical.ts",
    why: "The only varint that begins with 0 is the one-byte 0: longer ones end with a byte other than 0 and begin with 0x80 or more.",
    changes: ["element.length === 1 → true"],
  },
  {
    file: "proto/canonical/commit-receipt.ts",
    why: "The string `first` has no property `hash`: the other branch gives undefined, too.",
    changes: ['previous === "first" → false'],
  },
  {
    file: "proto/canonical/ed25519.ts",
    why: "`Point.fromBytes` throws for any other length, which `pointOf` turns into undefined.",
    changes: ["publicKey.length !== 32 → false", "bytes.length === 32 → true"],
  },
  {
    file: "proto/canonical/sound-key.ts",
    why: "A signature with S equal to the order needs R = -[k]A, where k is a hash of R: nobody can compute one.",
    changes: ["numberOf(signature.subarray(32)) < order → numberOf(signature.subarray(32)) <= order"],
  },
  {
    file: "proto/canonical/ed25519.ts",
    why: "A table of multiples changes the time of a verification, not its verdict.",
    changes: ["known.uses === usesBeforeTable → true", "known.uses === usesBeforeTable → false"],
  },
  {
    file: "proto/canonical/remember-by-key.ts",
    why: "A map that holds more than its limit has a first key; the condition narrows the type.",
    changes: ["oldest !== undefined → true"],
  },
  {
    file: "proto/canonical/verdict-cache.ts",
    why: "A map that holds more than its limit has a first key; the condition narrows the type.",
    changes: ["oldest !== undefined → true"],
  },
  {
    file: "proto/canonical/varint.ts",
    why: "An eleventh byte makes the value exceed 64 bits, which has the same code.",
    changes: ["count < 10 → count <= 10"],
  },
  {
    file: "proto/canonical/varint.ts",
    why: "A cursor ends where its bytes do: what is past the end reads as undefined.",
    changes: ["cursor.at < cursor.end → true", "cursor.at < cursor.end → cursor.at <= cursor.end"],
  },
]
