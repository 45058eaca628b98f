import { randomBytes } from "node:crypto"
import { verifyClaimTicket } from "@signet/canonical/claim-ticket"
import { verifyDeviceCredential } from "@signet/canonical/device-credential"
import { verifyDeviceList } from "@signet/canonical/device-list"
import { issuerIdOf } from "@signet/canonical/hash"
import { issueIssuerKeySet } from "@signet/canonical/issuer-keys"
import { nodeSigner } from "@signet/canonical/node/ed25519"
import { idBytes, idOf } from "@signet/kernel/ids"
import type { IssuerKeyRecord, IssuerKeyStore } from "@signet/kernel/keys/issuer-keys"
import { issuerKeyLabel } from "@signet/kernel/keys/sealed-columns"
import { KeyPurpose } from "@signet/proto/credential/v1/issuer_key_set"
import { SignatureScheme } from "@signet/proto/credential/v1/signed"
import { expect, test } from "vitest"
import { createAuthority, createTicketSigner } from "./authority.ts"
import { createIssuerKeyRing, type IssuerKeyRingOptions } from "./issuer-keys.ts"
import { rootPublicKey, signKeySet } from "./root-key.ts"
import { createSecrets } from "./secrets.ts"

const issuer = "https://auth.example"
const rootSeed = new Uint8Array(32).fill(9)
const secretsUnder = (fill: number) =>
  createSecrets({ peppers: [{ version: 1, key: new Uint8Array(32) }], sealingKey: new Uint8Array(32).fill(fill) })

function memoryKeys(): IssuerKeyStore & { kept: IssuerKeyRecord[] } {
  const kept: IssuerKeyRecord[] = []
  return {
    kept,
    list: async () => [...kept],
    async add(keys) {
      for (const key of keys) {
        const isTaken = kept.some(({ purpose, generation }) => purpose === key.purpose && generation === key.generation)
        if (!isTaken) kept.push(key)
      }
    },
  }
}

/** A store and a clock that several rings share, and a root that signs what the newest ring has. */
function installation(change: Partial<IssuerKeyRingOptions> = {}) {
  const clock = { ms: 1_800_000_000_000, nowMs: () => clock.ms }
  const keys = memoryKeys()
  const ring = () =>
    createIssuerKeyRing({
      keys,
      clock,
      issuer,
      secrets: secretsUnder(2),
      random: { bytes: (length) => new Uint8Array(randomBytes(length)) },
      loadKeySet: (named) =>
        signKeySet({
          seed: rootSeed,
          issuer,
          keys: named,
          version: BigInt(clock.ms / 1_000),
          nowMs: clock.ms,
          days: 30,
        }),
      ...change,
    })
  return { clock, keys, ring }
}

const place = { appId: idOf("app", new Uint8Array(16).fill(1)), tenantId: null }
const userId = idOf("prn", new Uint8Array(16).fill(2))
const deviceId = idOf("dev", new Uint8Array(16).fill(3))
const leaf = nodeSigner(new Uint8Array(32).fill(4))

