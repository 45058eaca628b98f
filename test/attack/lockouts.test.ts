// Limits and lockouts in force: who may see and lift them, and what they disclose.
import { defaultLimits, type Limits } from "@signet/kernel/limits/policy"
import { Lockout_Kind } from "@signet/proto/auth/v1/limits"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { fakeCli } from "../../clients/cli/testing/fake-cli.ts"
import { type AdministeredServer, startAdministeredServer } from "../support/administered-server.ts"
import type { AdministratorName } from "../support/administration.ts"
import { bearer, refusal } from "../support/clients.ts"
import { addMachine, basic, type Machine, postForm } from "../support/machines.ts"
import { signIn } from "../support/people.ts"

const limits: Limits = {
  windows: { ...defaultLimits.windows, sign_in_options: { ip: { limit: 2, seconds: 3_600 } } },
  lockouts: { ...defaultLimits.lockouts, client: { failures: 2, seconds: 60, lockSeconds: 600, mostLockSeconds: 600 } },
}
let at: AdministeredServer
let machine: Machine
beforeAll(async () => {
  at = await startAdministeredServer({ limits, trustedHops: 1 })
  machine = await addMachine({ ...at.server, app: at.world.app })
})
afterAll(() => at?.server.close())

const root = () => at.world.as("root")
const listed = async () => (await at.clients.admin.listLockouts({}, root())).lockouts
const options = async (address: string) => {
  const query = new URLSearchParams({ app_id: at.world.app.id, platform: "WEB" })
  const response = await fetch(`${at.server.url}/auth/sign-in-options?${query}`, {
    headers: { "x-forwarded-for": address },
  })
  return response.status
}
const proof = async (secret: string, address: string) => {
  const headers = { ...basic({ ...machine, secret }), "x-forwarded-for": address }
  const form = { grant_type: "client_credentials", audience: "svc-notes" }
  return (await postForm(`${at.server.url}/auth/token`, form, headers)).status
}

test("a network over its rate limit is listed with what the audit tells, until it is lifted", async () => {
  const address = "203.0.113.77"
  const statuses = []
  for (let i = 0; i < 4; i++) statuses.push(await options(address))
  expect(statuses).toEqual([200, 200, 429, 429])
  expect(await options("203.0.113.78")).toBe(200)
  const found = (await listed()).filter(({ name }) => name === "sign_in_options.ip")
  expect(found).toMatchObject([{ kind: Lockout_Kind.RATE_LIMIT, network: "203.0.113.0/24", principalId: "" }])
  expect(JSON.stringify(await fetchJson("/auth/lockouts"))).not.toContain(address)
  await at.clients.admin.liftLockout({ lockoutId: found[0]?.id ?? "" }, root())
  expect(await options(address)).toBe(200)
  expect((await listed()).filter(({ name }) => name === "sign_in_options.ip")).toEqual([])
})

test("a lock after wrong secrets is listed without the client, and after its lift the right secret works", async () => {
  const address = "198.51.100.5"
  for (let i = 0; i < 3; i++) await proof("sgsec_wrong", address)
  expect(await proof(machine.secret, address)).toBe(429)
  const [lock] = (await listed()).filter(({ kind }) => kind === Lockout_Kind.LOCK)
  expect(lock).toMatchObject({ name: "client", network: "198.51.100.0/24", principalId: "" })
  const told = JSON.stringify(await fetchJson("/auth/lockouts"))
  for (const secret of [machine.account.id, machine.account.principalId, address]) expect(told).not.toContain(secret)
  const lift = () => at.clients.admin.liftLockout({ lockoutId: lock?.id ?? "" }, root())
  await lift()
  expect(await refusal(lift())).toBe("PermissionDenied RESOURCE_UNRESOLVED")
  expect(await proof(machine.secret, address)).toBe(200)
  const events = await at.server.store.db
    .selectFrom("audit_event")
    .select(["actor_principal_id", "target_type", "target_id"])
    .where("kind", "=", "ratelimit.lifted")
    .where("target_type", "=", "lockout")
    .execute()
  expect(events).toEqual([
    { actor_principal_id: at.world.people.root.principalId, target_type: "lockout", target_id: "client" },
  ])
})

test("only administrators of the installation see limits, lockouts and locked principals, or lift a lockout", async () => {
  const { admin } = at.clients
  for (let i = 0; i < 3; i++) await options("203.0.113.90")
  const [lockout] = await listed()
  const calls = (by: { headers: Record<string, string> }) => [
    () => admin.getLimits({}, by),
    () => admin.listLockouts({}, by),
    () => admin.listLockedPrincipals({}, by),
    () => admin.liftLockout({ lockoutId: lockout?.id ?? "" }, by),
  ]
  const others: AdministratorName[] = ["admin", "otherAdmin", "tenantAdmin", "contextAdmin"]
  for (const name of others) {
    for (const call of calls(at.world.as(name))) {
      expect([name, await refusal(call())]).toEqual([name, "PermissionDenied RESOURCE_UNRESOLVED"])
    }
  }
  const reader = await signIn(at.server, at.clients, "reads", {
    app: at.world.installation,
    scopes: ["auth.principals.read"],
  })
  const [settings, lockouts, locked, lift] = calls(bearer(reader.token))
  for (const call of [settings, lockouts, locked]) await call?.()
  expect(await refusal(lift?.() ?? Promise.resolve())).toBe("PermissionDenied MISSING_SCOPE")
  expect((await listed()).map(({ id }) => id)).toContain(lockout?.id)
})

