import { createHash, generateKeyPairSync, type KeyObject, sign } from "node:crypto"
import { create } from "@bufbuild/protobuf"
import {
  type AuditCheckpoint,
  AuditCheckpointSchema,
  type AuditLink,
  AuditLinkSchema,
} from "@signet/proto/auth/v1/audit_service"
import { beforeAll, expect, test } from "vitest"
import { importKeys, newChain, newCheckpoints, type PublishedKey, verifyCheckpoints, verifyLinks } from "./chain.ts"

const chain = "ten_test"
const issuer = "https://auth.example"
const hash = (text: string) => createHash("sha256").update(text).digest()
const hashOf = (parts: readonly unknown[]) => hash(JSON.stringify(parts))

/** Three links, as the server makes them. */
function links(): AuditLink[] {
  let before = "0".repeat(64)
  return [1, 2, 3].map((seq) => {
    const eventText = JSON.stringify([1, `aud_${seq}`, "grant.created"])
    const eventHash = hash(eventText)
    const parts = [
      "signet audit link v1",
      chain,
      String(seq),
      before,
      `aud_${seq}`,
      eventHash.toString("hex"),
      seq * 1_000,
    ]
    const link = hashOf(parts)
    before = link.toString("hex")
    return create(AuditLinkSchema, {
      ...{ seq: BigInt(seq), eventId: `aud_${seq}`, eventHash, linkedAtMs: BigInt(seq * 1_000), hash: link, eventText },
    })
  })
}

const pair = generateKeyPairSync("ec", { namedCurve: "P-256" })
let keys: PublishedKey[]
beforeAll(async () => {
  keys = await importKeys({ keys: [{ ...pair.publicKey.export({ format: "jwk" }), kid: "k1" }] })
})

/** A checkpoint of the chain's head beside one other chain. */
function checkpoint(
  number: number,
  prev: string | null,
  head: AuditLink,
  by: KeyObject = pair.privateKey,
): AuditCheckpoint {
  const own = hashOf(["signet audit head v1", chain, String(head.seq), Buffer.from(head.hash).toString("hex")])
  const sibling = hash("another chain")
  const root = hashOf(["signet audit node v1", sibling.toString("hex"), own.toString("hex")]).toString("hex")
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url")
  const signed = `${part({ alg: "ES256", typ: "aud-cp+jwt", kid: "k1" })}.${part({ iss: issuer, number, prev, root })}`
  const signature = sign("sha256", Buffer.from(signed), { key: by, dsaEncoding: "ieee-p1363" }).toString("base64url")
  const proof = [{ hash: sibling, isLeft: true }]
  const jws = `${signed}.${signature}`
  return create(AuditCheckpointSchema, { number: BigInt(number), jws, head: { seq: head.seq, hash: head.hash, proof } })
}

const digest = ({ jws }: AuditCheckpoint) => hash(jws).toString("hex")

async function flawsOf(changedLinks: AuditLink[], checkpoints: AuditCheckpoint[] = []): Promise<string[]> {
  const state = newChain()
  await verifyLinks(chain, state, changedLinks)
  const signed = newCheckpoints()
  await verifyCheckpoints({ chain, issuer, keys, hashes: state.hashes }, signed, checkpoints)
  return [...state.flaws, ...signed.flaws].map(({ what, at }) => `${what} ${at}`)
}

const at = <Item>(items: readonly Item[], index: number): Item => {
  const item = items[index]
  if (item === undefined) throw new Error(`no item ${index}`)
  return item
}

test("a complete chain with its checkpoints verifies", async () => {
  const all = links()
  const first = checkpoint(1, null, at(all, 1))
  expect(await flawsOf(all, [first, checkpoint(2, digest(first), at(all, 2))])).toEqual([])
})

test("a chain whose oldest links were dropped verifies from its start", async () => {
  expect(await flawsOf(links().slice(1))).toEqual([])
})

test.each<[string, (all: AuditLink[]) => AuditLink[], string[]]>([
  ["a changed event text", (all) => all.with(1, Object.assign(at(all, 1), { eventText: "[]" })), ["EVENT_CHANGED 2"]],
  ["another event", (all) => all.with(1, Object.assign(at(all, 1), { eventId: "aud_x" })), ["LINK_CHANGED 2"]],
  ["a removed link", (all) => all.filter(({ seq }) => seq !== 2n), ["LINK_MISSING 3"]],
  ["another time", (all) => all.with(2, Object.assign(at(all, 2), { linkedAtMs: 1n })), ["LINK_CHANGED 3"]],
])("%s is found", async (_, change, expected) => {
  expect(await flawsOf(change(links()))).toEqual(expected)
})

test.each<[string, () => AuditCheckpoint[], string[]]>([
  [
    "a checkpoint of an unknown key",
    () => [checkpoint(1, null, at(links(), 2), generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey)],
    ["CHECKPOINT_SIGNATURE 1", "CHECKPOINT_ORDER 1", "CHECKPOINT_ROOT 1"],
  ],
  [
    "a checkpoint that does not follow",
    () => [checkpoint(1, null, at(links(), 1)), checkpoint(2, "0".repeat(64), at(links(), 2))],
    ["CHECKPOINT_ORDER 2"],
  ],
  [
    "a signed head that the chain does not have",
    () => [checkpoint(1, null, create(AuditLinkSchema, { seq: 3n, hash: hash("cut") }))],
    ["HEAD_MISMATCH 1"],
  ],
])("%s is found", async (_, checkpoints, expected) => {
  expect(await flawsOf(links(), checkpoints())).toEqual(expected)
})
