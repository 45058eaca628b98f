// In a suspended, archived or missing tenant or context, nobody gets access, whatever they hold. Nor does the owner of
// a suspended principal, identity, app or membership: each state alone suffices.
import type { PlaceStatus } from "@signet/kernel/administration/records"
import { type ContextId, newId, type TenantId } from "@signet/kernel/ids"
import { sql } from "kysely"
import { afterAll, beforeAll, expect, test } from "vitest"
import { bearer, refusal } from "../support/clients.ts"
import { addMachine, addPolicy, basic, type Machine } from "../support/machines.ts"
import { type SignedInPerson, signIn } from "../support/people.ts"
import { storyStore } from "../support/postgres.ts"
import { startTokenWorld, type TokenWorld } from "../support/token-world.ts"
import { untilWaiting } from "../support/waiting.ts"

const tenantId: TenantId = newId("ten", 1, new Uint8Array(10).fill(5))
const contextId: ContextId = newId("ctx", 1, new Uint8Array(10).fill(5))
const audiences = ["auth", "svc-notes", "svc-gateway"]
const scopes = ["notes.read", "notes.write"]

let world: TokenWorld
let person: SignedInPerson
let machine: Machine
type Ways = Record<string, () => Promise<string>>
let ways: Ways

/** A user at the place, and every call that issues a token for the place or uses one there. */
async function waysAt(subject: string, place: { tenantId?: TenantId; contextId: ContextId }) {
  const { server, clients } = world
  const person = await signIn(server, clients, subject, { ...place, audiences, scopes })
  const policy = await addPolicy(server, world.gateway, { allowStanding: true })
  const made = { allowedAudiences: ["svc-notes"], scopes: ["notes.read"] }
  const asked = { policyId: policy.id, audiences: ["svc-notes"], scopes: ["notes.read"] }
  const { token: pat } = await clients.pats.createPat({ ...made, name: "cli" }, bearer(person.token))
  const { delegation } = await clients.delegations.createDelegation(asked, bearer(person.token))
  let { refreshToken } = person
  const outcome = async (call: Promise<unknown>) => {
    const [answer] = await Promise.allSettled([call])
    return answer.status === "fulfilled" ? "ok" : ((await refusal(call)).split(" ").at(-1) ?? "")
  }
  const formOutcome = async (answer: ReturnType<TokenWorld["token"]>) => {
    const { status, body } = await answer
    return status === 200 ? "ok" : String(body.reason)
  }
  const ways: Ways = {
    refresh: () => {
      const call = clients.auth.refresh({ refreshToken }).then((tokens) => {
        refreshToken = tokens.refreshToken
      })
      return outcome(call)
    },
    "sign-in": async () =>
      outcome(clients.auth.externalLogin({ ...(await server.login(subject)), audiences, ...place })),
    "a call": () => outcome(clients.auth.me({}, bearer(person.token))),
    "a personal access token": () => outcome(clients.pats.exchangePat({ pat })),
    "a new personal access token": () =>
      outcome(clients.pats.createPat({ ...made, name: "other" }, bearer(person.token))),
    "a new standing delegation": () => outcome(clients.delegations.createDelegation(asked, bearer(person.token))),
    "a standing delegation": () =>
      formOutcome(world.exchange({ delegation_id: delegation?.id ?? "", subject_token_type: undefined })),
    "a delegated token": () => formOutcome(world.exchange({ subject_token: person.tokens["svc-gateway"] ?? "" })),
  }
  return { person, ways, formOutcome }
}

beforeAll(async () => {
  world = await startTokenWorld({ store: storyStore })
  const there = await waysAt("ada", { tenantId, contextId })
  person = there.person
  machine = await addMachine(world.server, { tenantId })
  ways = {
    ...there.ways,
    "a service of the tenant": () =>
      there.formOutcome(world.token({ grant_type: "client_credentials", audience: "svc-notes" }, basic(machine))),
  }
})
afterAll(() => world.server.close())

const all = (answer: string) => Object.fromEntries(Object.keys(ways).map((way) => [way, answer]))
const tryAll = async (of = ways) => {
  const found: Record<string, string> = {}
  for (const [name, way] of Object.entries(of)) found[name] = await way()
  return found
}

async function set(what: "tenant" | "context", status: PlaceStatus): Promise<void> {
  await world.server.store.db
    .updateTable(what)
    .set({ status })
    .where("id", "=", what === "tenant" ? tenantId : contextId)
    .execute()
}

test("every call succeeds while tenant and context are active", async () => {
  expect(await tryAll()).toEqual(all("ok"))
})

test.each<["tenant" | "context", PlaceStatus]>([
  ["tenant", "SUSPENDED"],
  ["tenant", "ARCHIVED"],
  ["context", "SUSPENDED"],
  ["context", "ARCHIVED"],
])("a %s that is %s gives no access until it is active again", async (what, status) => {
  await set(what, status)
  const refusedAll = all("TENANT_SUSPENDED")
  // The service belongs to the tenant and not to the context.
  if (what === "context") refusedAll["a service of the tenant"] = "ok"
  expect(await tryAll()).toEqual(refusedAll)
  await set(what, "ACTIVE")
  expect(await tryAll()).toEqual(all("ok"))
})

