import { newId } from "@signet/kernel/ids"
import { budgetWindowMs } from "@signet/kernel/limits/audit-budget"
import { buildOpaque, parseOpaque } from "@signet/kernel/token/opaque"
import { Pat_Status } from "@signet/proto/auth/v1/pat_service"
import { sql } from "kysely"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { bearer, type Clients, clientsOver, protocols, refusal } from "../support/clients.ts"
import { claimsOf, signIn } from "../support/people.ts"
import { describeStory, openTestStore, storyStore, type TestStore } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

const day = 86_400_000
const request = { name: "backup", allowedAudiences: ["svc-notes"], scopes: ["notes.read", "notes.write"] }

describeStory("a personal access token", (kind) => {
  let server: TestServer
  let connect: Clients
  beforeAll(async () => {
    server = await startTestServer({ store: kind })
    connect = clientsOver(transportOf("Connect JSON over HTTP/1.1", server))
  })
  afterAll(() => server?.close())
  const subject = () => `person ${Math.random()}`
  const person = (options = {}) => signIn(server, connect, subject(), options)

  const audited = (target: string) =>
    server.store.db
      .selectFrom("audit_event")
      .select(["kind", "outcome", "reason", "subject_principal_id", "request_id"])
      .where("target_id", "=", target)
      .orderBy("id")
      .execute()
  const kindsOf = async (target: string) => (await audited(target)).map(({ kind: name }) => name)

  describe.each(Object.keys(protocols))("over %s", (protocol) => {
    let clients: Clients
    beforeAll(() => {
      clients = clientsOver(transportOf(protocol, server))
    })

    test("is shown once, exchanged, listed without the token, and revoked with its access tokens", async () => {
      const { token, principalId } = await person()
      const { token: secret, pat } = await clients.pats.createPat({ ...request, expiresInDays: 30 }, bearer(token))
      if (pat === undefined) throw new Error("no token")
      expect(secret).toMatch(/^sgpat_[0-9A-Za-z]{50}$/)
      expect(parseOpaque("sgpat_", secret)).toBe(secret)
      expect(pat).toMatchObject({ ...request, status: Pat_Status.ACTIVE, last4: secret.slice(-4) })
      expect(pat.lastUsedAt).toBeUndefined()
      expect(seconds(pat.expiresAt) - seconds(pat.createdAt)).toBe((30 * day) / 1_000)

      const listed = await clients.pats.listPats({}, bearer(token))
      expect(listed.pats).toEqual([pat])
      expect(text(listed)).not.toContain(secret)

      const exchanged = await clients.pats.exchangePat({ pat: secret, scopes: ["notes.read"] })
      expect(exchanged).toMatchObject({ tokenType: "Bearer", audience: "svc-notes", scopes: ["notes.read"] })
      expect(claimsOf(exchanged.accessToken)).toMatchObject({
        sub: principalId,
        gty: "pat",
        cred_id: pat.id,
        scp: ["notes.read"],
        aud: "svc-notes",
      })
      expect(claimsOf(exchanged.accessToken)).not.toHaveProperty("sid")
      const used = await clients.pats.listPats({}, bearer(token))
      expect(seconds(used.pats[0]?.lastUsedAt)).toBeGreaterThan(0)

      await clients.pats.revokePat({ patId: pat.id }, bearer(token))
      await clients.pats.revokePat({ patId: pat.id }, bearer(token))
      expect(await refusal(clients.pats.exchangePat({ pat: secret }))).toBe("Unauthenticated PAT_INVALID")
      const ended = await clients.pats.listPats({}, bearer(token))
      expect(ended.pats.map(({ status }) => status)).toEqual([Pat_Status.REVOKED])
      expect(await kindsOf(pat.id)).toEqual(["pat.created", "pat.used", "pat.revoked", "pat.rejected"])
    })

    test("belongs to one person: another can neither list nor revoke it", async () => {
      const owner = await person()
      const { pat, token: secret } = await clients.pats.createPat(request, bearer(owner.token))
      const stranger = await person()
      expect((await clients.pats.listPats({}, bearer(stranger.token))).pats).toEqual([])
      const revoking = clients.pats.revokePat({ patId: pat?.id ?? "" }, bearer(stranger.token))
      expect(await refusal(revoking)).toBe("NotFound NOT_FOUND")
      const none = { patId: newId("pat", 1, new Uint8Array(10)) }
      expect(await refusal(clients.pats.revokePat(none, bearer(stranger.token)))).toBe("NotFound NOT_FOUND")
      await clients.pats.exchangePat({ pat: secret })
    })

    test("is no bearer token, and its owner can see the attempts", async () => {
      const { token, principalId } = await person()
      const { pat, token: secret } = await clients.pats.createPat(request, bearer(token))
      const unknown = buildOpaque("sgpat_", server.deps.random)
      const garbled = `${secret.slice(0, -1)}${secret.endsWith("a") ? "b" : "a"}`
      const answers = []
      for (const presented of [secret, unknown, garbled]) {
        answers.push(await refusal(clients.auth.me({}, bearer(presented))))
      }
      expect(answers).toEqual(Array(3).fill("Unauthenticated PAT_NOT_BEARER"))
      await expect.poll(() => kindsOf(pat?.id ?? "")).toEqual(["pat.created", "pat.misused"])
      const [, misused] = await audited(pat?.id ?? "")
      expect(misused).toMatchObject({ outcome: "DENIED", reason: "PAT_NOT_BEARER", subject_principal_id: principalId })
      expect(misused?.request_id).not.toBe("")
    })
  })

  test("lives 90 days by default, and never more than 365", async () => {
    const { token } = await person()
    const { pat, token: secret } = await connect.pats.createPat(request, bearer(token))
    expect(seconds(pat?.expiresAt) - seconds(pat?.createdAt)).toBe((90 * day) / 1_000)
    const long = { ...request, expiresInDays: 366 }
    expect(await refusal(connect.pats.createPat(long, bearer(token)))).toBe("InvalidArgument INVALID_FIELD")
    await server.store.db
      .updateTable("pat")
      .set({ expires_at: new Date(server.deps.clock.nowMs()) })
      .where("id", "=", pat?.id as never)
      .execute()
    expect(await refusal(connect.pats.exchangePat({ pat: secret }))).toBe("Unauthenticated PAT_INVALID")
    expect((await connect.pats.listPats({}, bearer(token))).pats[0]?.status).toBe(Pat_Status.EXPIRED)
  })

  test("requires a sign-in within the last 15 minutes", async () => {
    const nowSeconds = Math.floor(server.deps.clock.nowMs() / 1_000)
    const recent = await connect.auth.externalLogin({
      ...(await server.login(subject(), { auth_time: nowSeconds - 890 })),
      audiences: ["auth"],
    })
    await connect.pats.createPat(request, bearer(recent.accessToken))
    const late = await connect.auth.externalLogin({
      ...(await server.login(subject(), { auth_time: nowSeconds - 910 })),
      audiences: ["auth"],
    })
    const refused = await refusal(connect.pats.createPat(request, bearer(late.accessToken)))
    expect(refused).toBe("PermissionDenied STEP_UP_REQUIRED")
    expect((await connect.pats.listPats({}, bearer(late.accessToken))).pats).toEqual([])
  })

  test("never allows more than its owner holds, at creation and at each exchange", async () => {
    const admin = await person({ scopes: ["notes.admin"], audiences: ["auth", "svc-notes"] })
    expect(claimsOf(admin.tokens["svc-notes"] ?? "").scp).toEqual(["notes.read", "notes.write", "notes.admin"])
    const asked = { ...request, scopes: ["notes.admin", "notes.read"] }
    const other = await person()
    expect(await refusal(connect.pats.createPat(asked, bearer(other.token)))).toBe("PermissionDenied SCOPE_NOT_GRANTED")
    const foreign = { ...request, allowedAudiences: ["svc-mail"] }
    const refused = await refusal(connect.pats.createPat(foreign, bearer(admin.token)))
    expect(refused).toBe("InvalidArgument AUDIENCE_NOT_REGISTERED")

    const { token: secret } = await connect.pats.createPat(asked, bearer(admin.token))
    const scopes = async () => (await connect.pats.exchangePat({ pat: secret })).scopes
    expect(await scopes()).toEqual(["notes.admin", "notes.read"])
    await server.store.db
      .updateTable("membership")
      .set({ scopes: [] })
      .where("principal_id", "=", admin.principalId)
      .execute()
    expect(await scopes()).toEqual(["notes.read"])
    const { accessTokens } = await connect.auth.refresh({
      refreshToken: admin.refreshToken,
      audiences: ["svc-notes", "auth"],
    })
    expect(claimsOf(accessTokens["svc-notes"] ?? "").scp).toEqual(["notes.read", "notes.write"])
    expect(claimsOf(accessTokens.auth ?? "").scp).toEqual([])
    const gone = connect.pats.exchangePat({ pat: secret, scopes: ["notes.admin"] })
    expect(await refusal(gone)).toBe("PermissionDenied SCOPE_NOT_GRANTED")
  })

  test("created in a context without a tenant allows what its owner holds there, and not in the app", async () => {
    const contextId = newId("ctx", 7, server.deps.random.bytes(10))
    const scopes = ["notes.admin"]
    const { token, principalId } = await signIn(server, connect, `context ${Math.random()}`, { contextId, scopes })
    const create = () => connect.pats.createPat({ ...request, scopes }, bearer(token))
    expect((await create()).pat).toMatchObject({ contextId, scopes })
    const of = server.store.db.updateTable("membership").where("principal_id", "=", principalId)
    await of.where("context_id", "is", null).set({ scopes }).execute()
    await of.where("context_id", "is not", null).set({ scopes: [] }).execute()
    expect(await refusal(create())).toBe("PermissionDenied SCOPE_NOT_GRANTED")
  })

  test("is bound to the tenant that it was created in", async () => {
    const tenantId = newId("ten", 1, server.deps.random.bytes(10))
    const member = await person({ tenantId, scopes: ["notes.admin"] })
    const asked = { ...request, scopes: ["notes.admin"] }
    const { pat, token: secret } = await connect.pats.createPat(asked, bearer(member.token))
    expect(pat).toMatchObject({ tenantId, contextId: "" })
    const exchanged = await connect.pats.exchangePat({ pat: secret })
    expect(claimsOf(exchanged.accessToken)).toMatchObject({ tenant_id: tenantId, scp: ["notes.admin"] })
    const contextId = newId("ctx", 1, server.deps.random.bytes(10))
    const elsewhere = connect.pats.exchangePat({ pat: secret, contextId })
    expect(await refusal(elsewhere)).toMatch(/MEMBERSHIP_INACTIVE$/)
    await server.store.db
      .updateTable("membership")
      .set({ status: "SUSPENDED" })
      .where("tenant_id", "=", tenantId)
      .execute()
    expect(await refusal(connect.pats.exchangePat({ pat: secret }))).toMatch(/MEMBERSHIP_INACTIVE$/)
  })

  test("cannot extend itself: its access token can neither create, list nor revoke one, nor create a service account", async () => {
    const scopes = ["auth.service_accounts.write", "auth.service_accounts.read"]
    const admin = await person({ scopes })
    const asked = { ...request, allowedAudiences: ["auth"], scopes }
    const { pat, token: secret } = await connect.pats.createPat(asked, bearer(admin.token))
    const { accessToken } = await connect.pats.exchangePat({ pat: secret })
    expect((await connect.auth.me({}, bearer(accessToken))).principal?.id).toBe(admin.principalId)
    const withIt = bearer(accessToken)
    const refused = [
      connect.pats.createPat(asked, withIt),
      connect.pats.listPats({}, withIt),
      connect.pats.revokePat({ patId: pat?.id ?? "" }, withIt),
      connect.services.listServiceAccounts({}, withIt),
      connect.services.createServiceAccount({ name: "x", authMethods: [1] }, withIt),
    ]
    const [make, ...others] = await Promise.all(refused.map((call) => refusal(call)))
    // A token without a sign-in never counts as recent.
    expect(make).toBe("PermissionDenied STEP_UP_REQUIRED")
    expect(others).toEqual(Array(4).fill("PermissionDenied PRINCIPAL_KIND_NOT_ALLOWED"))
    await connect.pats.revokePat({ patId: pat?.id ?? "" }, bearer(admin.token))
    expect(await refusal(connect.auth.me({}, withIt))).toBe("Unauthenticated CREDENTIAL_REVOKED")
  })

  test("ends with its owner's account, together with the sessions", async () => {
    const { token, principalId } = await person()
    const { token: secret } = await connect.pats.createPat(request, bearer(token))
    await server.deps.store.transaction((tx) => tx.principals.end(principalId, "SUSPENDED", server.deps.clock.nowMs()))
    expect(await refusal(connect.pats.exchangePat({ pat: secret }))).toBe("Unauthenticated PAT_INVALID")
    expect(await refusal(connect.auth.me({}, bearer(token)))).toBe("Unauthenticated PRINCIPAL_INACTIVE")
    await server.deps.store.transaction((tx) => tx.principals.resume(principalId, 5))
    expect(await refusal(connect.pats.exchangePat({ pat: secret }))).toBe("Unauthenticated PAT_INVALID")
    expect(await refusal(connect.auth.me({}, bearer(token)))).toBe("Unauthenticated SESSION_REVOKED")
  })

  test.each([
    ["a field of the answer", { status: "ACTIVE" }],
    ["another user's principal", { principalId: "prn_00000000000000000000000000" }],
    ["a tenant", { tenantId: "ten_00000000000000000000000000" }],
    ["a token of the caller's choice", { token: "sgpat_x" }],
    ["an expiry of the caller's choice", { expiresAt: "2099-01-01T00:00:00Z" }],
  ])("is not made with %s", async (_, extra) => {
    const { token } = await person()
    const response = await fetch(`${server.url}/auth/pats`, {
      method: "POST",
      headers: { ...bearer(token).headers, "content-type": "application/json" },
      body: JSON.stringify({ ...request, ...extra }),
    })
    expect([response.status, (await response.json()).reason]).toEqual([400, "UNKNOWN_FIELD"])
    expect((await connect.pats.listPats({}, bearer(token))).pats).toEqual([])
  })

  test("is listed page by page, by its own page tokens only", async () => {
    const { token } = await person()
    for (const name of ["one", "two", "three"]) {
      await connect.pats.createPat({ ...request, name }, bearer(token))
      server.advance(1_000)
    }
    const first = await connect.pats.listPats({ pageSize: 2 }, bearer(token))
    expect(first.pats.map(({ name }) => name)).toEqual(["three", "two"])
    const rest = await connect.pats.listPats({ pageSize: 2, pageToken: first.nextPageToken }, bearer(token))
    expect([rest.pats.map(({ name }) => name), rest.nextPageToken]).toEqual([["one"], ""])
    for (const pageToken of ["AA", "AAAAA", "!", first.nextPageToken.slice(0, 12)]) {
      expect(await refusal(connect.pats.listPats({ pageToken }, bearer(token)))).toBe("InvalidArgument INVALID_FIELD")
    }
    const stolen = connect.pats.listPats({ pageToken: first.nextPageToken }, bearer((await person()).token))
    expect(await refusal(stolen)).toBe("InvalidArgument INVALID_FIELD")
  })

  test("is neither created nor revoked if the audit fails", async () => {
    const { token } = await person()
    const { pat, token: secret } = await connect.pats.createPat(request, bearer(token))
    const table = sql`audit_event`
    await sql`alter table ${table} add constraint broken check (kind not like 'pat.%') not valid`.execute(
      server.store.db,
    )
    const refused = [
      await refusal(connect.pats.createPat(request, bearer(token))),
      await refusal(connect.pats.revokePat({ patId: pat?.id ?? "" }, bearer(token))),
      await refusal(connect.pats.exchangePat({ pat: secret })),
    ]
    await sql`alter table ${table} drop constraint broken`.execute(server.store.db)
    expect(refused).toEqual(Array(3).fill("Internal INTERNAL"))
    expect((await connect.pats.listPats({}, bearer(token))).pats).toEqual([pat])
    await connect.pats.exchangePat({ pat: secret })
  })

  test("is never in a cacheable answer, and not in the database", async () => {
    const { token } = await person()
    const response = await fetch(`${server.url}/auth/pats`, {
      method: "POST",
      headers: { ...bearer(token).headers, "content-type": "application/json" },
      body: JSON.stringify(request),
    })
    expect(response.headers.get("cache-control")).toBe("no-store")
    const { token: secret, pat } = await response.json()
    const row = await server.store.db.selectFrom("pat").selectAll().where("id", "=", pat.id).executeTakeFirstOrThrow()
    expect(JSON.stringify({ ...row, token_hash: Buffer.from(row.token_hash).toString("latin1") })).not.toContain(secret)
    expect(row.token_hash).toHaveLength(32)
  })
})

