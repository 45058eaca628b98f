// A service registers its key for signing envelopes, and gets it certified.
import { createEnvelopeKey, type EnvelopeKey, proveEnvelopeKey } from "@signet/guard/mailbox/envelope-key"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { putOwnApp } from "../../server/store/postgres/testing/administration.ts"
import { bearer, type Clients, clientsOver, protocols, refusal } from "../support/clients.ts"
import { addMachine, basic, type Machine, postForm } from "../support/machines.ts"
import { claimsOf, type SignedInPerson, signIn } from "../support/people.ts"
import { describeStory } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

const rights = ["auth.service_accounts.read", "auth.service_accounts.write"]
const mailboxes = ["svc-notes/*"]

describeStory("an envelope key", (kind) => {
  let server: TestServer
  let clients: Clients
  let admin: SignedInPerson
  let machine: Machine
  let key: EnvelopeKey
  beforeAll(async () => {
    server = await startTestServer({ store: kind })
    const transport = protocols["Connect JSON over HTTP/1.1"]?.(server.url)
    if (transport === undefined) throw new Error("no such protocol")
    clients = clientsOver(transport)
    admin = await signIn(server, clients, "an administrator", { scopes: rights })
    machine = await addMachine(server, { ownedAudiences: ["svc-web"], allowedAudiences: ["svc-notes", "auth"] })
    key = await createEnvelopeKey()
  })
  afterAll(() => server?.close())

  const add = async (of: EnvelopeKey, change: object = {}, to: Machine = machine) => {
    const serviceAccountId = to.account.id
    const proof = await proveEnvelopeKey(of, serviceAccountId)
    const request = { serviceAccountId, x: of.x, y: of.y, mailboxes, proof, ...change }
    return clients.services.addEnvelopeKey(request, bearer(admin.token))
  }
  const tokenOf = async (of: Machine) => {
    const form = { grant_type: "client_credentials", audience: "auth" }
    return String((await postForm(`${server.url}/auth/token`, form, basic(of))).body.access_token)
  }
  const certificate = async (kid: string, by: Machine = machine) =>
    clients.services.getEnvelopeCertificate({ kid }, bearer(await tokenOf(by)))

  test("is registered once, and certified for a day on each request", async () => {
    const { envelopeKey } = await add(key)
    expect(envelopeKey).toMatchObject({ kid: key.kid, x: key.x, y: key.y, mailboxes })
    expect((await add(key)).envelopeKey).toEqual(envelopeKey)
    const { certificate: signed } = await certificate(key.kid)
    const { iat, ...claims } = claimsOf(signed)
    expect(JSON.parse(Buffer.from(signed.split(".")[0] ?? "", "base64url").toString())).toMatchObject({
      typ: "ekc+jwt",
    })
    expect(claims).toMatchObject({
      sub: machine.account.principalId,
      client_id: machine.account.clientId,
      app_id: server.app.id,
      cnf: { jwk: { kty: "EC", crv: "P-256", kid: key.kid, x: key.x, y: key.y } },
      mbx: mailboxes,
      own: ["svc-web"],
      exp: Number(iat) + 86_400,
    })
  })

  describe("is refused", () => {
    test("with a proof of another key, or for another account", async () => {
      const other = await createEnvelopeKey()
      const stranger = await addMachine(server, { allowedAudiences: ["svc-notes"] })
      const ofOther = await proveEnvelopeKey(other, machine.account.id)
      const fresh = await createEnvelopeKey()
      expect(await refusal(add(fresh, { proof: ofOther }))).toBe("InvalidArgument INVALID_FIELD")
      const forStranger = await proveEnvelopeKey(fresh, stranger.account.id)
      expect(await refusal(add(fresh, { proof: forStranger }))).toBe("InvalidArgument INVALID_FIELD")
      expect(await refusal(add(fresh, { proof: new Uint8Array(64) }))).toBe("InvalidArgument INVALID_FIELD")
    })

    test.each([["auth/*"], ["svc-mail/*"], ["svc-notes"], ["*/*"], ["svc-notes/in box"]])(
      "for the mailbox %s",
      async (mailbox) => {
        const fresh = await createEnvelopeKey()
        const asked = { mailboxes: ["svc-notes/*", mailbox] }
        expect(await refusal(add(fresh, asked))).toBe("InvalidArgument INVALID_FIELD")
      },
    )

    test("for a mailbox of another account", async () => {
      const fresh = await createEnvelopeKey()
      await add(fresh)
      const other = await addMachine(server, { allowedAudiences: ["svc-notes"] })
      expect(await refusal(add(fresh, {}, other))).toBe("AlreadyExists ALREADY_EXISTS")
      expect(await refusal(add(fresh, { mailboxes: ["svc-notes/inbox"] }))).toBe("AlreadyExists ALREADY_EXISTS")
    })

    test("as the fifth", async () => {
      const full = await addMachine(server, { allowedAudiences: ["svc-notes"] })
      const keys = await Promise.all(Array.from({ length: 5 }, createEnvelopeKey))
      for (const one of keys.slice(0, 4)) await add(one, {}, full)
      const last = keys[4] ?? key
      expect(await refusal(add(last, {}, full))).toBe("FailedPrecondition CREDENTIAL_LIMIT")
    })

    test("without the write permission, and in another tenant", async () => {
      const reader = await signIn(server, clients, "a reader", { scopes: rights.slice(0, 1) })
      const fresh = await createEnvelopeKey()
      const proof = await proveEnvelopeKey(fresh, machine.account.id)
      const request = { serviceAccountId: machine.account.id, x: fresh.x, y: fresh.y, mailboxes, proof }
      const call = clients.services.addEnvelopeKey(request, bearer(reader.token))
      expect(await refusal(call)).toBe("PermissionDenied MISSING_SCOPE")
      const nobody = { ...request, serviceAccountId: machine.account.id.replace(/.$/, (c) => (c === "0" ? "1" : "0")) }
      const elsewhere = { ...nobody, proof: await proveEnvelopeKey(fresh, nobody.serviceAccountId) }
      const missing = clients.services.addEnvelopeKey(elsewhere, bearer(admin.token))
      expect(await refusal(missing)).toBe("PermissionDenied RESOURCE_UNRESOLVED")
    })
  })

  test("that has ended is certified no more, stays in the feed for a certificate's lifetime, and stays ended", async () => {
    const ended = await createEnvelopeKey()
    await add(ended)
    const at = { serviceAccountId: machine.account.id, kid: ended.kid }
    await clients.services.revokeEnvelopeKey(at, bearer(admin.token))
    await clients.services.revokeEnvelopeKey(at, bearer(admin.token))
    expect(await refusal(certificate(ended.kid))).toBe("NotFound NOT_FOUND")
    const nowMs = server.deps.clock.nowMs()
    const [entry] = await server.deps.store.transaction((tx) => tx.revocations.find([ended.kid], nowMs))
    expect(entry).toMatchObject({ kind: "CREDENTIAL", key: ended.kid })
    expect((entry?.expiresAtMs ?? 0) - nowMs).toBeGreaterThan(86_400_000)
    expect(await refusal(add(ended))).toBe("InvalidArgument INVALID_FIELD")
    const { envelopeKeys } = await clients.services.listEnvelopeKeys(at, bearer(admin.token))
    expect(envelopeKeys.find(({ kid }) => kid === ended.kid)?.revokedAt).toBeDefined()
    const other = await addMachine(server)
    const notTheirs = { serviceAccountId: other.account.id, kid: key.kid }
    expect(await refusal(clients.services.revokeEnvelopeKey(notTheirs, bearer(admin.token)))).toBe("NotFound NOT_FOUND")
  })

  test("is certified to services of its app only, and while its own service is active", async () => {
    const other = await addMachine(server, { allowedAudiences: ["auth"] })
    expect((await certificate(key.kid, other)).certificate).toMatch(/^ey/)
    expect(await refusal(clients.services.getEnvelopeCertificate({ kid: key.kid }, bearer(admin.token)))).toBe(
      "PermissionDenied PRINCIPAL_KIND_NOT_ALLOWED",
    )
    const { id: appId } = await server.deps.store.transaction(putOwnApp)
    const ofOtherApp = await addMachine(server, { appId, allowedAudiences: ["auth"] })
    expect(await refusal(certificate(key.kid, ofOtherApp))).toBe("NotFound NOT_FOUND")
    const ofStopped = bearer(await tokenOf(ofOtherApp))
    await server.deps.store.transaction(async (tx) => {
      const app = await tx.apps.findApp(appId)
      if (app !== undefined) await tx.apps.putApp({ ...app, status: "SUSPENDED" })
    })
    const stopped = clients.services.getEnvelopeCertificate({ kid: key.kid }, ofStopped)
    expect(await refusal(stopped)).toBe("PermissionDenied TENANT_SUSPENDED")
    const own = await addMachine(server, { allowedAudiences: ["svc-notes", "auth"] })
    const fresh = await createEnvelopeKey()
    await add(fresh, {}, own)
    const at = { serviceAccountId: own.account.id }
    await clients.services.disableServiceAccount(at, bearer(admin.token))
    expect(await refusal(certificate(fresh.kid, other))).toBe("NotFound NOT_FOUND")
    await clients.services.enableServiceAccount(at, bearer(admin.token))
    expect((await certificate(fresh.kid, other)).certificate).toMatch(/^ey/)
    const nowMs = server.deps.clock.nowMs()
    const { principalId } = own.account
    const lock = { expiresAtMs: nowMs + 60_000, reason: "" }
    // A lock revokes no key.
    await server.deps.store.transaction((tx) => tx.principals.lockUntil(principalId, lock, nowMs))
    expect(await refusal(certificate(fresh.kid, other))).toBe("NotFound NOT_FOUND")
    await server.deps.store.transaction((tx) => tx.principals.unlock(principalId, nowMs))
    expect((await certificate(fresh.kid, other)).certificate).toMatch(/^ey/)
    await server.deps.store.transaction((tx) => tx.principals.end(principalId, "SUSPENDED", nowMs))
    expect(await refusal(certificate(fresh.kid, other))).toBe("NotFound NOT_FOUND")
    const [entry] = await server.deps.store.transaction((tx) => tx.revocations.find([fresh.kid], nowMs))
    expect((entry?.expiresAtMs ?? 0) - nowMs).toBeGreaterThan(86_400_000)
  })
})