test("a context without a tenant gives no access while it is suspended", async () => {
  const loneId: ContextId = newId("ctx", 1, new Uint8Array(10).fill(6))
  const lone = await waysAt("lone", { contextId: loneId })
  const set = (status: PlaceStatus) =>
    world.server.store.db.updateTable("context").set({ status }).where("id", "=", loneId).execute()
  const allOf = (answer: string) => Object.fromEntries(Object.keys(lone.ways).map((way) => [way, answer]))
  expect(await tryAll(lone.ways)).toEqual(allOf("ok"))
  await set("SUSPENDED")
  expect(await tryAll(lone.ways)).toEqual(allOf("TENANT_SUSPENDED"))
  await set("ACTIVE")
  expect(await tryAll(lone.ways)).toEqual(allOf("ok"))
})

const ofServices = ["a service of the tenant", "a standing delegation", "a delegated token"]
interface Suspended {
  /** The reason why the user is refused. */
  reason: string
  /** The reason why the sign-in is refused, if it differs. */
  signIn?: string
  /** The reason why services are refused, if they are. */
  service?: string
  set: (status: string) => Promise<unknown>
}

// The call was authorized before the suspension, and then waits for the lock of its principal.
const racing = test.runIf(storyStore === "postgres")
racing.each<[string, "tenant" | "membership" | "principal", string]>([
  ["a new personal access token", "tenant", "TENANT_SUSPENDED"],
  ["a new personal access token", "membership", "SCOPE_NOT_GRANTED"],
  ["a new personal access token", "principal", "PRINCIPAL_INACTIVE"],
  ["a new standing delegation", "tenant", "TENANT_SUSPENDED"],
  ["a new standing delegation", "membership", "MEMBERSHIP_INACTIVE"],
])("%s is refused if the %s is suspended during the call", async (name, what, reason) => {
  const { db } = world.server.store
  const { principalId } = person
  const update = (status: string) =>
    ({
      tenant: sql`update tenant set status = ${status} where id = ${tenantId}`,
      membership: sql`update membership set status = ${status} where principal_id = ${principalId}`,
      principal: sql`update principal set status = ${status} where id = ${principalId}`,
    })[what]
  const { answer } = await db.transaction().execute(async (trx) => {
    await sql`select from principal where id = ${principalId} for update`.execute(trx)
    const answer = ways[name]?.()
    await untilWaiting(db)
    await update("SUSPENDED").execute(trx)
    return { answer }
  })
  const refused = await answer
  await update("ACTIVE").execute(db)
  expect(refused).toBe(reason)
})

const suspended: Record<string, Suspended> = {
  "the principal": {
    reason: "PRINCIPAL_INACTIVE",
    set: (status) => update("principal", status).where("id", "=", person.principalId).execute(),
  },
  "the identity": {
    reason: "IDENTITY_INACTIVE",
    signIn: "IDENTITY_DELETION_PENDING",
    set: (status) =>
      world.server.store.db
        .updateTable("identity")
        .set(
          status === "ACTIVE" ? { status, deletes_at: null } : { status: "DELETION_PENDING", deletes_at: new Date() },
        )
        .where("id", "in", (of) =>
          of.selectFrom("principal").select("identity_id").where("id", "=", person.principalId),
        )
        .execute(),
  },
  "the app": {
    reason: "TENANT_SUSPENDED",
    service: "CLIENT_INVALID",
    set: (status) => update("app", status).where("id", "=", world.server.app.id).execute(),
  },
  "the membership of the app": {
    reason: "MEMBERSHIP_INACTIVE",
    set: (status) => membership(status).where("tenant_id", "is", null).execute(),
  },
  "the membership at the place": {
    reason: "MEMBERSHIP_INACTIVE",
    set: (status) => membership(status).where("context_id", "=", contextId).execute(),
  },
  "the membership of the tenant around it": {
    reason: "MEMBERSHIP_INACTIVE",
    set: (status) => membership(status).where("tenant_id", "=", tenantId).where("context_id", "is", null).execute(),
  },
}
const update = (table: "principal" | "app" | "membership", status: string) =>
  world.server.store.db.updateTable(table).set({ status: status as never })
const membership = (status: string) => update("membership", status).where("principal_id", "=", person.principalId)

test.each(Object.entries(suspended))(
  "%s gives no access if it alone is suspended",
  async (what, { reason, signIn = reason, service, set }) => {
    const { store } = world.server.deps
    if (what.endsWith("around it")) {
      await store.transaction(async (tx) => {
        const [own] = await tx.identities.findMemberships(person.principalId, world.server.app.id)
        if (own === undefined) throw new Error("no membership")
        const id = newId("mem", 2, new Uint8Array(10).fill(5))
        await tx.identities.insertMembership({ ...own, id, tenantId, contextId: null })
      })
    }
    expect(await tryAll()).toEqual(all("ok"))
    await set("SUSPENDED")
    const found = await tryAll()
    await set("ACTIVE")
    const services = service && Object.fromEntries(ofServices.map((way) => [way, service]))
    expect(found).toEqual({ ...all(reason), "sign-in": signIn, "a service of the tenant": "ok", ...services })
    expect(await tryAll()).toEqual(all("ok"))
  },
)

test("a context outside the tenant gives no access in the tenant", async () => {
  const { db } = world.server.store
  await db.updateTable("context").set({ tenant_id: null }).where("id", "=", contextId).execute()
  const found = await tryAll()
  expect(Object.entries(found).filter(([, answer]) => answer === "ok")).toEqual([["a service of the tenant", "ok"]])
})
