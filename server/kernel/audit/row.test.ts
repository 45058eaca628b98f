import { expect, test } from "vitest"
import type { AuditCrypto } from "./crypto.ts"
import type { Denial } from "./denial.ts"
import type { AuditEvent } from "./event.ts"
import { decryptRow, personalOf, rowText, sealRow } from "./row.ts"

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes)
const sealing: Pick<AuditCrypto, "seal" | "stamp" | "open"> = {
  seal: (key, label, plain) => new TextEncoder().encode(JSON.stringify([[...key], label, plain])),
  stamp: () => Uint8Array.of(0xab),
  open(key, label, sealed) {
    const [by, of, plain] = JSON.parse(text(sealed))
    return String(by) === String([...key]) && of === label ? plain : undefined
  },
}
const seals = sealing as AuditCrypto
const key = Uint8Array.of(1, 2)
const eventOf = (ipTruncated: string | null): AuditEvent => ({
  ...{ id: "aud_1" as never, occurredAtMs: 1, kind: "grant.created", outcome: "SUCCESS", reason: null },
  ...{ appId: null, tenantId: null, contextId: null, actorPrincipalId: null, subjectPrincipalId: null },
  ...{ subjectIdentityId: null, sessionId: null, target: null, request: { id: "r", route: "", ipTruncated } },
})
const sealed = (ip: string | null, of: Uint8Array | null) => sealRow(eventOf(ip), { owner: "prn_1", key: of }, seals)
const ip = "192.0.2.0/24"

test("personal fields are sealed under the owner's key, and dropped without one", () => {
  const row = sealed(ip, key)
  expect(row).toMatchObject({ keyOwner: "prn_1", request: { id: "r", route: "" } })
  expect(Object.keys(row.request)).toEqual(["id", "route"])
  expect(text(row.personalSealed ?? new Uint8Array())).toContain(ip)
  expect(sealed(ip, null).personalSealed).toBeNull()
  expect(sealed(null, key).personalSealed).toBeNull()
  expect(sealRow(eventOf(ip), null, seals)).toMatchObject({ keyOwner: null, personalSealed: null })
})

test("a row opens under its key only, and names what was erased", () => {
  const row = sealed(ip, key)
  expect(decryptRow(row, key, seals)).toEqual(eventOf(ip))
  expect(decryptRow(row, Uint8Array.of(9), seals)).toEqual(eventOf(null))
  const erased = { ...eventOf(null), request: { id: "r", route: "", ipTruncated: null, isErased: true } }
  expect(decryptRow(row, undefined, seals)).toEqual(erased)
  expect(decryptRow({ ...row, personalSealed: null }, key, seals)).toEqual(erased)
  expect(decryptRow({ ...row, keyOwner: null }, undefined, seals)).toEqual(eventOf(null))
  for (const plain of ["no JSON", `{"ip":7}`]) {
    const other = { ...row, personalSealed: seals.seal(key, "audit-personal|aud_1", plain) }
    expect(decryptRow(other, key, seals)).toEqual(eventOf(null))
  }
})

const denial: Denial = {
  ...{ requirement: "scope(notes.write)", missing: "notes.write" },
  ...{ audience: "svc-notes", authTimeMs: 7 },
  callerKind: "USER",
}

test("the facts of a denial are sealed, open under their key only, and are erased with it", () => {
  for (const address of [ip, null]) {
    const denied = { ...eventOf(address), denial }
    expect(personalOf(denied)).toEqual({ ipTruncated: address, denial })
    const row = sealRow(denied, { owner: "prn_1", key }, seals)
    expect(row).not.toHaveProperty("denial")
    expect(decryptRow(row, key, seals)).toEqual(denied)
    expect(decryptRow(row, Uint8Array.of(9), seals)).toEqual(eventOf(null))
    expect(decryptRow(row, undefined, seals).denial).toBeUndefined()
    expect(decryptRow(row, undefined, seals).request.isErased).toBe(true)
    // The chain covers it: another fact is another text.
    const other = sealRow({ ...denied, denial: { ...denial, missing: "notes.read" } }, { owner: "prn_1", key }, seals)
    expect(rowText(other)).not.toBe(rowText(row))
  }
})

test("a row without facts of a denial has the text that earlier versions gave it", () => {
  const plain = JSON.stringify([[...key], "audit-personal|aud_1", `{"ip":"${ip}"}`])
  const fields = ["aud_1", 1, "grant.created", "SUCCESS", null, null, null, null, null, null, null, null, null, null]
  const sealedHex = Buffer.from(plain).toString("hex")
  expect(rowText(sealed(ip, key))).toBe(
    JSON.stringify(["signet audit row v1", ...fields, "r", "", "prn_1", sealedHex, "ab"]),
  )
})

test("the text of a link has the stamp, or null for a row from before stamps", () => {
  const row = sealed(ip, key)
  expect(JSON.parse(rowText(row)).at(-1)).toBe("ab")
  expect(JSON.parse(rowText({ ...row, stamp: null })).at(-1)).toBeNull()
})
