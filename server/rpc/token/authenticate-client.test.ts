import { generateKeyPairSync, sign } from "node:crypto"
import { nodeTokenCrypto } from "@signet/guard/node/token-crypto"
import type { ClientFacts } from "@signet/kernel/machine/ports"
import { serviceAccount, serviceSecret } from "@signet/kernel/testing/machine-records"
import { app } from "@signet/kernel/testing/records"
import { buildOpaque } from "@signet/kernel/token/opaque"
import { expect, test } from "vitest"
import { createSecrets } from "../../keys/secrets.ts"
import { claimOf, clientOfToken, prove, proveKnown } from "./authenticate-client.ts"

const issuer = "https://auth.example"
const nowMs = 1_000_000
const secrets = createSecrets({ peppers: [{ version: 1, key: new Uint8Array(32) }], sealingKey: new Uint8Array(32) })
const means = { issuer, secrets, crypto: nodeTokenCrypto }
const { clientId } = serviceAccount

const facts: ClientFacts = {
  account: { ...serviceAccount, authMethods: ["private_key_jwt", "client_secret_basic"] },
  app: { id: app.id, status: "ACTIVE", scopes: app.scopes },
  principal: "ACTIVE",
  versions: { principal: 0, policy: 0 },
  secrets: [],
  keys: [],
  memberships: [],
  place: { tenantId: null, facts: { app: "ACTIVE", tenant: null, context: null } },
}

function newKey(kid: string) {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const { x = "", y = "" } = publicKey.export({ format: "jwk" })
  return { privateKey, registered: { kid, x, y } }
}

const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString("base64url")

/** An assertion signed by the key, with this `kid` or none. */
function assertion({ privateKey }: ReturnType<typeof newKey>, kid: string | undefined, jti = "j"): string {
  const claims = { iss: clientId, sub: clientId, aud: issuer, jti, iat: nowMs / 1_000, exp: nowMs / 1_000 + 60 }
  const signed = `${encode({ alg: "ES256", kid })}.${encode(claims)}`
  const signature = sign("sha256", Buffer.from(signed), { key: privateKey, dsaEncoding: "ieee-p1363" })
  return `${signed}.${signature.toString("base64url")}`
}

/** The result for an assertion, and the assertions marked as used. */
async function proved(text: string, of: ClientFacts | undefined, isNew = true) {
  const used: string[] = []
  const claim = claimOf(means, { is: "assertion", clientId: "", assertion: text }, nowMs) ?? expect.unreachable()
  const marks = {
    markSecretUsed: async () => undefined,
    useAssertion: async (client: string, jti: string) => {
      used.push(`${client} ${jti}`)
      return isNew
    },
  }
  const client = await prove(means, claim, of, marks, nowMs)
  return { answer: "credentialId" in client ? client.credentialId : client.reason, used }
}

const [one, two, stranger] = [newKey("one"), newKey("two"), newKey("stranger")]
const both = { ...facts, keys: [one.registered, two.registered] }
const refused = { answer: "CLIENT_INVALID", used: [] }

test("an assertion is verified only with the key that it names", async () => {
  const used = [`${clientId} j`]
  const byTwo = { answer: `${serviceAccount.id}.two`, used }
  expect(await proved(assertion(two, "two"), both)).toEqual(byTwo)
  expect(await proved(assertion(two, undefined), both)).toEqual(byTwo)
  expect(await proved(assertion(two, "one"), both)).toEqual(refused)
  expect(await proved(assertion(two, "three"), both)).toEqual(refused)
  expect(await proved(assertion(stranger, undefined), both)).toEqual(refused)
  expect(await proved(assertion(two, "two"), undefined)).toEqual(refused)
  expect(await proved(assertion(two, "two"), both, false)).toEqual({ answer: "CLIENT_INVALID", used })
})

test.each<[string, Partial<ClientFacts>]>([
  ["may not use assertions", { account: { ...both.account, authMethods: ["client_secret_basic"] } }],
  ["is disabled", { account: { ...both.account, status: "DISABLED" } }],
  ["has an app that is suspended", { app: { id: app.id, status: "SUSPENDED", scopes: [] } }],
  ["has no app", { app: undefined }],
  ["is suspended", { principal: "SUSPENDED" }],
  ["has no principal", { principal: undefined }],
])("an assertion is refused, and not used up, for a client that %s", async (_, change) => {
  expect(await proved(assertion(one, "one"), { ...both, ...change })).toEqual(refused)
})

test.each<[string, Partial<ClientFacts>]>([
  ["is disabled", { account: { ...both.account, status: "DISABLED" } }],
  ["has an app that is suspended", { app: { id: app.id, status: "SUSPENDED", scopes: [] } }],
  ["is suspended", { principal: "SUSPENDED" }],
])("a token's client is none that %s", async (_, change) => {
  const of = { principalId: serviceAccount.principalId, credentialId: "c" }
  expect((await clientOfToken(async () => both, of, nowMs))?.credentialId).toBe("c")
  expect(await clientOfToken(async () => ({ ...both, ...change }), of, nowMs)).toBeUndefined()
  expect(await clientOfToken(async () => undefined, of, nowMs)).toBeUndefined()
})

