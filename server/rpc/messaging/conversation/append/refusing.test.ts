import { CanonicalError, canonicalCodes } from "@signet/canonical/errors"
import { Refused } from "@signet/kernel/errors"
import { LimitExceededSchema } from "@signet/proto/messaging/v1/conflict"
import { expect, test } from "vitest"
import { FramingOversized, FramingRefused, type framingCodes } from "../../../../framing/refusal.ts"
import { detailsOf } from "../../../../serving/call/detailed.ts"
import { readMls } from "../../refusing.ts"
import { judging } from "./refusing.ts"

function refused(call: () => unknown): Refused {
  try {
    call()
  } catch (error) {
    if (error instanceof Refused) return error
    throw error
  }
  return expect.fail("not refused")
}

const judged = (code: (typeof canonicalCodes)[number]) =>
  refused(() =>
    judging(() => {
      throw new CanonicalError(code)
    }),
  )
const read = (code: (typeof framingCodes)[number]) =>
  refused(() =>
    readMls(["tree_bytes", 7], () => {
      throw new FramingRefused(code, "ratchet_tree", 0)
    }),
  )

test("every canonical code becomes a refusal that names it", () => {
  expect(canonicalCodes.filter((code) => judged(code).metadata.code !== code)).toEqual([])
})

test.each([
  ["PROOF_STALE", "PROOF_STALE"],
  ["PROOF_FORK", "PROOF_STALE"],
  ["PROOF_EXPIRED", "PROOF_STALE"],
  ["PROOF_MISSING", "PROOF_REFUSED"],
  ["PROOF_WRONG_COMMITTER", "PROOF_REFUSED"],
  ["GHOST_MEMBER", "GHOST_MEMBER"],
  ["CRED_EXPIRED", "CREDENTIAL_REFUSED"],
  ["TICKET_EXPIRED", "KEY_PACKAGE_NOT_CLAIMED"],
  ["AAD_MALFORMED", "ENVELOPE_INVALID"],
  ["BINDING_WRONG_APP", "GROUP_INFO_MISMATCH"],
] as const)("%s is %s", (code, reason) => {
  expect(judged(code).reason).toBe(reason)
})

test.each([
  ["MLS_MALFORMED", "MLS_MALFORMED"],
  ["MLS_UNSUPPORTED", "MLS_MALFORMED"],
  ["MLS_NON_CANONICAL", "MLS_NON_CANONICAL"],
  ["MLS_WRONG_WIRE_FORMAT", "MLS_WRONG_WIRE_FORMAT"],
  // A list that is too long in a message of few bytes.
  ["MLS_TOO_LARGE", "MLS_MALFORMED"],
] as const)("%s is %s, and names the code and the field", (code, reason) => {
  expect(read(code)).toMatchObject({ reason, metadata: { code, field: "ratchet_tree" } })
})

test("more bytes than a message may have are a LIMIT_EXCEEDED refusal that names the limit", () => {
  const error = refused(() =>
    readMls(["tree_bytes", 7], () => {
      throw new FramingOversized("ratchet_tree", 7)
    }),
  )
  expect(error.reason).toBe("LIMIT_EXCEEDED")
  expect(detailsOf(error)).toEqual([{ desc: LimitExceededSchema, value: { limit: "tree_bytes", max: 7n } }])
})

test("an internal fault is no refusal", () => {
  const fault = new TypeError("a defect")
  const failing = () => {
    throw fault
  }
  expect(() => judging(failing)).toThrow(fault)
  expect(() => readMls(["tree_bytes", 7], failing)).toThrow(fault)
})