test("the settings in force and the locked principals are listed, a page at a time", async () => {
  const { admin } = at.clients
  const { enabled, rateLimits, lockoutPolicies } = await admin.getLimits({}, root())
  expect(enabled).toBe(true)
  expect(rateLimits.find(({ name }) => name === "sign_in_options.ip")).toMatchObject({ calls: 2 })
  expect(lockoutPolicies.map(({ name, failures }) => [name, failures])).toEqual([
    ["client", 2],
    ["email", 5],
  ])
  const nowMs = at.server.deps.clock.nowMs()
  const ids = []
  for (const hours of [1, 3, 2]) {
    const { principalId } = await signIn(at.server, at.clients, `locked for ${hours}`, { app: at.world.app })
    const seconds = BigInt(Math.floor(nowMs / 1_000) + hours * 3_600)
    await admin.lockPrincipal({ principalId, lockExpiresAt: { seconds, nanos: 0 }, reason: "stolen" }, root())
    ids.push(principalId)
  }
  const first = await admin.listLockedPrincipals({ pageSize: 2 }, root())
  const { nextPageToken: pageToken } = first
  const second = await admin.listLockedPrincipals({ pageSize: 2, pageToken }, root())
  const found = [...first.principals, ...second.principals]
  expect(found.map(({ id }) => id)).toEqual([ids[1], ids[2], ids[0]])
  expect(found.map(({ lockReason }) => lockReason)).toEqual(["stolen", "stolen", "stolen"])
  expect(second.nextPageToken).toBe("")
  expect(await refusal(admin.listLockouts({ pageToken }, root()))).toBe("InvalidArgument INVALID_FIELD")
})

async function fetchJson(path: string): Promise<unknown> {
  return (await fetch(at.server.url + path, root())).json()
}

describe("signet lockout", () => {
  let env: Readonly<Record<string, string>>
  beforeAll(async () => {
    const asked = {
      name: "laptop",
      allowedAudiences: ["auth"],
      scopes: ["auth.principals.read", "auth.principals.write"],
    }
    const { token } = await at.clients.pats.createPat(asked, root())
    env = { SIGNET_SERVER: at.server.url, SIGNET_SERVER_ISSUER: "https://auth.example", SIGNET_PAT: token }
  })
  const run = (...args: string[]) => fakeCli({ env, nowMs: () => at.server.deps.clock.nowMs() }).run("lockout", ...args)
  const json = async (...args: string[]) => {
    const { code, out, err } = await run(...args, "--json")
    expect([args, code, err]).toEqual([args, 0, ""])
    return JSON.parse(out)
  }

  test("lists, shows and lifts what refuses calls, by the first digits of an id", async () => {
    const address = "192.0.2.7"
    for (let i = 0; i < 3; i++) await options(address)
    const network = "192.0.2.0/24"
    const listed = (await json("list")) as { id: string; network: string }[]
    const { id = "" } = listed.find((one) => one.network === network) ?? {}
    expect(listed).not.toEqual([])
    const digits = id.slice(0, 12)
    expect((await run("list")).out).toContain(`${digits}\trate-limit\tsign_in_options.ip\t${network}`)
    expect(await json("get", digits)).toMatchObject({ id, name: "sign_in_options.ip", kind: "RATE_LIMIT" })
    expect(await run("lift", digits)).toMatchObject({ code: 2, err: expect.stringContaining("use --yes") })
    expect(await options(address)).toBe(429)
    expect(await json("lift", digits, "--yes")).toEqual({ id, lifted: true })
    expect(await options(address)).toBe(200)
    expect(await run("get", digits)).toMatchObject({ code: 2, err: expect.stringContaining("refuses calls now") })
    expect(await run("lift", "me", "--yes")).toMatchObject({ code: 2, err: expect.stringContaining("no lockout id") })
  })

  test("prints the limits in force, and is refused without the installation's scopes", async () => {
    expect(await json("limits")).toMatchObject({ enabled: true, lockoutPolicies: expect.any(Array) })
    expect((await run("limits")).out).toContain("client\tlock\t2 failures in 60 s lock for 600 s, at most 600 s")
    const asked = { name: "reader", allowedAudiences: ["auth"], scopes: ["auth.principals.read"] }
    const { token } = await at.clients.pats.createPat(asked, at.world.as("admin"))
    const other = fakeCli({ env: { ...env, SIGNET_PAT: token }, nowMs: () => at.server.deps.clock.nowMs() })
    for (const args of [["list"], ["limits"], ["lift", "a".repeat(64), "--yes"]]) {
      const { code, err } = await other.run("lockout", ...args)
      expect([args, code, err]).toEqual([args, 4, expect.stringContaining("RESOURCE_UNRESOLVED")])
    }
  })
})
