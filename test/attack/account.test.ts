// Attacks on another person's account, and calls at the limits of one's own account.
import { parseId } from "@signet/kernel/ids"
import { Platform, Provider } from "@signet/proto/auth/v1/records"
import { afterAll, beforeAll, expect, test } from "vitest"
import { bearer, type Clients, clientsOver, protocols, refusal } from "../support/clients.ts"
import { addInvitation } from "../support/invitations.ts"
import { addPat } from "../support/machines.ts"
import { storyStore } from "../support/postgres.ts"
import { type Answer, type SignInWorld, startSignInWorld } from "../support/sign-in-world.ts"

let world: SignInWorld
let clients: Clients
let uses = 0
beforeAll(async () => {
  world = await startSignInWorld({ store: storyStore })
  const over = protocols["Connect JSON over HTTP/1.1"]
  if (over === undefined) throw new Error("no such protocol")
  clients = clientsOver(over(world.server.url))
})
afterAll(() => world?.close())

const as = ({ accessToken = "" }: Answer) => bearer(accessToken)
const idsOf = ({ principal, identity }: Answer) => {
  const [principalId, identityId] = [parseId("prn", principal?.id ?? ""), parseId("idn", identity?.id ?? "")]
  if (!principalId || !identityId) throw new Error("nobody signed in")
  return { principalId, identityId }
}
const linkA = async (who: Answer, subject: string, claims: Record<string, unknown> = {}) => {
  const { clientId } = await world.clientOf(world.app.id, "IDP_A", "WEB")
  const usual = { sub: subject, aud: clientId, azp: clientId, jti: `attack-${++uses}` }
  const value = await world.server.idp.mint({ claims: { ...usual, ...claims } })
  return clients.account.linkProviderAccount(
    { provider: Provider.IDP_A, platform: Platform.WEB, nonce: "n-1", credential: { case: "idToken", value } },
    as(who),
  )
}
const setStatus = (id: string | undefined, status: "BLOCKED" | "LINKED") =>
  world.server.store.db
    .updateTable("provider_account")
    .set({ status })
    .where("id", "=", id as never)
    .execute()

test("a personal access token cannot manage an account, even if it is new", async () => {
  const own = { key: "auth.self", audience: "auth", isDefault: true }
  await world.server.deps.store.transaction((tx) =>
    tx.apps.putApp({ ...world.app, scopes: [...world.app.scopes, own] }),
  )
  const pia = await world.signInB("pia")
  const { token } = await addPat(world.server, idsOf(pia), { allowedAudiences: ["auth"], scopes: ["auth.self"] })
  const { accessToken } = await clients.pats.exchangePat({ pat: token })
  const by = bearer(accessToken)
  const { account } = clients
  const id = "00000000000000000000000000"
  const calls = [
    account.listProviderAccounts({}, by),
    account.linkProviderAccount({ provider: 1, platform: 1, credential: { case: "idToken", value: "x" } }, by),
    account.unlinkProviderAccount({ providerAccountId: `pac_${id}` }, by),
    account.acceptInvitation({ code: "sginv_x" }, by),
    account.declineInvitation({ code: "sginv_x" }, by),
    account.requestMembership({ tenantId: `ten_${id}` }, by),
    account.leaveMembership({ membershipId: `mem_${id}` }, by),
    account.exportIdentity({}, by),
    account.requestIdentityDeletion({}, by),
  ]
  for (const refused of await Promise.all(calls.map(refusal))) {
    expect(refused).toMatch(/^PermissionDenied (PRINCIPAL_KIND|STEP_UP)/)
  }
})

test("a new ID token without auth_time does not count as a recent sign-in", async () => {
  const ida = await world.signInA("ida", { claims: { auth_time: undefined } })
  expect(await refusal(clients.account.exportIdentity({}, as(ida)))).toBe("PermissionDenied STEP_UP_REQUIRED")
  const { session } = await clients.auth.me({}, as(ida))
  expect(session?.authTime).toBeUndefined()
  const again = await world.post("/auth/session/refresh", { refreshToken: ida.refreshToken })
  expect(await refusal(clients.account.exportIdentity({}, as(again)))).toBe("PermissionDenied STEP_UP_REQUIRED")
})

test("an authentication time ahead of the server's clock is recorded as the sign-in's time", async () => {
  const nowMs = world.server.deps.clock.nowMs()
  const ivy = await world.signInA("ivy", { claims: { auth_time: Math.floor(nowMs / 1_000) + 25 } })
  const { session } = await clients.auth.me({}, as(ivy))
  expect(Number(session?.authTime?.seconds)).toBeLessThan(Math.floor(nowMs / 1_000) + 25)
  expect(session?.authTime).toEqual(session?.createdAt)
})

test("an ID token for another app's client links no account", async () => {
  const amy = await world.signInB("amy")
  const { clientId } = await world.clientOf(world.otherApp.id, "IDP_A", "WEB")
  const refused = "Unauthenticated PROVIDER_TOKEN_INVALID"
  expect(await refusal(linkA(amy, "amy-at-a", { aud: clientId, azp: clientId }))).toBe(refused)
  expect(await refusal(linkA(amy, "amy-at-a", { nonce: "n-2" }))).toBe("Unauthenticated NONCE_MISMATCH")
  expect((await world.audited()).filter(({ kind }) => kind === "provider_account.linked").length).toBeGreaterThan(1)
})

