import { randomBytes } from "node:crypto"
import type { AuditEvent } from "@signet/kernel/audit/event"
import type { LivenessQuestion } from "@signet/kernel/authz/liveness-ports"
import type { Ask } from "@signet/kernel/limits/ports"
import type { ServiceSecret } from "@signet/kernel/machine/records"
import type { Store, Tx } from "@signet/kernel/ports"
import { serviceKey } from "@signet/kernel/testing/machine-records"
import { membership, providerClient } from "@signet/kernel/testing/records"
import { CompiledQuery } from "kysely"
import { afterAll, beforeAll, expect, test } from "vitest"
import {
  describeOnEachStore,
  describeOnPostgres,
  openTestStore,
  type TestStore,
} from "../../../../test/support/postgres.ts"
import { freshAsk, nothing, nowMs, plainEvent } from "../testing/calls.ts"
import { newSecret, putService } from "../testing/machines.ts"
import { app, freshId, putApp } from "../testing/people.ts"
import { clientText, clientValues } from "./client-facts.ts"

/** A node of `explain (analyze, format json)`. */
interface PlanNode {
  readonly "Relation Name"?: string
  readonly "Actual Loops": number
  readonly "Actual Rows": number
  readonly Plans?: readonly PlanNode[]
}

/** The scans of each table, with their number of rows. */
const nodesOf = (node: PlanNode | undefined): readonly string[] =>
  node === undefined
    ? []
    : [
        ...(node["Relation Name"] ? [`${node["Relation Name"]} ${node["Actual Loops"]} ${node["Actual Rows"]}`] : []),
        ...(node.Plans ?? []).flatMap(nodesOf),
      ]

const day = 86_400_000
const noCredential: Omit<LivenessQuestion, "principalId"> = {
  actorId: null,
  sessionId: null,
  credentialId: null,
  tokenId: null,
  issuedAtMs: nowMs,
  appId: app.id,
  tenantId: null,
  contextId: null,
  nowMs,
}
const policy = { failures: 1, seconds: 60, lockSeconds: 60, mostLockSeconds: 60 }

/** An event with an address, which needs its principal's key. */
function eventOf(change: Partial<AuditEvent> = {}): AuditEvent {
  const id = freshId("prn")
  const request = { id: "r", route: "R/M", ipTruncated: "192.0.2.0/24" }
  return plainEvent({ actorPrincipalId: id, subjectPrincipalId: id, request, ...change })
}

