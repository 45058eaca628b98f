// An administrator locks a person or a service for a time: each call is rejected until the end, and nothing is lost.
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { parseId } from "@signet/kernel/ids"
import { Principal_Status } from "@signet/proto/auth/v1/records"
import { afterAll, beforeAll, expect, test } from "vitest"
import { endDueLocks } from "../../server/rpc/admin/end-due-locks.ts"
import { type AdministeredWorld, administeredWorld } from "../support/administration.ts"
import { bearer, type Clients, clientsOver, protocols, refusal } from "../support/clients.ts"
import { addReader, type Follower, follow } from "../support/followed.ts"
import { addMachine, addPat, basic, postForm } from "../support/machines.ts"
import { claimsOf, signIn } from "../support/people.ts"
import { describeStory } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

const hourMs = 3_600_000

describeStory("a lock of a principal", (kind) => {
  let server: TestServer
  let clients: Clients
  let world: AdministeredWorld
  let follower: Follower
  beforeAll(async () => {
    server = await startTestServer({ store: kind })
    clients = clientsOver((protocols["Connect JSON over HTTP/1.1"] ?? expect.unreachable)(server.url))
    world = await administeredWorld(server, clients)
    await server.deps.store.transaction(async (tx) => {
      const app = (await tx.apps.findApp(server.app.id)) ?? expect.unreachable()
      await tx.apps.putApp({ ...app, audiences: [...app.audiences, "svc-notes"] })
    })
    follower = follow(server, await addReader(server))
  })
  afterAll(async () => {
    await follower?.feed.stop()
    await server?.close()
  })

  const inMs = (ms: number) => timestampFromMs(server.deps.clock.nowMs() + ms)
  const lock = (principalId: string, ms = hourMs, reason = "") =>
    clients.admin.lockPrincipal({ principalId, lockExpiresAt: inMs(ms), reason }, world.as("root"))
  const unlock = (principalId: string) => clients.admin.unlockPrincipal({ principalId }, world.as("root"))
  const endDue = () => endDueLocks(server.deps, (fault) => expect.unreachable(String(fault)))
  const eventsOf = async (id: string) => {
    const query = server.store.db.selectFrom("audit_event").select("kind").where("target_id", "=", id)
    return (await query.orderBy("id").execute()).map((event) => event.kind)
  }

  async function person(subject: string) {
    const signedIn = await signIn(server, clients, subject, { audiences: ["auth", "svc-notes"] })
    const identityId = parseId("idn", String(claimsOf(signedIn.token).identity_id)) ?? expect.unreachable()
    return {
      ...signedIn,
      identityId,
      notes: signedIn.tokens["svc-notes"] ?? "",
      me: () => clients.auth.me({}, bearer(signedIn.token)),
    }
  }
  const exchange = async (pat: string) => {
    const { body } = await postForm(`${server.url}/auth/token`, { grant_type: "pat", pat, audience: "svc-notes" })
    return body.reason ?? "issued"
  }

  test("rejects token, refresh, sign-in and personal access token, and each works again after its end", async () => {
    const ada = await person("locked ada")
    const bystander = await person("a bystander")
    const { token: secret } = await addPat(server, ada)
    expect(await exchange(secret)).toBe("issued")
    await follower.feed.refresh()
    expect(await follower.decide(ada.notes)).toBe("allow")

    const locked = await lock(ada.principalId, hourMs, "lost phone")
    expect(locked.principal).toMatchObject({ status: Principal_Status.LOCKED, lockReason: "lost phone" })
    await follower.feed.refresh()
    expect(await refusal(ada.me())).toBe("Unauthenticated PRINCIPAL_LOCKED")
    expect(await follower.decide(ada.notes)).toBe("PRINCIPAL_INACTIVE")
    expect(await refusal(clients.auth.refresh({ refreshToken: ada.refreshToken }))).toBe(
      "Unauthenticated PRINCIPAL_LOCKED",
    )
    expect(await refusal(clients.auth.externalLogin(await server.login("locked ada")))).toBe(
      "Unauthenticated PRINCIPAL_LOCKED",
    )
    expect(await exchange(secret)).toBe("PRINCIPAL_LOCKED")
    expect((await bystander.me()).principal?.status).toBe(Principal_Status.ACTIVE)
    const shown = await clients.admin.getPrincipal({ principalId: ada.principalId }, world.as("root"))
    expect(shown.principal).toEqual(locked.principal)

    server.advance(2_000)
    expect((await unlock(ada.principalId)).principal).toMatchObject({ status: Principal_Status.ACTIVE, lockReason: "" })
    server.advance(2_000)
    await follower.feed.refresh()
    expect(await refusal(ada.me())).toBe("Unauthenticated TOKEN_REVOKED")
    expect(await follower.decide(ada.notes)).toBe("TOKEN_REVOKED")
    const again = await clients.auth.refresh({ refreshToken: ada.refreshToken, audiences: ["auth", "svc-notes"] })
    expect((await clients.auth.me({}, bearer(again.accessToken))).principal?.lockExpiresAt).toBeUndefined()
    expect(await follower.decide(again.accessTokens["svc-notes"] ?? "")).toBe("allow")
    expect(await exchange(secret)).toBe("issued")
    expect(await eventsOf(ada.principalId)).toEqual(["principal.locked", "principal.unlocked"])
  })

  test("ends automatically, once, at its time, and is audited", async () => {
    const bob = await person("locked bob")
    await lock(bob.principalId, 60_000)
    server.advance(59_000)
    expect(await endDue()).toBe(0)
    expect(await refusal(bob.me())).toBe("Unauthenticated PRINCIPAL_LOCKED")
    server.advance(2_000)
    expect(await Promise.all([endDue(), endDue()]).then(([a, b]) => a + b)).toBe(1)
    server.advance(2_000)
    await follower.feed.refresh()
    const again = await clients.auth.refresh({ refreshToken: bob.refreshToken, audiences: ["auth", "svc-notes"] })
    expect(await follower.decide(again.accessTokens["svc-notes"] ?? "")).toBe("allow")
    expect(await eventsOf(bob.principalId)).toEqual(["principal.locked", "principal.lock_expired"])
    expect(await endDue()).toBe(0)
  })

  test("with a changed time ends then, and a repeated lock is one event", async () => {
    const cy = await person("locked cy")
    const until = inMs(60_000)
    const request = { principalId: cy.principalId, lockExpiresAt: until }
    await clients.admin.lockPrincipal(request, world.as("root"))
    await clients.admin.lockPrincipal(request, world.as("root"))
    expect(await eventsOf(cy.principalId)).toEqual(["principal.locked"])
    await lock(cy.principalId, 120_000)
    server.advance(61_000)
    expect(await endDue()).toBe(0)
    expect(await refusal(cy.me())).toBe("Unauthenticated PRINCIPAL_LOCKED")
    server.advance(60_000)
    expect(await endDue()).toBe(1)
  })

  test("that becomes longer after the due ones were listed does not end", async () => {
    const fay = await person("locked fay")
    await lock(fay.principalId, 60_000)
    server.advance(61_000)
    const { store } = server.deps
    let lists = 0
    const transaction: typeof store.transaction = async (work, ...rest) => {
      const done = await store.transaction(work, ...rest)
      if (++lists === 1) await lock(fay.principalId)
      return done
    }
    expect(await endDueLocks({ ...server.deps, store: { ...store, transaction } }, () => {})).toBe(0)
    expect(lists).toBeGreaterThan(1)
    expect(await refusal(fay.me())).toBe("Unauthenticated PRINCIPAL_LOCKED")
    await unlock(fay.principalId)
  })

  test("that was changed to a suspension does not end automatically", async () => {
    const di = await person("locked di")
    await lock(di.principalId, 60_000)
    await clients.admin.suspendPrincipal({ principalId: di.principalId }, world.as("root"))
    server.advance(61_000)
    expect(await endDue()).toBe(0)
    expect(await refusal(di.me())).toBe("Unauthenticated PRINCIPAL_INACTIVE")
    expect(await refusal(unlock(di.principalId))).toBe("FailedPrecondition STATE_CONFLICT")
    expect(await refusal(lock(di.principalId))).toBe("FailedPrecondition STATE_CONFLICT")
  })

  test("of a service prevents new tokens, and its secret works afterwards", async () => {
    const machine = await addMachine(server, { allowedAudiences: ["svc-notes"] })
    const token = () =>
      postForm(`${server.url}/auth/token`, { grant_type: "client_credentials", audience: "svc-notes" }, basic(machine))
    const { body } = await token()
    await lock(machine.account.principalId, 60_000)
    await follower.feed.refresh()
    expect(await follower.decide(String(body.access_token))).toBe("PRINCIPAL_INACTIVE")
    expect(await token()).toMatchObject({ status: 401, body: { error: "invalid_client" } })
    await unlock(machine.account.principalId)
    expect((await token()).status).toBe(200)
  })

  test.each([
    ["now", 0],
    ["in the past", -1],
    ["in more than 30 days", 30 * 86_400_000 + 1_000],
  ])("does not end %s", async (_, ms) => {
    const { principalId } = world.people.admin
    expect(await refusal(lock(principalId, ms))).toBe("InvalidArgument INVALID_FIELD")
  })

  test("cannot be set or removed by an app's administrator", async () => {
    const { principalId } = world.people.otherAdmin
    const admin = world.as("admin")
    expect(await refusal(clients.admin.lockPrincipal({ principalId, lockExpiresAt: inMs(hourMs) }, admin))).toBe(
      "PermissionDenied RESOURCE_UNRESOLVED",
    )
    await lock(principalId)
    expect(await refusal(clients.admin.unlockPrincipal({ principalId }, admin))).toBe(
      "PermissionDenied RESOURCE_UNRESOLVED",
    )
    await unlock(principalId)
  })
})
