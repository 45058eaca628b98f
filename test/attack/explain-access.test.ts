// What an administrator learns by having calls explained: only of tokens in their own place, and only with the scopes
// that read grants.
import { create } from "@bufbuild/protobuf"
import { Reason } from "@signet/proto/authz/v1/reason"
import { AuthRequirementSchema } from "@signet/proto/authz/v1/requirement"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type AdministeredWorld, type AdministratorName, administeredWorld } from "../support/administration.ts"
import { bearer, type Clients, clientsOver, protocols, refusal } from "../support/clients.ts"
import { type SignedInPerson, signIn } from "../support/people.ts"
import { storyStore } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

let server: TestServer
let world: AdministeredWorld
let clients: Clients
let member: SignedInPerson
beforeAll(async () => {
  server = await startTestServer({ store: storyStore })
  const connect = protocols["Connect JSON over HTTP/1.1"]
  if (connect === undefined) throw new Error("no protocol")
  clients = clientsOver(connect(server.url))
  world = await administeredWorld(server, clients)
  member = await signIn(server, clients, "member of the tenant", {
    app: world.app,
    scopes: [],
    tenantId: world.tenant.id,
  })
})
afterAll(() => server?.close())

const method = "signet.auth.v1.AppAuthService/ListApps"
const explained = (by: AdministratorName, accessToken: string, of: object = {}) =>
  clients.audit.explainAccess({ accessToken, target: { case: "method", value: method }, ...of }, world.as(by))
const scope = (name: string) =>
  ({ case: "requirement", value: create(AuthRequirementSchema, { check: { case: "scope", value: name } }) }) as const

describe("an explanation", () => {
  test.each<[AdministratorName]>([["root"], ["admin"], ["tenantAdmin"]])(
    "by %s has the step and the facts",
    async (by) => {
      const denied = await explained(by, member.token)
      expect(denied).toMatchObject({ allowed: false, step: 6, reason: Reason.MISSING_SCOPE })
      expect(denied.requirement).toMatchObject({
        ...{ asked: "scope(auth.apps.read)", holds: false, isDecisive: true },
        ...{ failedStep: 6, reason: Reason.MISSING_SCOPE },
      })
      expect(denied.caller).toContain(member.principalId)
      expect(denied.passed.map(({ step: number }) => number)).toEqual([1, 2, 3, 4, 5])
      expect(denied.passed[4]?.found).toEqual(["the caller is a USER"])
      const allowed = await explained(by, world.people.tenantAdmin.token)
      expect(allowed).toMatchObject({ allowed: true, step: 9, reason: Reason.REASON_UNSPECIFIED })
    },
  )

  test("of a requirement of another service names the audience that it is for", async () => {
    const target = scope("notes.read")
    const other = await explained("admin", member.token, { target, audience: "svc-notes" })
    expect(other).toMatchObject({ allowed: false, step: 2, reason: Reason.AUDIENCE_MISMATCH })
    expect(other.found).toEqual([expect.stringMatching(/^the token is for .*, the target is svc-notes$/)])
  })

  test("of a revoked session names it", async () => {
    const gone = await signIn(server, clients, "gone", { app: world.app, scopes: [], tenantId: world.tenant.id })
    await clients.auth.logout({}, bearer(gone.token))
    const denied = await explained("tenantAdmin", gone.token)
    expect(denied).toMatchObject({ allowed: false, step: 3, reason: Reason.SESSION_REVOKED })
    expect(denied.found).toEqual([expect.stringMatching(/^ses_\w+ is REVOKED$/)])
    expect(denied.requirement).toBeUndefined()
  })

  test("of a token that does not verify says only that", async () => {
    for (const [token, step, reason] of [
      [`${member.token.slice(0, -6)}AAAAAA`, 2, Reason.SIGNATURE_INVALID],
      ["sgpat_00000000000000000000000000000000000000000000000000", 1, Reason.PAT_NOT_BEARER],
    ] as const) {
      expect(await explained("tenantAdmin", token)).toMatchObject({
        allowed: false,
        step,
        reason,
        caller: "",
        found: [],
        // Only that there is a token, and no claim of it.
        passed: step === 1 ? [] : [{ step: 1, found: ["the call has one bearer token"] }],
      })
    }
  })

  test("of a token outside of the caller's place is refused like a missing object", async () => {
    for (const [by, of] of [
      ["tenantAdmin", "otherTenantAdmin"],
      ["tenantAdmin", "admin"],
      ["contextAdmin", "tenantAdmin"],
      ["admin", "otherAdmin"],
      ["otherAdmin", "root"],
    ] as const) {
      expect([by, of, await refusal(explained(by, world.people[of].token))]).toEqual([
        ...[by, of, "PermissionDenied RESOURCE_UNRESOLVED"],
      ])
    }
  })

  test("needs the scopes that read audit, grants and roles", async () => {
    for (const missing of ["auth.audit.read", "auth.grants.read", "auth.roles.read"]) {
      const scopes = ["auth.audit.read", "auth.grants.read", "auth.roles.read"].filter((one) => one !== missing)
      const { token } = await signIn(server, clients, `without ${missing}`, { app: world.app, scopes })
      const asked = clients.audit.explainAccess(
        { accessToken: token, target: { case: "method", value: method } },
        bearer(token),
      )
      expect([missing, await refusal(asked)]).toEqual([missing, "PermissionDenied MISSING_SCOPE"])
    }
  })

  test("of an unknown method, or of a requirement that cannot be checked, is refused", async () => {
    const unknown = { case: "method", value: "signet.auth.v1.AppAuthService/Nothing" } as const
    const empty = { case: "requirement", value: create(AuthRequirementSchema, {}) } as const
    for (const target of [unknown, empty, scope("")]) {
      expect(await refusal(explained("admin", member.token, { target }))).toBe("InvalidArgument INVALID_FIELD")
    }
  })
})