describe("a garbled personal access token", () => {
  let counted: TestStore
  let server: TestServer
  let queries = 0
  beforeAll(async () => {
    const opened = await openTestStore(storyStore)
    const count = <T>(work: () => T): T => {
      queries++
      return work()
    }
    // Counts all statements to the database from handlers and guard.
    counted = {
      ...opened,
      store: {
        transaction: (work) => count(() => opened.store.transaction(work)),
        limits: {
          ...opened.store.limits,
          take: (...asked) => count(() => opened.store.limits.take(...asked)),
        },
        clients: {
          ...opened.store.clients,
          find: (question) => count(() => opened.store.clients.find(question)),
          countAndFind: (...asked) => count(() => opened.store.clients.countAndFind(...asked)),
        },
        limitRefusals: opened.store.limitRefusals,
        refreshes: opened.store.refreshes,
        signIns: opened.store.signIns,
        apps: opened.store.apps,
        members: opened.store.members,
        isReady: () => count(() => opened.store.isReady()),
      },
      liveness: { find: (question) => count(() => opened.liveness.find(question)) },
    }
    server = await startTestServer({ store: counted })
    // The first refusals are audited: these use up the audit's budget for unauthenticated callers of one network, which
    // is renewed every ten minutes.
    server.advance(budgetWindowMs - (server.deps.clock.nowMs() % budgetWindowMs))
    const clients = clientsOver(transportOf("REST", server))
    for (let i = 0; i < 20; i++) await refusal(clients.pats.exchangePat({ pat: "sgpat_" }))
  })
  afterAll(async () => {
    await server?.close()
    await counted?.close()
  })

  test.each(Object.keys(protocols))("costs no query over %s, as a bearer token or in an exchange", async (protocol) => {
    const clients = clientsOver(transportOf(protocol, server))
    const whole = buildOpaque("sgpat_", server.deps.random)
    const garbled = [`${whole.slice(0, 20)}${whole[20] === "a" ? "b" : "a"}${whole.slice(21)}`, `${whole}0`, "sgpat_"]
    queries = 0
    for (const pat of garbled) {
      expect(await refusal(clients.auth.me({}, bearer(pat)))).toBe("Unauthenticated PAT_NOT_BEARER")
      expect(await refusal(clients.pats.exchangePat({ pat }))).toBe("Unauthenticated PAT_INVALID")
    }
    expect(queries).toBe(0)
    expect(await refusal(clients.auth.me({}, bearer(whole)))).toBe("Unauthenticated PAT_NOT_BEARER")
    await expect.poll(() => queries).toBe(1)
  })
})

function transportOf(protocol: string, { url }: TestServer) {
  const transport = protocols[protocol]
  if (!transport) throw new Error(protocol)
  return transport(url)
}

const seconds = (at: { seconds: bigint } | undefined): number => Number(at?.seconds ?? 0n)

const text = (message: object): string =>
  JSON.stringify(message, (_, value) => (typeof value === "bigint" ? String(value) : value))