test("a first start makes one key of each purpose, and what they sign verifies under the set", async () => {
  const { ring, clock } = installation()
  const one = ring()
  await one.start()
  const authority = createAuthority(one, issuer)
  const credential = await authority.issueCredential(
    {
      place,
      userId,
      deviceId,
      leafKey: leaf.publicKey,
      serial: 1n,
      notBeforeMs: clock.ms,
      notAfterMs: clock.ms + 86_400_000,
      flags: 0,
    },
    new Uint8Array(),
  )
  const known = { issuerKeys: one.issuerKeys(), tenantId: undefined, appId: idBytes(place.appId) }
  const atSeconds = BigInt(clock.ms / 1_000)
  const opened = verifyDeviceCredential(credential.bytes, { ...known, leafKey: leaf.publicKey, atSeconds })
  expect(opened.hash).toEqual(credential.hash)
  const list = await authority.signDeviceList({
    place,
    userId,
    version: 1n,
    previousHash: null,
    entries: [{ id: deviceId, credentialHash: credential.hash, status: "ACTIVE", changedAtMs: clock.ms }],
    issuedAtMs: clock.ms,
  })
  expect(verifyDeviceList(list.bytes, { ...known, userId: idBytes(userId), atSeconds }).hash).toEqual(list.hash)
  const conversationId = idOf("cnv", new Uint8Array(16).fill(5))
  const ticket = createTicketSigner(
    one,
    issuer,
  )({
    place,
    claimId: idOf("clm", new Uint8Array(16).fill(6)),
    conversationId,
    requesterDeviceId: deviceId,
    packages: [{ deviceId, credentialHash: credential.hash, keyPackageRef: new Uint8Array(32).fill(7) }],
    issuedAtMs: clock.ms,
  })
  const expected = {
    ...known,
    conversationId: idBytes(conversationId),
    requesterDeviceId: idBytes(deviceId),
    atSeconds,
  }
  expect(verifyClaimTicket(ticket, expected).packages).toHaveLength(1)
  expect(one.keySet()?.rootKey).toEqual(rootPublicKey(rootSeed))
})

test("private keys are stored encrypted, and another sealing key opens none", async () => {
  const { ring, keys, clock } = installation()
  await ring().start()
  expect(keys.kept.map(({ purpose }) => purpose).toSorted()).toEqual(["CREDENTIAL", "LIST", "PROOF", "RECEIPT"])
  for (const key of keys.kept) {
    const seed = secretsUnder(2).open(issuerKeyLabel({ ...key, generation: 1 }), key.privateSealed)
    expect(seed).toHaveLength(32)
    expect(Buffer.from(key.privateSealed).includes(Buffer.from(seed ?? []))).toBe(false)
  }
  await expect(
    installation({ keys, clock, secrets: secretsUnder(3) })
      .ring()
      .start(),
  ).rejects.toThrow("does not open")
  const [a, b] = keys.kept
  if (a && b) keys.kept.splice(0, 1, { ...a, publicKey: b.publicKey })
  await expect(installation({ keys, clock }).ring().start()).rejects.toThrow("does not match its row")
})

test("a key of this issuer that is also listed as one of another backend is named once", async () => {
  const { ring, keys } = installation()
  await ring().start()
  const own = keys.kept.find(({ purpose }) => purpose === "RECEIPT") ?? expect.fail("no key")
  const publicKey = nodeSigner(new Uint8Array(32).fill(8)).publicKey
  const listed = [own.publicKey, publicKey].map((publicKey) => ({ publicKey, createdAtMs: 1, name: "elsewhere" }))
  const two = installation({ keys, receiptKeys: { list: async () => listed } }).ring()
  await two.start()
  const named = two.publicKeys().filter(({ purpose }) => purpose === "RECEIPT")
  expect(named.map(({ generation }) => generation)).toEqual([1, 0])
  expect(named[1]?.publicKey).toEqual(publicKey)
})

test("processes that start at once agree on one key of each purpose", async () => {
  const { ring, keys } = installation()
  const rings = Array.from({ length: 4 }, ring)
  await Promise.all(rings.map((one) => one.start()))
  await Promise.all(rings.map((one) => one.tick()))
  expect(keys.kept).toHaveLength(4)
  expect(new Set(rings.map((one) => Buffer.from(one.signer("PROOF").publicKey).toString("hex"))).size).toBe(1)
})

test("a new key signs once the set names it, and not before", async () => {
  const { clock, keys, ring } = installation()
  await ring().start()
  const named = (await keys.list()).slice()
  let withAll = false
  const slow = installation({
    keys,
    clock,
    loadKeySet: (all) =>
      signKeySet({
        seed: rootSeed,
        issuer,
        keys: withAll ? all : named,
        version: BigInt(clock.ms / 1_000),
        nowMs: clock.ms,
        days: 30,
      }),
  }).ring()
  await slow.start()
  const before = slow.signer("CREDENTIAL").publicKey
  await slow.rotate("CREDENTIAL")
  expect(slow.signer("CREDENTIAL").publicKey).toEqual(before)
  withAll = true
  clock.ms += 60_000
  await slow.tick()
  expect(slow.signer("CREDENTIAL").publicKey).not.toEqual(before)
  expect(slow.issuerKeys().keys.size).toBe(5)
})