describeOnEachStore("a client's call", (kind) => {
  let opened: TestStore
  let store: Store
  beforeAll(async () => {
    opened = await openTestStore(kind)
    store = opened.store
    await putApp(store)
  })
  afterAll(() => opened.close())

  const kept = async (ids: readonly AuditEvent["id"][]) => [
    ...(await store.transaction((tx) => tx.audit.storedIds(ids))),
  ]
  const waiting = async (id: string) =>
    (
      await opened.db
        .selectFrom("audit_pending")
        .selectAll()
        .where("event_id", "=", id as never)
        .execute()
    ).length

  test("reads as much of the database for an id that does not exist as for one that does", async () => {
    const services = [await putService(store), await putService(store)]
    for (const { account } of services) {
      await store.transaction((tx) => tx.serviceAccounts.insertSecret(newSecret(account, { expiresAtMs: nowMs + day })))
    }
    const [known = "", last = ""] = services.map(({ account }) => account.clientId).toSorted()
    const { columns, from } = clientText("client_id", 1)
    const read = async (clientId: string) => {
      const values = [...clientValues({ who: { clientId }, nowMs })]
      const text = `explain (analyze, format json) select ${columns} from ${from}`
      const { rows } = await opened.db.executeQuery<{ "QUERY PLAN": readonly { Plan: PlanNode }[] }>(
        CompiledQuery.raw(text, values),
      )
      return nodesOf(rows[0]?.["QUERY PLAN"][0]?.Plan)
    }
    const found = await read(known)
    expect(found.filter((node) => node.startsWith("service_secret"))).toEqual(["service_secret 1 1"])
    for (const unknown of [`${known}0`, "a", `${last}0`]) {
      expect(await store.clients.find({ who: { clientId: unknown }, nowMs })).toBeUndefined()
      // The dummy client is found by the same two index scans.
      expect((await read(unknown)).length).toBe(found.length)
      expect((await read(unknown)).filter((node) => !node.startsWith("service_account"))).toEqual(
        found.filter((node) => !node.startsWith("service_account")),
      )
    }
  })

  test("finds the facts of a client by client id and principal, inside and outside of a transaction", async () => {
    const { account, principal } = await putService(store, { ownedAudiences: [`a-${freshId("sac")}`] })
    const secretAt = (createdAtMs: number, change: Partial<ServiceSecret> = {}) =>
      newSecret(account, { createdAtMs, expiresAtMs: nowMs + day, ...change })
    const [older, newer] = [secretAt(1_000, { lastUsedAtMs: nowMs - 5 }), secretAt(2_000)]
    const others = [secretAt(3_000, { revokedAtMs: 4_000 }), secretAt(4_000, { expiresAtMs: nowMs })]
    await store.transaction(async (tx) => {
      for (const secret of [older, newer, ...others]) await tx.serviceAccounts.insertSecret(secret)
      for (const [kid, revokedAtMs] of [
        ["live", null],
        ["gone", 5],
      ] as const) {
        await tx.serviceAccounts.insertKey({ ...serviceKey, serviceAccountId: account.id, kid, revokedAtMs })
      }
    })
    const tellingOf = ({ id, secretHash, lastUsedAtMs }: ServiceSecret) => ({ id, secretHash, lastUsedAtMs })
    const expected = {
      account,
      app: { id: app.id, status: "ACTIVE", scopes: app.scopes },
      principal: "ACTIVE",
      versions: await store.transaction((tx) => tx.authorities.find(principal.id, app.id)),
      secrets: [tellingOf(newer), tellingOf(older)],
      keys: [{ kid: "live", x: serviceKey.x, y: serviceKey.y }],
      memberships: [{ status: "ACTIVE", tenantId: null, contextId: null }],
      place: { tenantId: null, facts: { app: "ACTIVE", tenant: null, context: null } },
    }
    const byClientId = { who: { clientId: account.clientId }, nowMs }
    const byPrincipal = { who: { principalId: principal.id }, nowMs }
    expect(await store.clients.find(byClientId)).toStrictEqual(expected)
    expect(await store.clients.find(byPrincipal)).toStrictEqual(expected)
    expect((await store.clients.countAndFind(nothing, byClientId)).found?.client).toStrictEqual(expected)
    expect(await store.transaction((tx) => tx.serviceAccounts.findClient(byClientId))).toStrictEqual(expected)
  })

  test("finds no client under another id", async () => {
    const { account } = await putService(store)
    for (const clientId of [`${account.clientId}x`, "", account.principalId, providerClient.clientId]) {
      expect(await store.clients.find({ who: { clientId }, nowMs })).toBeUndefined()
      expect((await store.clients.countAndFind(nothing, { who: { clientId }, nowMs })).found).toBeUndefined()
    }
  })

  test("uses the requested place, else its own tenant, with the place's status", async () => {
    const [tenantId, contextId] = [freshId("ten"), freshId("ctx")]
    const { account, principal } = await putService(store, { tenantId })
    const around = { createdAtMs: 1, updatedAtMs: 1 }
    await store.transaction(async (tx) => {
      await tx.tenants.insert({ id: tenantId, appId: app.id, name: "t", status: "SUSPENDED", ...around })
      await tx.contexts.insert({
        id: contextId,
        appId: app.id,
        tenantId,
        name: "c",
        type: "team",
        status: "ACTIVE",
        ...around,
      })
      const inner = { ...membership, id: freshId("mem"), principalId: principal.id, appId: app.id, tenantId, contextId }
      await tx.identities.insertMembership(inner)
      await tx.identities.insertMembership({ ...inner, id: freshId("mem"), contextId: null, status: "REMOVED" })
    })
    const who = { clientId: account.clientId }
    const own = await store.clients.find({ who, contextId, nowMs })
    expect(own?.place).toEqual({ tenantId, facts: { app: "ACTIVE", tenant: "SUSPENDED", context: "ACTIVE" } })
    const active = { status: "ACTIVE", tenantId }
    expect(own?.memberships).toHaveLength(2)
    expect(own?.memberships).toEqual(
      expect.arrayContaining([
        { ...active, contextId },
        { ...active, contextId: null },
      ]),
    )
    const elsewhere = freshId("ten")
    const other = await store.clients.find({ who, tenantId: elsewhere, contextId, nowMs })
    expect(other?.place).toEqual({
      tenantId: elsewhere,
      facts: { app: "ACTIVE", tenant: undefined, context: undefined },
    })
  })

  test("that is over a limit or locked out reads nothing", async () => {
    const { account } = await putService(store)
    const question = { who: { clientId: account.clientId }, nowMs }
    const counting = { ...nothing, asks: [freshAsk(1), freshAsk(5)] }
    const answers = [
      await store.clients.countAndFind(counting, question),
      await store.clients.countAndFind(counting, question),
    ]
    expect(answers.map(({ found }) => found?.client.account.id)).toEqual([account.id, undefined])
    expect(answers.map(({ counted }) => counted.map(({ granted }) => granted))).toEqual([
      [true, true],
      [false, true],
    ])
    const lock = randomBytes(32)
    await store.limits.fail(lock, policy, nowMs)
    const locked = await store.clients.countAndFind({ ...nothing, locks: [lock] }, question)
    expect([locked.found, locked.lockedUntilMs]).toEqual([undefined, nowMs + 60_000])
  })

  test("that is known by a tag is counted, with a token's liveness, until one of its facts changes", async () => {
    const { account, principal } = await putService(store)
    const secret = newSecret(account, { expiresAtMs: nowMs + day })
    await store.transaction((tx) => tx.serviceAccounts.insertSecret(secret))
    const client = { who: { clientId: account.clientId }, nowMs }
    const liveness = { ...noCredential, principalId: principal.id, credentialId: secret.id }
    const find = async () => (await store.clients.findTagged(client)) ?? expect.unreachable()
    const ask = (tag: string, asks: readonly Ask[] = []) =>
      store.clients.countAndFindLiveness({ ...nothing, asks }, { client, tag, liveness })

    const changes: readonly ((tx: Tx) => Promise<unknown>)[] = [
      (tx) => tx.serviceAccounts.markSecretUsed(secret.id, nowMs),
      (tx) => tx.serviceAccounts.revokeSecret(secret.id, nowMs),
      (tx) => tx.serviceAccounts.insertSecret(newSecret(account, { expiresAtMs: nowMs + day })),
      (tx) => tx.serviceAccounts.insertKey({ ...serviceKey, serviceAccountId: account.id, kid: freshId("mem") }),
      (tx) => tx.serviceAccounts.setStatus(account.id, "DISABLED", nowMs),
      (tx) => tx.principals.end(principal.id, "SUSPENDED", nowMs),
    ]
    for (const change of changes) {
      const { client: facts, tag } = await find()
      expect(facts).toStrictEqual(await store.clients.find(client))
      const bucket = freshAsk(1)
      expect(await ask(tag, [bucket])).toMatchObject({
        counted: [{ granted: true }],
        liveness: await opened.liveness.find(liveness),
      })
      expect((await ask(tag, [bucket])).counted).toMatchObject([{ granted: false }])
      await store.transaction(change)
      const fresh = freshAsk(1)
      expect(await ask(tag, [fresh])).toMatchObject({ counted: [{ granted: true }], liveness: undefined })
      // The bucket was not counted.
      expect(await store.limits.take([fresh], [], nowMs)).toMatchObject({ counted: [{ granted: true }] })
    }
  })

  test("that is known and locked out is refused with the time of the lock", async () => {
    const { account, principal } = await putService(store)
    const client = { who: { clientId: account.clientId }, nowMs }
    const lock = randomBytes(32)
    await store.limits.fail(lock, policy, nowMs)
    const { tag = "" } = (await store.clients.findTagged(client)) ?? {}
    const liveness = { ...noCredential, principalId: principal.id }
    const locked = await store.clients.countAndFindLiveness({ ...nothing, locks: [lock] }, { client, tag, liveness })
    expect(locked.lockedUntilMs).toBe(nowMs + 60_000)
  })

  test("has no tag under an id that no client has", async () => {
    const { account } = await putService(store)
    expect(await store.clients.findTagged({ who: { clientId: `${account.clientId}x` }, nowMs })).toBeUndefined()
  })

  test("appends one sealed, pending audit event, as a transaction does", async () => {
    const first = eventOf()
    const second = { ...first, id: freshId("aud") }
    const plain = eventOf({ request: { id: "r", route: "R/M", ipTruncated: null } })
    const events = [first, second, plain]
    for (const event of events) {
      expect(await store.clients.countAndAppend(nothing, event)).toEqual({ counted: [], lockedUntilMs: null })
      expect(await waiting(event.id)).toBe(1)
    }
    const filter = { kinds: [], outcome: null, targetType: null, targetId: null, fromMs: null, untilMs: null }
    const page = { size: 10, before: null }
    for (const principalId of [first.actorPrincipalId, plain.actorPrincipalId]) {
      const of = { ...filter, appId: app.id, tenantId: null, contextId: null, principalId }
      const listed = await store.transaction((tx) => tx.audit.list(of, page))
      expect(new Set(listed)).toEqual(new Set(events.filter((event) => event.actorPrincipalId === principalId)))
    }
  })

  test.each(["a key that does not exist yet", "a key that is known"])(
    "that is refused appends no event, under %s",
    async (key) => {
      const event = eventOf()
      const another = { ...event, id: freshId("aud") }
      if (key === "a key that is known") await store.clients.countAndAppend(nothing, another)
      const asks = [freshAsk(1)]
      await store.limits.take(asks, [], nowMs)
      const { counted } = await store.clients.countAndAppend({ ...nothing, asks }, event)
      expect(counted[0]?.granted).toBe(false)
      const lock = randomBytes(32)
      await store.limits.fail(lock, policy, nowMs)
      const { lockedUntilMs } = await store.clients.countAndAppend({ ...nothing, locks: [lock] }, event)
      expect(lockedUntilMs).toBe(nowMs + 60_000)
      expect(await kept([event.id])).toEqual([])
      expect(await waiting(event.id)).toBe(0)
    },
  )

  test("whose event cannot be appended is not counted", async () => {
    const event = eventOf()
    await store.clients.countAndAppend(nothing, event)
    const asks = [freshAsk(1)]
    await expect(store.clients.countAndAppend({ ...nothing, asks }, event)).rejects.toThrow("duplicate key")
    expect((await store.limits.take(asks, [], nowMs)).counted[0]?.granted).toBe(true)
  })
})

describeOnPostgres("calls of one client at once", () => {
  test("of three times the limit is granted and recorded exactly up to the limit", async () => {
    const opened = await openTestStore("postgres", { maxConnections: 20 })
    const asks = [freshAsk(20)]
    const { actorPrincipalId, subjectPrincipalId } = eventOf()
    const events = Array.from({ length: 60 }, () => eventOf({ actorPrincipalId, subjectPrincipalId }))
    const taken = await Promise.all(
      events.map((event) => opened.store.clients.countAndAppend({ ...nothing, asks }, event)),
    )
    const granted = events.filter((_, i) => taken[i]?.counted[0]?.granted).map(({ id }) => id)
    expect(granted).toHaveLength(20)
    const ids = events.map(({ id }) => id)
    expect(await opened.store.transaction((tx) => tx.audit.storedIds(ids))).toEqual(new Set(granted))
    await opened.close()
  })
})
