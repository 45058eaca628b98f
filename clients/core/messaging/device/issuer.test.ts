import { verifyEd25519 } from "@signet/canonical/ed25519"
import { issueIssuerKeySet } from "@signet/canonical/issuer-keys"
import { expect, test } from "vitest"
import { issuerUrl, keySetBytes, keySetFields, root } from "../../../../proto/canonical/testing/world.ts"
import { openIssuer } from "./issuer.ts"

const seconds = (of: bigint) => Number(of) * 1_000

type SessionStore = (signed: Uint8Array) => Promise<Uint8Array>

function issuerAt(
  clock: { nowMs: number },
  fetched: Uint8Array,
  { kept = keySetBytes, keep = async (signed) => signed }: { kept?: Uint8Array; keep?: SessionStore } = {},
) {
  const roots = [root.publicKey]
  const fetch = async () => fetched
  return openIssuer({ issuer: issuerUrl, roots, nowMs: () => clock.nowMs, verify: verifyEd25519, fetch, keep }, kept)
}

test("a key set ends while the program runs, also where the service keeps the next one back", async () => {
  const clock = { nowMs: seconds(keySetFields.notBefore) }
  const issuer = issuerAt(clock, keySetBytes)
  await issuer.refresh()
  expect(issuer.keys().version).toBe(keySetFields.setVersion)
  clock.nowMs = seconds(keySetFields.notAfter)
  expect(() => issuer.keys()).toThrow(expect.objectContaining({ reason: "ISSUER_KEYS_REFUSED" }))
})

test("a set from before the one that was kept is refused, and changes nothing", async () => {
  const older = await issueIssuerKeySet({ ...keySetFields, setVersion: keySetFields.setVersion - 1n }, root)
  const issuer = issuerAt({ nowMs: seconds(keySetFields.notBefore) }, older)
  await expect(issuer.refresh()).rejects.toMatchObject({ reason: "ISSUER_KEYS_REFUSED" })
  expect(issuer.keys().version).toBe(keySetFields.setVersion)
})

const withVersion = (ahead: bigint, change: Partial<typeof keySetFields> = {}) =>
  issueIssuerKeySet({ ...keySetFields, ...change, setVersion: keySetFields.setVersion + ahead }, root)

test("a set that another tab has kept meanwhile, and that is newer, is the one that counts", async () => {
  const [next, after] = [await withVersion(1n), await withVersion(2n)]
  const issuer = issuerAt({ nowMs: seconds(keySetFields.notBefore) }, next, { keep: async () => after })
  expect((await issuer.refresh()).version).toBe(keySetFields.setVersion + 2n)
  expect(issuer.keys().version).toBe(keySetFields.setVersion + 2n)
  // From here on the one that was fetched is an old one.
  await expect(issuer.refresh()).rejects.toMatchObject({ reason: "ISSUER_KEYS_REFUSED" })
})

test("two sets of one version, one told to each tab, are refused", async () => {
  const other = await withVersion(1n, { notAfter: keySetFields.notAfter - 1n })
  const keep = async () => other
  const issuer = issuerAt({ nowMs: seconds(keySetFields.notBefore) }, await withVersion(1n), { keep })
  await expect(issuer.refresh()).rejects.toMatchObject({ reason: "ISSUER_KEYS_REFUSED" })
})