test("a key signs for the purpose and in the time that the set gives it", async () => {
  const { clock, keys } = installation()
  const made = clock.ms
  const seconds = BigInt(made / 1_000)
  let purpose: KeyPurpose = KeyPurpose.RECEIPT
  const ring = installation({
    keys,
    clock,
    loadKeySet: async (all) => {
      const root = nodeSigner(rootSeed)
      const named = all.map((key) => ({
        scheme: SignatureScheme.ED25519,
        key: key.publicKey,
        purpose: key.purpose === "RECEIPT" ? purpose : KeyPurpose.PROOF,
        notBefore: seconds + 60n,
        notAfter: seconds + 120n,
      }))
      const validity = { notBefore: seconds - 60n, notAfter: seconds + 3_600n }
      const setVersion = BigInt(clock.ms / 1_000)
      const body = { issuerId: issuerIdOf(issuer), setVersion, ...validity, keys: named }
      return { rootKey: root.publicKey, issuerKeySet: await issueIssuerKeySet(body, root) }
    },
  }).ring()
  await ring.start()
  const signsAt = (second: number) => {
    clock.ms = made + second * 1_000
    try {
      return ring.signer("RECEIPT").publicKey.length === 32
    } catch (error) {
      expect(error).toMatchObject({ reason: "UNAVAILABLE" })
      return false
    }
  }
  expect([59, 60, 119, 120].map(signsAt)).toEqual([false, true, true, false])
  expect(() => ring.signer("LIST")).toThrow("try again later")
  purpose = KeyPurpose.PROOF
  clock.ms = made + 60_000
  await ring.tick()
  expect(signsAt(60)).toBe(false)
})

test("nothing is signed without a set or with an expired set, and an older set is refused", async () => {
  const none = installation({ loadKeySet: async () => undefined }).ring()
  await none.start()
  expect(() => none.signer("CREDENTIAL")).toThrow("try again later")
  expect(() => none.issuerKeys()).toThrow("try again later")
  expect(none.keySet()).toBeUndefined()

  const { clock, keys } = installation()
  let version = 7n
  let signedAtMs = clock.ms
  const ring = installation({
    keys,
    clock,
    loadKeySet: (all) => signKeySet({ seed: rootSeed, issuer, keys: all, version, nowMs: signedAtMs, days: 1 }),
  }).ring()
  await ring.start()
  version = 6n
  await expect(ring.tick()).rejects.toThrow("ISSUER_KEYS_ROLLBACK")
  expect(ring.issuerKeys().version).toBe(7n)
  version = 8n
  signedAtMs = clock.ms
  clock.ms += 2 * 86_400_000
  await expect(ring.tick()).rejects.toThrow("ISSUER_KEYS_EXPIRED")
  expect(() => ring.signer("RECEIPT")).toThrow("try again later")
})

test("a set of another issuer, or without the root's signature, is refused", async () => {
  const of = (change: Partial<Parameters<typeof signKeySet>[0]>, rootKey?: Uint8Array) => {
    const { clock, ring } = installation({
      loadKeySet: async (keys) => {
        const signed = await signKeySet({
          seed: rootSeed,
          issuer,
          keys,
          version: 1n,
          nowMs: clock.ms,
          days: 30,
          ...change,
        })
        return rootKey === undefined ? signed : { ...signed, rootKey }
      },
    })
    return ring().start()
  }
  await expect(of({ issuer: "https://other.example" })).rejects.toThrow("ISSUER_KEYS_WRONG_ISSUER")
  await expect(of({}, rootPublicKey(new Uint8Array(32).fill(8)))).rejects.toThrow("ISSUER_KEYS_UNKNOWN_ROOT")
})
