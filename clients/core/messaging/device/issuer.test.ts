import { type Verify, verifyEd25519 } from "@signet/canonical/ed25519"
import { issueIssuerKeySet } from "@signet/canonical/issuer-keys"
import { expect, test } from "vitest"
import { issuerUrl, keySetBytes, keySetFields, root } from "../../../../proto/canonical/testing/world.ts"
import { openIssuer } from "./issuer.ts"

const seconds = (of: bigint) => Number(of) * 1_000

type KeepKeySet = (signed: Uint8Array) => Promise<Uint8Array>

function issuerAt(
  clock: { nowMs: number },
  fetched: Uint8Array,
  {
    kept = keySetBytes,
    keep = async (signed) => signed,
    verify = verifyEd25519,
  }: { kept?: Uint8Array; keep?: KeepKeySet; verify?: Verify } = {},
) {
  const roots = [root.publicKey]
  const fetch = async () => fetched
  return openIssuer({ issuer: issuerUrl, roots, nowMs: () => clock.nowMs, verify, fetch, store: keep }, kept)
}

test("a key set expires while the program runs, even if the service withholds the next one", async () => {
  const clock = { nowMs: seconds(keySetFields.notBefore) }
  const issuer = issuerAt(clock, keySetBytes)
  await issuer.refresh()
  expect(issuer.keys().version).toBe(keySetFields.setVersion)
  clock.nowMs = seconds(keySetFields.notAfter)
  expect(() => issuer.keys()).toThrow(expect.objectContaining({ reason: "ISSUER_KEYS_REFUSED" }))
})

test("an older set than the stored one is refused, and changes nothing", async () => {
  const older = await issueIssuerKeySet({ ...keySetFields, setVersion: keySetFields.setVersion - 1n }, root)
  const issuer = issuerAt({ nowMs: seconds(keySetFields.notBefore) }, older)
  await expect(issuer.refresh()).rejects.toMatchObject({ reason: "ISSUER_KEYS_REFUSED" })
  expect(issuer.keys().version).toBe(keySetFields.setVersion)
})

const withVersion = (ahead: bigint, change: Partial<typeof keySetFields> = {}) =>
  issueIssuerKeySet({ ...keySetFields, ...change, setVersion: keySetFields.setVersion + ahead }, root)

test("a newer set that another tab has stored is used", async () => {
  const [next, after] = [await withVersion(1n), await withVersion(2n)]
  const issuer = issuerAt({ nowMs: seconds(keySetFields.notBefore) }, next, { keep: async () => after })
  expect((await issuer.refresh()).version).toBe(keySetFields.setVersion + 2n)
  expect(issuer.keys().version).toBe(keySetFields.setVersion + 2n)
  // The fetched set is older than that one.
  await expect(issuer.refresh()).rejects.toMatchObject({ reason: "ISSUER_KEYS_REFUSED" })
})

test("two sets of one version, each shown to one tab, are refused", async () => {
  const other = await withVersion(1n, { notAfter: keySetFields.notAfter - 1n })
  const keep = async () => other
  const issuer = issuerAt({ nowMs: seconds(keySetFields.notBefore) }, await withVersion(1n), { keep })
  await expect(issuer.refresh()).rejects.toMatchObject({ reason: "ISSUER_KEYS_REFUSED" })
})

test("before the first fetch there are no keys", () => {
  const issuer = issuerAt({ nowMs: seconds(keySetFields.notBefore) }, keySetBytes, { kept: new Uint8Array() })
  const none = { reason: "ISSUER_KEYS_REFUSED", message: "no issuer key set was fetched yet: call `refresh` first" }
  expect(() => issuer.keys()).toThrow(expect.objectContaining(none))
})

test("a verifier that fails is reported as it fails: the key set is not at fault", async () => {
  const failure = new Error("no such algorithm on this platform")
  const issuer = issuerAt({ nowMs: seconds(keySetFields.notBefore) }, keySetBytes, {
    verify() {
      throw failure
    },
  })
  await expect(issuer.refresh()).rejects.toBe(failure)
})
