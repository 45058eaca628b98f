// An auditor exports a chain and its checkpoints, and verifies them offline with SHA-256 and the published keys.
import { createHash } from "node:crypto"
import type { AuditHead, AuditLink } from "@signet/proto/auth/v1/audit_service"
import { compactVerify, createLocalJWKSet, type JSONWebKeySet } from "jose"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { checkpointWhenDue } from "../../server/node/audit-chainer.ts"
import { linkPending } from "../../server/store/postgres/audit/audit-chain.ts"
import { type AdministeredWorld, type AdministratorName, administeredWorld } from "../support/administration.ts"
import { testAuditLogDeps, testSeals } from "../support/audit-log-deps.ts"
import { type Clients, clientsOver, protocols, refusal } from "../support/clients.ts"
import { storyStore } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

let server: TestServer
let world: AdministeredWorld
let audit: Clients["audit"]
beforeAll(async () => {
  server = await startTestServer({ store: storyStore })
  const connect = protocols["Connect JSON over HTTP/1.1"]
  if (connect === undefined) throw new Error("no protocol")
  const clients = clientsOver(connect(server.url))
  ;({ audit } = clients)
  world = await administeredWorld(server, clients)
  const { keys, random, clock } = server.deps
  const of = { db: server.store.db, writing: testAuditLogDeps(), keys, clock, random, issuer: server.deps.issuer }
  for (let round = 0; round < 2; round++) {
    await clients.admin.createPermission(
      { appId: world.app.id, permission: { key: `a.b.c${round}` } },
      world.as("admin"),
    )
    await link()
    server.advance(60_000)
    await checkpointWhenDue({ ...of, everySeconds: 60 })()
    await link()
  }
})
afterAll(() => server?.close())

const link = () => linkPending(server.store.db, testSeals, server.deps.clock.nowMs)
const hashOf = (json: readonly unknown[]) => createHash("sha256").update(JSON.stringify(json)).digest("hex")
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex")

async function exported(by: AdministratorName, pageSize: number, at = {}) {
  const links: AuditLink[] = []
  for (let chain = ""; ; ) {
    const page = await audit.listAuditLinks({ ...at, pageSize, afterSeq: links.at(-1)?.seq ?? 0n }, world.as(by))
    expect([chain || page.chain]).toEqual([page.chain])
    chain = page.chain
    links.push(...page.links)
    if (page.links.length < pageSize) return { chain, links }
  }
}

/** The hashes of a chain by sequence number. @throws if a link does not follow the one before. */
function verified(chain: string, links: readonly AuditLink[]): Map<bigint, string> {
  const hashes = new Map<bigint, string>([[0n, "0".repeat(64)]])
  for (const { seq, eventId, eventHash, linkedAtMs, hash, eventText } of links) {
    const before = hashes.get(seq - 1n)
    const text = ["signet audit link v1", chain, String(seq), before, eventId, hex(eventHash), Number(linkedAtMs)]
    expect([seq, hashOf(text)]).toEqual([seq, hex(hash)])
    if (eventText !== "") {
      expect(createHash("sha256").update(eventText).digest("hex")).toBe(hex(eventHash))
      expect(JSON.parse(eventText)[1]).toBe(eventId)
    }
    hashes.set(seq, hex(hash))
  }
  return hashes
}

const rootOf = (chain: string, { seq, hash, proof }: AuditHead) =>
  proof.reduce(
    (at, step) => {
      const pair = step.isLeft ? [hex(step.hash), at] : [at, hex(step.hash)]
      return hashOf(["signet audit node v1", ...pair])
    },
    hashOf(["signet audit head v1", chain, String(seq), hex(hash)]),
  )

describe("an exported chain", () => {
  test.each<[AdministratorName, () => string]>([
    ["root", () => "-"],
    ["admin", () => world.app.id],
    ["tenantAdmin", () => world.tenant.id],
  ])("by %s verifies, and its head equals the signed checkpoints", async (by, chain) => {
    // The event of a page's own export is linked before the next page.
    const all = await exported(by, 500)
    expect(all.chain).toBe(chain())
    expect(all.links.length).toBeGreaterThan(0)
    expect(all.links.every(({ eventText }) => eventText !== "")).toBe(true)
    const hashes = verified(all.chain, all.links)
    expect((await exported(by, 2)).links).toEqual(all.links)

    const keySet = (await (await fetch(`${server.url}/.well-known/statement-keys.json`)).json()) as JSONWebKeySet
    const { checkpoints } = await audit.listAuditCheckpoints({}, world.as(by))
    expect(checkpoints.map(({ number }) => number)).toEqual([1n, 2n])
    const pages = [
      await audit.listAuditCheckpoints({ pageSize: 1 }, world.as(by)),
      await audit.listAuditCheckpoints({ pageSize: 1, afterNumber: 1n }, world.as(by)),
    ]
    expect(pages.map((page) => page.checkpoints.map(({ number }) => number))).toEqual([[1n], [2n]])
    let prev: string | null = null
    let heads = 0
    for (const { number, jws, head } of checkpoints) {
      const { payload, protectedHeader } = await compactVerify(jws, createLocalJWKSet(keySet))
      expect(protectedHeader.typ).toBe("aud-cp+jwt")
      const claims = JSON.parse(new TextDecoder().decode(payload))
      expect(claims).toMatchObject({ iss: server.deps.issuer, number: Number(number), prev })
      prev = createHash("sha256").update(jws).digest("hex")
      if (head === undefined) continue
      heads += 1
      expect(hashes.get(head.seq)).toBe(hex(head.hash))
      expect(rootOf(all.chain, head)).toBe(claims.root)
    }
    expect(heads).toBeGreaterThan(0)
  })

  test("is audited, and the next export contains that event", async () => {
    await link()
    const before = (await exported("tenantAdmin", 500)).links.length
    await link()
    const { links } = await exported("tenantAdmin", 500)
    expect(links).toHaveLength(before + 1)
    expect(JSON.parse(links.at(-1)?.eventText ?? "[]")).toMatchObject({ 3: "audit.exported", 14: world.tenant.id })
  })

  test("of a context's administrator verifies as a whole, with the texts of that context's events only", async () => {
    const { chain, links } = await exported("contextAdmin", 500)
    expect(chain).toBe(world.tenant.id)
    verified(chain, links)
    const texts = links.filter(({ eventText }) => eventText !== "").map(({ eventText }) => JSON.parse(eventText))
    expect(new Set(texts.map((text) => text[8]))).toEqual(new Set([world.context.id]))
    expect(texts.length).toBeLessThan(links.length)
  })

  test("contains personal data as ciphertext only", async () => {
    const { links } = await exported("tenantAdmin", 500)
    expect(JSON.stringify(links.map(({ eventText }) => eventText))).not.toContain("127.0.0")
  })
})

test("another app's chain and its heads are not exported", async () => {
  const { app, other, tenant, otherTenant } = world
  const asked: [AdministratorName, object][] = [
    ["tenantAdmin", { tenantId: otherTenant.id }],
    ["contextAdmin", { tenantId: otherTenant.id }],
    ["admin", { appId: other.id }],
    ["otherAdmin", { appId: app.id, tenantId: tenant.id }],
  ]
  for (const [by, of] of asked) {
    expect(await refusal(audit.listAuditLinks(of, world.as(by)))).toBe("PermissionDenied RESOURCE_UNRESOLVED")
    expect(await refusal(audit.listAuditCheckpoints(of, world.as(by)))).toBe("PermissionDenied RESOURCE_UNRESOLVED")
  }
  expect((await exported("tenantAdmin", 500, { appId: app.id })).chain).toBe(tenant.id)
})