test("a blocked account stays blocked after it is unlinked and linked again", async () => {
  const bob = await world.signInB("bob")
  const { providerAccount } = await linkA(bob, "bob-at-a")
  await setStatus(providerAccount?.id, "BLOCKED")
  const unlink = clients.account.unlinkProviderAccount({ providerAccountId: providerAccount?.id ?? "" }, as(bob))
  expect(await refusal(unlink)).toBe("FailedPrecondition STATE_CONFLICT")
  expect(await refusal(linkA(bob, "bob-at-a"))).toBe("FailedPrecondition STATE_CONFLICT")
  const eve = await world.signInB("eve")
  expect(await refusal(linkA(eve, "bob-at-a"))).toBe("AlreadyExists PROVIDER_ACCOUNT_IN_USE")
})

test("a user who links an account that another user unlinked gets none of its data; the former owner gets it back", async () => {
  const kept = { email: "had@example.com", refresh_token_sealed: Uint8Array.of(7) }
  const rowOf = async (id = "") => {
    const query = world.server.store.db
      .selectFrom("provider_account")
      .selectAll()
      .where("id", "=", id as never)
    const { email, refresh_token_sealed: sealed, identity_id: identityId } = await query.executeTakeFirstOrThrow()
    return { email, isSealed: sealed !== null, identityId }
  }
  const had = await world.signInB("had")
  const { providerAccount } = await linkA(had, "passed on", { email: undefined })
  const id = providerAccount?.id ?? ""
  await world.server.store.db
    .updateTable("provider_account")
    .set(kept)
    .where("id", "=", id as never)
    .execute()
  const unlink = () => clients.account.unlinkProviderAccount({ providerAccountId: id }, as(had))
  await unlink()
  await linkA(had, "passed on", { email: undefined })
  expect(await rowOf(id)).toEqual({ email: kept.email, isSealed: true, identityId: had.identity?.id })
  await unlink()
  const next = await world.signInB("next")
  expect((await linkA(next, "passed on", { email: undefined })).providerAccount?.id).toBe(id)
  expect(await rowOf(id)).toEqual({ email: null, isSealed: false, identityId: next.identity?.id })
})

test("an address becomes the contact address only if the provider has verified it and there was none", async () => {
  const who = await world.signInB("no address", { claims: { email: undefined } })
  const addressOf = async () => (await clients.auth.me({}, as(who))).identity?.primaryEmail ?? ""
  const link = (subject: string, email: string, verified: boolean) =>
    linkA(who, subject, { email, email_verified: verified })
  expect(await addressOf()).toBe("")
  await link("unverified", "unverified@example.com", false)
  expect(await addressOf()).toBe("")
  await link("verified", "verified@example.com", true)
  expect(await addressOf()).toBe("verified@example.com")
  await link("verified too", "second@example.com", true)
  expect(await addressOf()).toBe("verified@example.com")
})

test("an app without account access can neither read, change nor delete accounts", async () => {
  const tim = await world.signInB("tim")
  const [own] = (await clients.account.listProviderAccounts({}, as(tim))).providerAccounts
  await world.changeApp(world.app, { managesIdentity: false })
  const { account } = clients
  const asked = world.idpC.requests.length
  const byPassword = { case: "emailPassword" as const, value: { email: "tim@example.com", password: "guessed" } }
  const guess = { platform: Platform.WEB, provider: Provider.IDP_C, credential: byPassword }
  expect(await refusal(account.linkProviderAccount(guess, as(tim)))).toBe("PermissionDenied CLIENT_NOT_ALLOWED")
  expect(world.idpC.requests.length).toBe(asked)
  const refused = [
    linkA(tim, "tim-a"),
    account.unlinkProviderAccount({ providerAccountId: own?.id ?? "" }, as(tim)),
    account.exportIdentity({}, as(tim)),
    account.requestIdentityDeletion({}, as(tim)),
  ]
  expect(await Promise.all(refused.map(refusal))).toEqual(refused.map(() => "PermissionDenied CLIENT_NOT_ALLOWED"))
  await world.changeApp(world.app, { managesIdentity: true })
  await linkA(tim, "tim-a")
})

test("a session of one app gives no access to data of another app", async () => {
  const [here, there] = [await world.signInA("both"), await world.signInA("both", { app: world.otherApp })]
  expect(here.identity?.id).toBe(there.identity?.id)
  const leave = clients.account.leaveMembership({ membershipId: there.membership?.id ?? "" }, as(here))
  expect(await refusal(leave)).toBe("NotFound NOT_FOUND")
  const { code, invitation } = await addInvitation({ ...world.server, app: world.otherApp })
  const accept = clients.account.acceptInvitation({ code }, as(here))
  expect(await refusal(accept)).toBe("PermissionDenied INVITATION_INVALID")
  const request = clients.account.requestMembership({ tenantId: invitation.tenantId ?? "" }, as(here))
  expect(await refusal(request)).toBe("PermissionDenied RESOURCE_UNRESOLVED")
  await clients.account.acceptInvitation({ code }, as(there))
})

test("a suspended member can neither accept an invitation nor leave the app and rejoin", async () => {
  const sam = await world.signInA("sam")
  const { code, invitation } = await addInvitation(world.server)
  const { membership } = await clients.account.acceptInvitation({ code }, as(sam))
  await world.server.store.db
    .updateTable("membership")
    .set({ status: "SUSPENDED" })
    .where("id", "=", membership?.id as never)
    .execute()
  const again = await addInvitation(world.server, { tenantId: invitation.tenantId })
  const accept = clients.account.acceptInvitation({ code: again.code }, as(sam))
  expect(await refusal(accept)).toBe("PermissionDenied MEMBERSHIP_INACTIVE")
  const leave = clients.account.leaveMembership({ membershipId: membership?.id ?? "" }, as(sam))
  expect(await refusal(leave)).toBe("FailedPrecondition STATE_CONFLICT")
})
