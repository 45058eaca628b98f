import type { Mutant } from "./mutant.ts"

const kernel = "server/kernel/administration"
const places = { file: "server/kernel/authz/admin-reach.ts", test: "server/kernel/authz/admin-reach.test.ts" }
const scopes = { file: `${kernel}/scopes.ts`, test: `${kernel}/scopes.test.ts` }
const masks = { file: "server/rpc/field-mask.ts", test: "server/rpc/field-mask.test.ts" }
const moves = { file: `${kernel}/moves.ts`, test: `${kernel}/moves.test.ts` }
const writes = "test/attack/administrative-writes.test.ts"
const removed = {
  file: "server/rpc/admin/membership.ts",
  test: "test/attack/removed-members.test.ts",
  name: "a member who was removed loses their personal access token and delegation there, also after a return",
  row: "a member who %s loses their personal access token and delegation there, also after a return",
}
const declined = {
  file: "server/rpc/account/invitations.ts",
  test: "test/story/administration-states.test.ts",
  name: "a declined invitation ends with its membership, and does not block the next one",
}

/** Mutants of the administration rules: who administers what, and which values an administrator may set or grant. */
export const administrationMutants: readonly Mutant[] = [
  {
    fault: "an outdated etag overwrites the change of another administrator",
    file: "server/rpc/admin/roles.ts",
    from: "refuseStale(schema, current, change.values)",
    to: "",
    test: "test/story/etags.test.ts",
    name: "refuses an outdated update of a record: role",
    row: "refuses an outdated update of a record: %s",
  },
  {
    fault: "a replaced secret leaves the etag unchanged",
    file: "server/rpc/admin/provider-client/provider-client-shape.ts",
    from: "encode(of.clientSecretSealed ?? new Uint8Array())",
    to: '""',
    test: "test/story/etags.test.ts",
    name: "changes with a secret that no response contains",
  },
  {
    fault: "an administrator gets a credential of scopes that they lack",
    file: "server/rpc/service-account/administer.ts",
    from: "options.gives && !mayHaveCredential(account, administrator.scopes)",
    to: "false",
    test: "test/story/service-account-rights.test.ts",
    name: "of scopes that an administrator lacks gives them no credential",
  },
  {
    fault: "a tenant's administrator administers the app",
    from: "caller.tenantId !== null && place.tenantId !== caller.tenantId",
    to: "caller.tenantId !== null && place.tenantId !== null && place.tenantId !== caller.tenantId",
    name: "of a tenant does not reach the app",
    ...places,
  },
  {
    fault: "an app is another to its provider",
    file: `${kernel}/provider.ts`,
    from: "asked.audiences.some(isTaken)",
    to: "asked.audiences.every(isTaken)",
    test: `${kernel}/provider.test.ts`,
    name: "cannot use another app's client id or audience",
  },
  {
    fault: "who was sent away comes back by an invitation of their own",
    file: `${kernel}/inviter.ts`,
    from: 'inviter.principal?.status !== "ACTIVE"',
    to: "inviter.principal === undefined",
    test: `${kernel}/inviter.test.ts`,
    name: "nobody who is suspended",
  },
  {
    fault: "whoever administers members makes anybody an administrator",
    from: "!isOwnKey(key) || mayAdd(key, grounds.held)",
    to: "!isOwnKey(key) || grounds.held.size > 0",
    name: "are more than the caller holds",
    ...scopes,
  },
  {
    fault: "an app's administrator gives it scopes of this service",
    from: "!isInstallationAdmin && ownScopes(asked)",
    to: "isInstallationAdmin && ownScopes(asked)",
    name: "are one more of this service's",
    ...scopes,
  },
  {
    fault: "what the service sets is only refused when the mask names it",
    from: 'refuseClosed(desc, values, "update", path)\n  const from',
    to: "const from",
    name: "is refused that sets a field that the service sets, outside the mask",
    row: "sets a field that the service sets, outside the mask",
    ...masks,
  },
  {
    fault: "what the service sets is changed by its name in a mask",
    from: 'if (isClosed(field, "update")) {',
    to: 'if (false && isClosed(field, "update")) {',
    name: "is refused that names a field that the service sets",
    row: "names a field that the service sets",
    ...masks,
  },
  {
    fault: "an invitation is accepted by who approves requests",
    from: 'approve: { from: ["REQUESTED"]',
    to: 'approve: { from: ["REQUESTED", "INVITED"]',
    name: "approve: - g s - - - - -",
    row: 'approve: "- g s - - - - -"',
    ...moves,
  },
  {
    fault: "a secret is kept as it came",
    file: "server/rpc/admin/provider-client/provider-secrets.ts",
    from: 'text === "" ? null : secrets.seal(label, bytesOf(text))',
    to: 'text === "" ? null : (void label, bytesOf(text))',
    test: writes,
    name: "of a provider client is stored and never returned",
  },
  {
    fault: "a suspension leaves nothing in the audit",
    file: "server/rpc/admin/place-resource.ts",
    from: "      await record(admin, kind, updated)\n",
    to: "",
    test: writes,
    name: "SuspendTenant",
  },
  {
    fault: "a delegation outlives the membership that it was given in",
    from: "for (const { id } of delegations) await tx.delegations.revokeDelegation(id, nowMs)",
    to: "void delegations",
    ...removed,
  },
  {
    fault: "a removal ends what its member made elsewhere in the app",
    from: "one.revokedAtMs === null && isInside(one, membership)",
    to: "one.revokedAtMs === null",
    ...removed,
  },
  {
    fault: "a removal ends what its member was granted elsewhere in the app",
    from: "if (isInside(grant, membership)) await",
    to: "await",
    ...removed,
  },
  {
    fault: "a removal ends memberships that are not inside",
    from: " || !isInside(inner, membership)",
    to: "",
    ...removed,
  },
  {
    fault: "tokens of a delegation that ended with a membership are not revoked",
    from: "[...pats, ...delegations].map",
    to: "pats.map",
    ...removed,
  },
  {
    fault: "whoever leaves keeps tokens of the place",
    ...removed,
    file: "server/rpc/account/memberships.ts",
    from: "    await removeInside(self, membership)\n",
    to: "",
    name: "a member who left loses their personal access token and delegation there, also after a return",
  },
  {
    fault: "an invitation that was declined waits for an answer",
    from: '{ ...invitation, status: "DECLINED", answeredAtMs: nowMs }',
    to: "{ ...invitation, answeredAtMs: nowMs }",
    ...declined,
  },
  {
    fault: "a membership outlives the invitation that was declined",
    from: '{ ...membership, status: "DECLINED", updatedAtMs: nowMs }',
    to: "{ ...membership, updatedAtMs: nowMs }",
    ...declined,
  },
  {
    ...declined,
    fault: "an invitation is declined from another app",
    from: "const answering = { invitation, appId: user.appId,",
    to: "const answering = { invitation, appId: invitation?.appId ?? user.appId,",
    name: "an invitation is answered in its own app, and accepted only while its tenant is active",
  },
  {
    ...declined,
    fault: "an invitation is accepted from another app",
    from: "{ invitation, appId: user.appId, principalId: principal.id, membership, tenantMembership, nowMs }",
    to: "{ invitation, appId: invitation.appId, principalId: principal.id, membership, tenantMembership, nowMs }",
    name: "an invitation is answered in its own app, and accepted only while its tenant is active",
  },
  {
    fault: "a known person accepts the invitation of an inviter who lost the scope",
    file: "server/rpc/account/invitations.ts",
    from: "await withCurrentAuthority(deps, tx, await lockInvitation(self, codeText))",
    to: "await lockInvitation(self, codeText)",
    test: "test/attack/app-administrators.test.ts",
    name: "for a known person is refused once its inviter lost the scope, and they gain none",
  },
]
