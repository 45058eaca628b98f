import type { SealingKeyRecord } from "@signet/kernel/keys/sealing"
import { expect, test } from "vitest"
import { createSealingKeys } from "./sealing-keys.ts"

const key = (fill: number) => new Uint8Array(32).fill(fill)
const record = { createdAtMs: 0, resealedAtMs: null, stampSealed: null }

test("two equal keys are refused", () => {
  expect(() => createSealingKeys([key(1), key(1)])).toThrow("two sealing keys are equal")
})

test("records without an active key are refused", () => {
  const keys = createSealingKeys([key(1), key(2)])
  const records: SealingKeyRecord[] = keys.heldIds.map((id) => ({ ...record, id, status: "PREVIOUS" }))
  expect(() => keys.follow(records)).toThrow("the database has no active sealing key")
})

test("a former key whose stamp key is missing is refused", () => {
  const keys = createSealingKeys([key(1), key(2)])
  const [former = "", active = ""] = keys.heldIds
  const records: SealingKeyRecord[] = [
    { ...record, id: active, status: "CURRENT" },
    { ...record, id: former, status: "PREVIOUS" },
  ]
  expect(() => keys.follow(records)).toThrow(`the stamp key of the sealing key ${former} does not open`)
})

test("only the stamp key of a known key is sealed, and only under a held one", () => {
  const keys = createSealingKeys([key(1)])
  const [held = ""] = keys.heldIds
  const of = { status: "RETIRED", until: null } as const
  expect(keys.sealStampKey({ ...of, id: held, to: held })).toBeInstanceOf(Uint8Array)
  expect(() => keys.sealStampKey({ ...of, id: "other", to: held })).toThrow("the stamp key of other is unknown")
  expect(() => keys.sealStampKey({ ...of, id: held, to: "other" })).toThrow("other is not in the settings")
})
