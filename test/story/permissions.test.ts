// Decisions by granted permissions: at the server, in the cached snapshot, and at another service that asks for it.
import { createKeyValueSnapshots } from "@signet/guard/kv-cache"
import type { AuthorityVersions } from "@signet/kernel/authz/versions"
import type { PrincipalId } from "@signet/kernel/ids"
import { afterAll, beforeAll, expect, test } from "vitest"
import { type AdministeredWorld, administeredWorld } from "../support/administration.ts"
import { bearer, type Clients, clientsOver, protocols, refusal } from "../support/clients.ts"
import { isLong } from "../support/effort.ts"
import { addMachine, addPat, addPolicy, type Machine } from "../support/machines.ts"
import { addNotesAccount, editNote, startNotes } from "../support/notes-service.ts"
import { claimsOf, signIn } from "../support/people.ts"
import { describeStory } from "../support/postgres.ts"
import { startTestServer, type TestServer } from "../support/server.ts"

describeStory("a granted permission", (kind) => {
  let server: TestServer
  let clients: Clients
  let world: AdministeredWorld
  let notes: Machine
  /** The permissions of svc-notes, and the service that may act there for users. */
  let worker: Machine
  let editor: { roleId: string }
  let appId: string
  const root = () => world.as("root")
  beforeAll(async () => {
    server = await startTestServer({ store: kind })
    const connect = protocols["Connect JSON over HTTP/1.1"]
    if (connect === undefined) throw new Error("no protocol")
    clients = clientsOver(connect(server.url))
    world = await administeredWorld(server, clients)
    appId = world.app.id
    await clients.admin.createPermission({ appId, permission: { key: editNote } }, root())
    notes = await addNotesAccount(server, world.app)
    worker = await addMachine(server, {
      ...{
        appId: world.app.id,
        ownedAudiences: ["svc-notes"],
        scopes: ["notes.read", "notes.write", "auth.introspect"],
      },
    })
    await addPolicy(server, worker)
    const role = { key: "editor", permissions: [editNote], inheritable: true }
    editor = { roleId: (await clients.admin.createRole({ appId, role }, root())).role?.id ?? "" }
  })
  afterAll(() => server?.close())

  const everywhere = { tenantId: null, contextId: null }
  const note = (id: string) => ({ type: "note", id, appId: world.app.id, ...everywhere })
  const ofPerson = (name: string, scopes = ["notes.write"]) =>
    signIn(server, clients, `${name} ${kind} ${Math.random()}`, {
      app: world.app,
      scopes,
      audiences: ["auth", "svc-notes"],
    })
  const refreshed = async (refreshToken: string) => {
    const answer = await clients.auth.refresh({ refreshToken, audiences: ["auth", "svc-notes"] })
    return {
      refreshToken: answer.refreshToken,
      notes: answer.accessTokens["svc-notes"] ?? "",
      auth: answer.accessToken,
    }
  }

  test("is accepted by another service, and refused at once after its revocation", async () => {
    const { principalId, refreshToken, tokens } = await ofPerson("ada")
    const service = startNotes(server, notes, [note("n1"), note("n2")])
    expect(await service.edit(tokens["svc-notes"] ?? "", "n1")).toEqual([403, "MISSING_PERMISSION"])

    const on = { appId, principalId, ...editor, resource: { type: "note", id: "n1" } }
    const { grant } = await clients.admin.createGrant(on, root())
    // The service has cached the version before; a new token has the next version.
    expect(await service.edit(tokens["svc-notes"] ?? "", "n1")).toEqual([403, "MISSING_PERMISSION"])
    // For a service without a cache the token is stale, and its caller refreshes once.
    expect(await startNotes(server, notes, [note("n1")]).edit(tokens["svc-notes"] ?? "", "n1")).toEqual([
      401,
      "PERMISSIONS_STALE",
    ])
    const granted = await refreshed(refreshToken)
    expect(await service.edit(granted.notes, "n1")).toEqual([204])
    expect(await service.edit(granted.notes, "n2")).toEqual([403, "RESOURCE_NOT_GRANTED"])
    expect(await service.edit(granted.notes, "n3")).toEqual([403, "RESOURCE_UNRESOLVED"])
    expect(service.asked).toHaveLength(2)
    // More permissions are no reason to refuse the token.
    await clients.auth.me({}, bearer(tokens.auth ?? ""))

    const asking = { clientId: worker.account.clientId, clientSecret: worker.secret, token: granted.notes }
    const active = await clients.tokens.introspect(asking)
    expect(active).toMatchObject({ active: true, permVerCurrent: active.permVer })
    await clients.admin.revokeGrant({ appId, grantId: grant?.id ?? "" }, root())
    expect(await refusal(clients.auth.me({}, bearer(granted.auth)))).toBe("Unauthenticated PERMISSIONS_STALE")
    expect(await refusal(clients.auth.me({}, bearer(tokens.auth ?? "")))).toBe("Unauthenticated PERMISSIONS_STALE")
    expect((await clients.tokens.introspect(asking)).active).toBe(false)
    const after = await refreshed(granted.refreshToken)
    await clients.auth.me({}, bearer(after.auth))
    expect(await service.edit(after.notes, "n1")).toEqual([403, "MISSING_PERMISSION"])
  })

  test("is cached in a key-value store, from which only statements signed for the token are accepted", async () => {
    const { principalId, tokens, refreshToken } = await ofPerson("kay")
    await clients.admin.createGrant({ appId, principalId, ...editor }, root())
    const kept = new Map<string, string>()
    const cache = createKeyValueSnapshots({
      get: async (key) => kept.get(key) ?? null,
      put: async (key, value) => kept.set(key, value),
    })
    const granted = await refreshed(refreshToken)
    expect(await startNotes(server, notes, [note("n1")], cache).edit(granted.notes, "n1")).toEqual([204])
    const [entry] = [...kept]
    const again = startNotes(server, notes, [note("n1")], cache)
    expect(await again.edit(granted.notes, "n1")).toEqual([204])
    expect(again.asked).toEqual([])
    // The statement with all permissions, stored by an attacker under the key of the earlier version.
    const { perm_ver } = claimsOf(tokens["svc-notes"] ?? "")
    kept.set(String(entry?.[0]).replace(/\d+$/, String(perm_ver)), entry?.[1] ?? "")
    expect(await startNotes(server, notes, [note("n1")], cache).edit(tokens["svc-notes"] ?? "", "n1")).toEqual([
      401,
      "PERMISSIONS_STALE",
    ])
  })

  test("is available with each token: of a session, a service, a personal access token, and a delegation", async () => {
    const { principalId, refreshToken } = await ofPerson("eve")
    const of = async (id: PrincipalId) => {
      const { principal, policy } = await server.deps.store.transaction((tx) => tx.authorities.find(id, world.app.id))
      return { perm_ver: principal + policy, pol_ver: policy }
    }
    await clients.admin.createGrant({ appId, principalId, ...editor }, root())
    const session = await refreshed(refreshToken)
    const identityId = String(claimsOf(session.auth).identity_id)
    const { token: pat } = await addPat(
      server,
      { principalId, identityId: identityId as never },
      { appId: world.app.id },
    )
    const proof = { clientId: worker.account.clientId, clientSecret: worker.secret }
    const ofService = await clients.tokens.token({ grantType: "client_credentials", audience: "svc-notes", ...proof })
    const ofPat = await clients.tokens.token({ grantType: "pat", pat, audience: "svc-notes" })
    const delegated = await clients.tokens.token({
      ...{ grantType: "on_behalf_of", audience: "svc-notes", scope: "notes.write", jobId: "job-1", ...proof },
      ...{ subjectToken: session.notes, subjectTokenType: "urn:ietf:params:oauth:token-type:access_token" },
    })
    const told = { session: session.notes, service: ofService.accessToken, pat: ofPat.accessToken }
    const mine = await of(principalId)
    expect(mine.perm_ver - mine.pol_ver).toBeGreaterThanOrEqual(2)
    expect(claimsOf(told.session)).toMatchObject(mine)
    expect(claimsOf(told.pat)).toMatchObject(mine)
    expect(claimsOf(delegated.accessToken)).toMatchObject(mine)
    expect(claimsOf(told.service)).toMatchObject(await of(worker.account.principalId))
  })

  test.runIf(isLong)("has a version that increases with each change of authority, and with nothing else", async () => {
    const { admin, account } = clients
    const { principalId, refreshToken } = await ofPerson("bob")
    const tenantId = world.otherTenant.id
    const read = async () => {
      const facts = await server.store.liveness.find({
        ...{ principalId, appId: world.app.id, ...everywhere, nowMs: server.deps.clock.nowMs() },
        ...{ actorId: null, sessionId: null, credentialId: null, tokenId: null, issuedAtMs: 0 },
      } as never)
      return { current: facts.current as AuthorityVersions, minimum: facts.minimum }
    }
    /** Runs the call and returns the increased versions: "-" if the minimum increased too, otherwise "+". */
    const rise = async (call: () => Promise<unknown>): Promise<string> => {
      const before = await read()
      await call()
      const after = await read()
      return (["principal", "policy"] as const)
        .filter((part) => after.current[part] > before.current[part])
        .map((part) => `${part} ${after.minimum[part] > before.minimum[part] ? "-" : "+"}`)
        .join()
    }
    let made = { role: "", grant: "", membership: "", invitation: "", requested: "" }
    const role = (of: object, paths: string[]) => () =>
      admin.updateRole({ appId, roleId: made.role, role: of, updateMask: { paths } }, root())
    const scopes = async (permissions: string[]) => {
      const { app } = await admin.getApp({ appId }, root())
      const changed = (app?.scopes ?? []).map((scope) =>
        scope.key === "notes.write" ? { ...scope, permissions } : scope,
      )
      await admin.updateApp({ appId, app: { scopes: changed }, updateMask: { paths: ["scopes"] } }, root())
    }
    const member = (of: object, paths: string[]) => () =>
      admin.updateMembership({ appId, membershipId: made.membership, membership: of, updateMask: { paths } }, root())
    const inTenant = () => ({ appId, tenantId, principalId })
    let session = await refreshed(refreshToken)
    const me = async () => {
      session = await refreshed(session.refreshToken)
      return bearer(session.auth)
    }
    const key = "notes.note.drop"
    const steps: [string, string, () => Promise<unknown>][] = [
      ["CreatePermission", "policy +", () => admin.createPermission({ appId, permission: { key } }, root())],
      [
        "UpdatePermission",
        "",
        () => admin.updatePermission({ appId, permissionKey: key, permission: { description: "d" } }, root()),
      ],
      [
        "CreateRole",
        "policy +",
        async () => {
          const { role } = await admin.createRole({ appId, role: { key: "r", permissions: [editNote] } }, root())
          made = { ...made, role: role?.id ?? "" }
        },
      ],
      ["UpdateRole: description", "", role({ description: "d" }, ["description"])],
      ["UpdateRole: more", "policy +", role({ permissions: [editNote, key] }, ["permissions"])],
      ["UpdateRole: inheritable", "policy +", role({ inheritable: true }, ["inheritable"])],
      ["UpdateRole: less", "policy -", role({ permissions: [editNote] }, ["permissions"])],
      ["UpdateApp: a scope lets use more", "policy +", () => scopes([editNote, key])],
      ["UpdateApp: a scope lets use less", "policy -", () => scopes([editNote])],
      ["UpdateApp: name", "", () => admin.updateApp({ appId, app: { name: "N" } }, root())],
      [
        "CreateMembership",
        "principal +",
        async () => {
          const { membership } = await admin.createMembership(inTenant(), root())
          made = { ...made, membership: membership?.id ?? "" }
        },
      ],
      ["UpdateMembership: profile", "", member({ profile: { name: "Bob" } }, ["profile"])],
      ["UpdateMembership: more", "principal +", member({ scopes: ["notes.write"] }, ["scopes"])],
      ["UpdateMembership: less", "principal -", member({ scopes: [] }, ["scopes"])],
      [
        "SuspendMembership",
        "principal -",
        () => admin.suspendMembership({ appId, membershipId: made.membership }, root()),
      ],
      [
        "ResumeMembership",
        "principal +",
        () => admin.resumeMembership({ appId, membershipId: made.membership }, root()),
      ],
      [
        "CreateGrant",
        "principal +",
        async () => {
          const { grant } = await admin.createGrant({ appId, principalId, roleId: made.role }, root())
          made = { ...made, grant: grant?.id ?? "" }
        },
      ],
      ["RevokeGrant", "principal -", () => admin.revokeGrant({ appId, grantId: made.grant }, root())],
      ["RevokeGrant again", "", () => admin.revokeGrant({ appId, grantId: made.grant }, root())],
      ["CreateGrant again", "principal +", () => admin.createGrant({ appId, principalId, roleId: made.role }, root())],
      ["ArchiveRole", "policy -", () => admin.archiveRole({ appId, roleId: made.role }, root())],
      ["DeletePermission", "policy +", () => admin.deletePermission({ appId, permissionKey: key }, root())],
      [
        "RemoveMembership",
        "principal -",
        () => admin.removeMembership({ appId, membershipId: made.membership }, root()),
      ],
      [
        "InviteMember",
        "",
        async () => {
          const { invitation } = await admin.inviteMember(inTenant(), root())
          made = { ...made, invitation: invitation?.id ?? "" }
        },
      ],
      ["RevokeInvitation", "", () => admin.revokeInvitation({ appId, invitationId: made.invitation }, root())],
      [
        "RequestMembership",
        "",
        async () => {
          const { membership } = await account.requestMembership({ tenantId }, await me())
          made = { ...made, requested: membership?.id ?? "" }
        },
      ],
      ["RejectMembership", "", () => admin.rejectMembership({ appId, membershipId: made.requested }, root())],
      [
        "AcceptInvitation",
        "principal +",
        async () => {
          const { code } = await admin.inviteMember(inTenant(), root())
          const { membership } = await account.acceptInvitation({ code }, await me())
          made = { ...made, membership: membership?.id ?? "" }
        },
      ],
      [
        "LeaveMembership",
        "principal -",
        async () => account.leaveMembership({ membershipId: made.membership }, await me()),
      ],
      ["SuspendTenant", "", () => admin.suspendTenant({ appId, tenantId }, root())],
      ["ResumeTenant", "", () => admin.resumeTenant({ appId, tenantId }, root())],
      ["CreateContext", "", () => admin.createContext({ appId, context: { type: "t", name: "n" } }, root())],
      ["SuspendPrincipal", "principal +", () => admin.suspendPrincipal({ principalId }, root())],
      ["ResumePrincipal", "principal +", () => admin.resumePrincipal({ principalId }, root())],
      ["DeactivatePrincipal", "principal +", () => admin.deactivatePrincipal({ principalId }, root())],
      ["ReactivatePrincipal", "principal +", () => admin.reactivatePrincipal({ principalId }, root())],
    ]
    const risen: string[][] = []
    for (const [name, , call] of steps) risen.push([name, await rise(call)])
    expect(risen).toEqual(steps.map(([name, expected]) => [name, expected]))
  })
})