test("a secret's use is recorded at most once a minute, and only for an authenticated client", async () => {
  const text = buildOpaque("sgsec_", { bytes: (length) => new Uint8Array(length).fill(5) })
  const secretHash = secrets.hash("service-secret", text)
  const marked = async (
    lastUsedAtMs: number | null,
    change: Partial<ClientFacts> = {},
    method: "client_secret_basic" | "client_secret_post" = "client_secret_basic",
  ) => {
    const ids: string[] = []
    const marks = { useAssertion: async () => true, markSecretUsed: async (id: string) => void ids.push(id) }
    const credential = { is: "secret", clientId, method, secret: text } as const
    const claim = claimOf(means, credential, nowMs) ?? expect.unreachable()
    const of = { ...facts, secrets: [{ id: serviceSecret.id, secretHash, lastUsedAtMs }], ...change }
    await prove(means, claim, of, marks, nowMs)
    return ids.length === 1
  }
  expect(await marked(null)).toBe(true)
  expect(await marked(nowMs - 60_000)).toBe(true)
  expect(await marked(nowMs - 59_999)).toBe(false)
  expect(await marked(null, { principal: "SUSPENDED" })).toBe(false)
  expect(await marked(null, {}, "client_secret_post")).toBe(false)
  expect(
    claimOf(means, { is: "secret", clientId: "", method: "client_secret_basic", secret: text }, nowMs),
  ).toBeUndefined()
})

test("an unknown client, and a known one without secret or key, cost one comparison or one verification", async () => {
  const marks = { markSecretUsed: async () => undefined, useAssertion: async () => true }
  const text = buildOpaque("sgsec_", { bytes: (length) => new Uint8Array(length).fill(5) })
  const workFor = async (credential: Parameters<typeof claimOf>[1], of: ClientFacts | undefined) => {
    const work = { comparisons: 0, verifications: 0 }
    const counted = {
      ...means,
      secrets: { ...secrets, equal: (a: Uint8Array, b: Uint8Array) => ++work.comparisons > 0 && secrets.equal(a, b) },
      crypto: {
        ...nodeTokenCrypto,
        importKey: async (...of: Parameters<typeof nodeTokenCrypto.importKey>) => {
          work.verifications++
          return nodeTokenCrypto.importKey(...of)
        },
      },
    }
    await prove(counted, claimOf(means, credential, nowMs) ?? expect.unreachable(), of, marks, nowMs)
    return work
  }
  const secretHash = secrets.hash("service-secret", text)
  const withSecret = { ...facts, secrets: [{ id: serviceSecret.id, secretHash, lastUsedAtMs: nowMs }] }
  const bySecret = { is: "secret", clientId, method: "client_secret_basic", secret: text } as const
  for (const of of [withSecret, facts, undefined])
    expect(await workFor(bySecret, of)).toEqual({ comparisons: 1, verifications: 0 })
  const byKey = { is: "assertion", clientId, assertion: assertion(one, "one") } as const
  for (const of of [{ ...facts, keys: [one.registered] }, { ...facts, keys: [two.registered] }, facts, undefined])
    expect(await workFor(byKey, of)).toEqual({ comparisons: 0, verifications: 1 })
})

test("a remembered client proves a secret only while no use of it must be recorded, and never an assertion", async () => {
  const text = buildOpaque("sgsec_", { bytes: (length) => new Uint8Array(length).fill(5) })
  const secretHash = secrets.hash("service-secret", text)
  const known = (lastUsedAtMs: number) => ({
    tag: "t",
    client: { ...both, secrets: [{ id: serviceSecret.id, secretHash, lastUsedAtMs }] },
  })
  const proven = async (credential: Parameters<typeof claimOf>[1], lastUsedAtMs = nowMs) => {
    const claim = claimOf(means, credential, nowMs) ?? expect.unreachable()
    return (await proveKnown(means, claim, known(lastUsedAtMs), nowMs))?.credentialId
  }
  const bySecret = { is: "secret", clientId, method: "client_secret_basic", secret: text } as const
  const wrong = buildOpaque("sgsec_", { bytes: (length) => new Uint8Array(length).fill(6) })
  expect(await proven(bySecret)).toBe(serviceSecret.id)
  expect(await proven(bySecret, nowMs - 60_000)).toBeUndefined()
  expect(await proven({ ...bySecret, secret: wrong })).toBeUndefined()
  expect(await proven({ is: "assertion", clientId, assertion: assertion(one, "one") })).toBeUndefined()
})
