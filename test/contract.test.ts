// What the contract promises and no compiler sees: paths, requirements, reasons, and every route that is served.
import { readFileSync } from "node:fs"
import { type DescMethod, getOption } from "@bufbuild/protobuf"
import { requirementOf } from "@signet/guard/requirement"
import { buildDenial } from "@signet/kernel/audit/denial"
import { describe as describeRequirement, type Requirement } from "@signet/kernel/authz/requirement"
import { refusals } from "@signet/kernel/errors"
import { newId } from "@signet/kernel/ids"
import { ProviderSchema } from "@signet/proto/auth/v1/records"
import { ReasonSchema } from "@signet/proto/authz/v1/reason"
import { http } from "@signet/proto/google/api/annotations"
import { describe, expect, test } from "vitest"
import { services } from "../server/node/routes.ts"
import { bindingsOf, routeOf } from "../server/serving/rest/http-rule.ts"

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), "utf8")
const methods: DescMethod[] = services.flatMap((service) => service.methods)

/** A requirement in one line. */
function described(requirement: Requirement): string {
  switch (requirement.is) {
    case "kinds":
      return requirement.of.join(" or ")
    case "scope":
      return `scope ${requirement.scope}`
    case "device":
      return requirement.proof ? "device proof" : "device"
    case "allOf":
      return requirement.of.map(described).join(" and ")
    default:
      return requirement.is
  }
}

// The specification's endpoints as far as they are served, each with what it asks of its caller.
const restRoutes = [
  "DELETE /auth/apps/{app_id}/permissions/{permission_key}: AppAuthService.DeletePermission, scope auth.roles.write",
  "GET /.well-known/context-keys.json: TokenService.GetContextKeys, public",
  "GET /.well-known/jwks.json: TokenService.GetJwks, public",
  "GET /.well-known/oauth-authorization-server: TokenService.GetAuthorizationServerMetadata, public",
  "GET /.well-known/statement-keys.json: TokenService.GetStatementKeys, public",
  "GET /auth/account/export: AccountService.ExportIdentity, USER",
  "GET /auth/account/provider-accounts: AccountService.ListProviderAccounts, USER",
  "GET /auth/apps/{app_id}/contexts/{context_id}: AppAuthService.GetContext, scope auth.tenants.read",
  "GET /auth/apps/{app_id}/contexts: AppAuthService.ListContexts, scope auth.tenants.read",
  "GET /auth/apps/{app_id}/grants/{grant_id}: AppAuthService.GetGrant, scope auth.grants.read",
  "GET /auth/apps/{app_id}/grants: AppAuthService.ListGrants, scope auth.grants.read",
  "GET /auth/apps/{app_id}/invitations: AppAuthService.ListInvitations, scope auth.members.read",
  "GET /auth/apps/{app_id}/memberships/{membership_id}: AppAuthService.GetMembership, scope auth.members.read",
  "GET /auth/apps/{app_id}/memberships: AppAuthService.ListMemberships, scope auth.members.read",
  "GET /auth/apps/{app_id}/permissions: AppAuthService.ListPermissions, scope auth.roles.read",
  "GET /auth/apps/{app_id}/principals/{principal_id}/sessions: AppAuthService.ListPrincipalSessions, scope auth.members.read",
  "GET /auth/apps/{app_id}/provider-clients/{provider_client_id}: AppAuthService.GetProviderClient, scope auth.apps.read",
  "GET /auth/apps/{app_id}/provider-clients: AppAuthService.ListProviderClients, scope auth.apps.read",
  "GET /auth/apps/{app_id}/roles/{role_id}: AppAuthService.GetRole, scope auth.roles.read",
  "GET /auth/apps/{app_id}/roles: AppAuthService.ListRoles, scope auth.roles.read",
  "GET /auth/apps/{app_id}/tenants/{tenant_id}: AppAuthService.GetTenant, scope auth.tenants.read",
  "GET /auth/apps/{app_id}/tenants: AppAuthService.ListTenants, scope auth.tenants.read",
  "GET /auth/apps/{app_id}: AppAuthService.GetApp, scope auth.apps.read",
  "GET /auth/apps: AppAuthService.ListApps, scope auth.apps.read",
  "GET /auth/audit-checkpoints: AuditService.ListAuditCheckpoints, scope auth.audit.read",
  "GET /auth/audit-event-counts: AuditService.CountAuditEvents, scope auth.audit.read",
  "GET /auth/audit-events: AuditService.ListAuditEvents, scope auth.audit.read",
  "GET /auth/audit-links: AuditService.ListAuditLinks, scope auth.audit.read",
  "GET /auth/delegation-policies/{policy_id}/delegations: DelegationService.ListPolicyDelegations, USER and scope auth.delegation.write",
  "GET /auth/delegation-policies: DelegationService.ListDelegationPolicies, USER and scope auth.delegation.write",
  "GET /auth/delegations: DelegationService.ListDelegations, USER",
  "GET /auth/envelope-certificates/{kid}: ServiceAccountService.GetEnvelopeCertificate, SERVICE",
  "GET /auth/limits: AppAuthService.GetLimits, scope auth.principals.read",
  "GET /auth/locked-principals: AppAuthService.ListLockedPrincipals, scope auth.principals.read",
  "GET /auth/lockouts: AppAuthService.ListLockouts, scope auth.principals.read",
  "GET /auth/pats: PatService.ListPats, USER",
  "GET /auth/permissions/{principal_id}: PermissionService.GetPermissionSnapshot, SERVICE and scope auth.permissions.read",
  "GET /auth/principals/{principal_id}: AppAuthService.GetPrincipal, scope auth.principals.read",
  "GET /auth/revocations/snapshot: RevocationService.GetRevocationSnapshot, SERVICE and scope auth.revocations.read",
  "GET /auth/revocations: RevocationService.ListRevocations, SERVICE and scope auth.revocations.read",
  "GET /auth/service-accounts/{service_account_id}/envelope-keys: ServiceAccountService.ListEnvelopeKeys, USER and scope auth.service_accounts.read",
  "GET /auth/service-accounts/{service_account_id}: ServiceAccountService.GetServiceAccount, USER and scope auth.service_accounts.read",
  "GET /auth/service-accounts: ServiceAccountService.ListServiceAccounts, USER and scope auth.service_accounts.read",
  "GET /auth/session/me: AuthService.Me, USER",
  "GET /auth/session/sessions: SessionService.ListSessions, USER",
  "GET /auth/sign-in-options: AuthService.ListSignInOptions, public",
  "GET /security/archives/{archive_id}/chunks/{index}: ArchiveService.ReadChunk, USER and scope messaging.read and device",
  "GET /security/archives: ArchiveService.ListArchives, USER and scope messaging.read and device",
  "GET /security/attachments/{attachment_id}/parts/{index}: AttachmentService.DownloadPart, USER and scope messaging.read and device",
  "GET /security/attachments/{attachment_id}: AttachmentService.GetAttachment, USER and scope messaging.read and device",
  "GET /security/blocked-users: BlockService.ListBlockedUsers, USER and scope messaging.read and device",
  "GET /security/conversations/{conversation_id}/directives: ConversationService.ListDirectives, USER and scope messaging.read and device",
  "GET /security/conversations/{conversation_id}/group-info: ConversationService.GetGroupInfo, USER and scope messaging.read and device",
  "GET /security/conversations/{conversation_id}/messages: ConversationService.ListMessages, USER and scope messaging.read and device",
  "GET /security/conversations/{conversation_id}/trees/{tree_hash}: ConversationService.GetTree, USER and scope messaging.read and device",
  "GET /security/conversations/{conversation_id}: ConversationService.GetConversation, USER and scope messaging.read and device",
  "GET /security/conversations: ConversationService.ListConversations, USER and scope messaging.read and device",
  "GET /security/device-lists: DeviceService.ListDeviceLists, USER and scope messaging.read",
  "GET /security/devices: DeviceService.ListDevices, USER and scope messaging.read",
  "GET /security/issuer-keys: DeviceService.GetIssuerKeys, public",
  "GET /security/key-packages: KeyPackageService.GetInventory, USER and scope messaging.read and device",
  "GET /security/limits: ConversationService.GetLimits, public",
  "GET /security/push-settings: PushService.GetPushSettings, USER and scope messaging.read and device",
  "GET /security/users/{user_id}/devices: DeviceService.ListUserDevices, USER and scope messaging.devices.read",
  "GET /security/welcomes: WelcomeService.ListWelcomes, USER and scope messaging.read and device",
  "PATCH /auth/apps/{app_id}/contexts/{context_id}: AppAuthService.UpdateContext, scope auth.tenants.write",
  "PATCH /auth/apps/{app_id}/memberships/{membership_id}: AppAuthService.UpdateMembership, scope auth.members.write",
  "PATCH /auth/apps/{app_id}/permissions/{permission_key}: AppAuthService.UpdatePermission, scope auth.roles.write",
  "PATCH /auth/apps/{app_id}/provider-clients/{provider_client_id}: AppAuthService.UpdateProviderClient, scope auth.apps.write",
  "PATCH /auth/apps/{app_id}/roles/{role_id}: AppAuthService.UpdateRole, scope auth.roles.write",
  "PATCH /auth/apps/{app_id}/tenants/{tenant_id}: AppAuthService.UpdateTenant, scope auth.tenants.write",
  "PATCH /auth/apps/{app_id}: AppAuthService.UpdateApp, scope auth.apps.write",
  "POST /auth/access/explain: AuditService.ExplainAccess, scope auth.audit.read and scope auth.grants.read and scope auth.roles.read",
  "POST /auth/account/deletion: AccountService.RequestIdentityDeletion, USER",
  "POST /auth/account/invitations/accept: AccountService.AcceptInvitation, USER",
  "POST /auth/account/invitations/decline: AccountService.DeclineInvitation, USER",
  "POST /auth/account/memberships/{membership_id}:leave: AccountService.LeaveMembership, USER",
  "POST /auth/account/memberships: AccountService.RequestMembership, USER",
  "POST /auth/account/provider-accounts/{provider_account_id}:unlink: AccountService.UnlinkProviderAccount, USER",
  "POST /auth/account/provider-accounts: AccountService.LinkProviderAccount, USER",
  "POST /auth/apps/{app_id}/contexts/{context_id}:archive: AppAuthService.ArchiveContext, scope auth.tenants.write",
  "POST /auth/apps/{app_id}/contexts/{context_id}:resume: AppAuthService.ResumeContext, scope auth.tenants.write",
  "POST /auth/apps/{app_id}/contexts/{context_id}:suspend: AppAuthService.SuspendContext, scope auth.tenants.write",
  "POST /auth/apps/{app_id}/contexts: AppAuthService.CreateContext, scope auth.tenants.write",
  "POST /auth/apps/{app_id}/grants/{grant_id}:revoke: AppAuthService.RevokeGrant, scope auth.grants.write",
  "POST /auth/apps/{app_id}/grants: AppAuthService.CreateGrant, scope auth.grants.write",
  "POST /auth/apps/{app_id}/invitations/{invitation_id}:revoke: AppAuthService.RevokeInvitation, scope auth.members.write",
  "POST /auth/apps/{app_id}/invitations: AppAuthService.InviteMember, scope auth.members.write",
  "POST /auth/apps/{app_id}/memberships/{membership_id}:approve: AppAuthService.ApproveMembership, scope auth.members.write",
  "POST /auth/apps/{app_id}/memberships/{membership_id}:reject: AppAuthService.RejectMembership, scope auth.members.write",
  "POST /auth/apps/{app_id}/memberships/{membership_id}:remove: AppAuthService.RemoveMembership, scope auth.members.write",
  "POST /auth/apps/{app_id}/memberships/{membership_id}:resume: AppAuthService.ResumeMembership, scope auth.members.write",
  "POST /auth/apps/{app_id}/memberships/{membership_id}:suspend: AppAuthService.SuspendMembership, scope auth.members.write",
  "POST /auth/apps/{app_id}/memberships: AppAuthService.CreateMembership, scope auth.members.write",
  "POST /auth/apps/{app_id}/permissions: AppAuthService.CreatePermission, scope auth.roles.write",
  "POST /auth/apps/{app_id}/principals/{principal_id}:revokeSessions: AppAuthService.RevokePrincipalSessions, scope auth.members.write",
  "POST /auth/apps/{app_id}/provider-clients/{provider_client_id}:disable: AppAuthService.DisableProviderClient, scope auth.apps.write",
  "POST /auth/apps/{app_id}/provider-clients/{provider_client_id}:enable: AppAuthService.EnableProviderClient, scope auth.apps.write",
  "POST /auth/apps/{app_id}/provider-clients: AppAuthService.CreateProviderClient, scope auth.apps.write",
  "POST /auth/apps/{app_id}/roles/{role_id}:archive: AppAuthService.ArchiveRole, scope auth.roles.write",
  "POST /auth/apps/{app_id}/roles: AppAuthService.CreateRole, scope auth.roles.write",
  "POST /auth/apps/{app_id}/sessions/{session_id}:revoke: AppAuthService.RevokePrincipalSession, scope auth.members.write",
  "POST /auth/apps/{app_id}/tenants/{tenant_id}:archive: AppAuthService.ArchiveTenant, scope auth.tenants.write",
  "POST /auth/apps/{app_id}/tenants/{tenant_id}:resume: AppAuthService.ResumeTenant, scope auth.tenants.write",
  "POST /auth/apps/{app_id}/tenants/{tenant_id}:suspend: AppAuthService.SuspendTenant, scope auth.tenants.write",
  "POST /auth/apps/{app_id}/tenants: AppAuthService.CreateTenant, scope auth.tenants.write",
  "POST /auth/apps/{app_id}:archive: AppAuthService.ArchiveApp, scope auth.apps.write",
  "POST /auth/apps/{app_id}:resume: AppAuthService.ResumeApp, scope auth.apps.write",
  "POST /auth/apps/{app_id}:suspend: AppAuthService.SuspendApp, scope auth.apps.write",
  "POST /auth/apps: AppAuthService.CreateApp, scope auth.apps.write",
  "POST /auth/delegation-policies/{policy_id}/delegations/{delegation_id}:revoke: DelegationService.RevokePolicyDelegation, USER and scope auth.delegation.write",
  "POST /auth/delegation-policies/{policy_id}:revoke: DelegationService.RevokeDelegationPolicy, USER and scope auth.delegation.write",
  "POST /auth/delegation-policies: DelegationService.CreateDelegationPolicy, USER and scope auth.delegation.write",
  "POST /auth/delegations/{delegation_id}:revoke: DelegationService.RevokeDelegation, USER",
  "POST /auth/delegations: DelegationService.CreateDelegation, USER",
  "POST /auth/lockouts/{lockout_id}:lift: AppAuthService.LiftLockout, scope auth.principals.write",
  "POST /auth/login/email: AuthService.EmailPasswordLogin, public",
  "POST /auth/login/idp-a: AuthService.ExternalLogin, public",
  "POST /auth/login/idp-b: AuthService.ExternalLogin, public",
  "POST /auth/login/idp-c: AuthService.ExternalLogin, public",
  "POST /auth/login/start: AuthService.StartSignIn, public",
  "POST /auth/magic-link/confirm: AuthService.ConfirmMagicLink, public",
  "POST /auth/magic-link/start: AuthService.StartMagicLink, public",
  "POST /auth/pats/exchange: PatService.ExchangePat, bodyCredential",
  "POST /auth/pats/{pat_id}:revoke: PatService.RevokePat, USER",
  "POST /auth/pats: PatService.CreatePat, USER",
  "POST /auth/principals/{principal_id}:deactivate: AppAuthService.DeactivatePrincipal, scope auth.principals.write",
  "POST /auth/principals/{principal_id}:lock: AppAuthService.LockPrincipal, scope auth.principals.write",
  "POST /auth/principals/{principal_id}:reactivate: AppAuthService.ReactivatePrincipal, scope auth.principals.write",
  "POST /auth/principals/{principal_id}:resume: AppAuthService.ResumePrincipal, scope auth.principals.write",
  "POST /auth/principals/{principal_id}:suspend: AppAuthService.SuspendPrincipal, scope auth.principals.write",
  "POST /auth/principals/{principal_id}:unlock: AppAuthService.UnlockPrincipal, scope auth.principals.write",
  "POST /auth/provider-accounts/{provider_account_id}:block: AppAuthService.BlockProviderAccount, scope auth.principals.write",
  "POST /auth/provider-accounts/{provider_account_id}:unblock: AppAuthService.UnblockProviderAccount, scope auth.principals.write",
  "POST /auth/service-accounts/{service_account_id}/envelope-keys/{kid}:revoke: ServiceAccountService.RevokeEnvelopeKey, USER and scope auth.service_accounts.write",
  "POST /auth/service-accounts/{service_account_id}/envelope-keys: ServiceAccountService.AddEnvelopeKey, USER and scope auth.service_accounts.write",
  "POST /auth/service-accounts/{service_account_id}/keys/{kid}:revoke: ServiceAccountService.RevokeKey, USER and scope auth.service_accounts.write",
  "POST /auth/service-accounts/{service_account_id}/keys: ServiceAccountService.AddKey, USER and scope auth.service_accounts.write",
  "POST /auth/service-accounts/{service_account_id}/secrets/{secret_id}:revoke: ServiceAccountService.RevokeSecret, USER and scope auth.service_accounts.write",
  "POST /auth/service-accounts/{service_account_id}/secrets: ServiceAccountService.AddSecret, USER and scope auth.service_accounts.write",
  "POST /auth/service-accounts/{service_account_id}:disable: ServiceAccountService.DisableServiceAccount, USER and scope auth.service_accounts.write",
  "POST /auth/service-accounts/{service_account_id}:enable: ServiceAccountService.EnableServiceAccount, USER and scope auth.service_accounts.write",
  "POST /auth/service-accounts/{service_account_id}:rotateSecret: ServiceAccountService.RotateSecret, USER and scope auth.service_accounts.write",
  "POST /auth/service-accounts: ServiceAccountService.CreateServiceAccount, USER and scope auth.service_accounts.write",
  "POST /auth/session/logout-all: AuthService.LogoutAll, USER",
  "POST /auth/session/logout: AuthService.Logout, bodyCredential",
  "POST /auth/session/refresh: AuthService.Refresh, bodyCredential",
  "POST /auth/session/sessions/{session_id}:revoke: SessionService.RevokeSession, USER",
  "POST /auth/token/introspect: TokenService.Introspect, bodyCredential",
  "POST /auth/token/revoke: TokenService.Revoke, bodyCredential",
  "POST /auth/token: TokenService.Token, bodyCredential",
  "POST /auth/users/find: AppAuthService.FindUsers, scope auth.identities.read",
  "POST /auth/webhooks/idp-b: ProviderNotificationService.NotifyIdpB, bodyCredential",
  "POST /security/archives/{archive_id}/chunks/{index}: ArchiveService.AppendChunk, USER and scope messaging.write and device proof",
  "POST /security/archives/{archive_id}:complete: ArchiveService.CompleteArchive, USER and scope messaging.write and device proof",
  "POST /security/archives/{archive_id}:delete: ArchiveService.DeleteArchive, USER and scope messaging.write and device proof",
  "POST /security/archives/{archive_id}:grant: ArchiveService.GrantTransfer, USER and scope messaging.write and device proof",
  "POST /security/archives: ArchiveService.CreateArchive, USER and scope messaging.write and device proof",
  "POST /security/attachments/{attachment_id}/parts/{index}: AttachmentService.UploadPart, USER and scope messaging.write and device proof",
  "POST /security/attachments/{attachment_id}/parts/{index}:presign: AttachmentService.PresignPart, USER and scope messaging.write and device proof",
  "POST /security/attachments/{attachment_id}:complete: AttachmentService.CompleteAttachment, USER and scope messaging.write and device proof",
  "POST /security/attachments/{attachment_id}:delete: AttachmentService.DeleteAttachment, USER and scope messaging.write and device proof",
  "POST /security/conversations/{conversation_id}/attachments: AttachmentService.CreateAttachment, USER and scope messaging.write and device proof",
  "POST /security/conversations/{conversation_id}/cursor: ConversationService.AckMessages, USER and scope messaging.write and device",
  "POST /security/conversations/{conversation_id}/directives/{directive_id}:lease: ConversationService.LeaseDirective, USER and scope messaging.write and device proof",
  "POST /security/conversations/{conversation_id}/fork-reports: ConversationService.ReportFork, USER and scope messaging.write and device proof",
  "POST /security/conversations/{conversation_id}/membership-proofs: ConversationService.AuthorizeMembership, USER and scope messaging.write and device proof",
  "POST /security/conversations/{conversation_id}/messages: ConversationService.AppendMessage, USER and scope messaging.write and device proof",
  "POST /security/conversations/{conversation_id}:leave: ConversationService.LeaveConversation, USER and scope messaging.write and device proof",
  "POST /security/conversations/{conversation_id}:rejoin: ConversationService.RequestRejoin, USER and scope messaging.write and device proof",
  "POST /security/conversations/{conversation_id}:resubmit: ConversationService.ResubmitMessages, USER and scope messaging.write and device proof",
  "POST /security/conversations: ConversationService.CreateConversation, USER and scope messaging.write and device proof",
  "POST /security/devices/register: DeviceService.RegisterDevice, USER and scope messaging.write",
  "POST /security/devices/{device_id}:renew: DeviceService.RenewCredential, USER and scope messaging.write and device proof",
  "POST /security/devices/{device_id}:revoke: DeviceService.RevokeDevice, USER and scope messaging.write",
  "POST /security/key-packages/claim: KeyPackageService.ClaimKeyPackages, USER and scope messaging.write and device proof",
  "POST /security/key-packages/retire: KeyPackageService.RetireKeyPackages, USER and scope messaging.write and device proof",
  "POST /security/key-packages: KeyPackageService.UploadKeyPackages, USER and scope messaging.write and device proof",
  "POST /security/push-endpoint/delete: PushService.DeletePushEndpoint, USER and scope messaging.write and device proof",
  "POST /security/push-endpoint: PushService.SetPushEndpoint, USER and scope messaging.write and device proof",
  "POST /security/users/{user_id}:block: BlockService.BlockUser, USER and scope messaging.write and device proof",
  "POST /security/users/{user_id}:revokeDevices: DeviceService.RevokeUserDevices, USER and scope messaging.devices.write",
  "POST /security/users/{user_id}:unblock: BlockService.UnblockUser, USER and scope messaging.write and device proof",
  "POST /security/welcomes/{welcome_id}/consume: WelcomeService.ConsumeWelcome, USER and scope messaging.write and device proof",
]
// What only backends call has no path.
const withoutPath = [
  "RevocationService.WatchRevocations: SERVICE and scope auth.revocations.read",
  "AuthorityService.IssueCredential: SERVICE and scope auth.messaging.backend",
  "AuthorityService.SignDeviceList: SERVICE and scope auth.messaging.backend",
  "AuthorityService.IssueProof: SERVICE and scope auth.messaging.backend",
  "AuthorityService.GetIssuerKeySet: SERVICE and scope auth.messaging.backend",
  "AuthorityService.ListActiveUsers: SERVICE and scope auth.messaging.backend",
  "AuthorityService.GetSession: SERVICE and scope auth.messaging.backend",
  "AuthorityService.ChangeSessions: SERVICE and scope auth.messaging.backend",
  "AuthorityService.WriteAuditEvents: SERVICE and scope auth.messaging.backend",
  "ConversationService.Subscribe: USER and scope messaging.read and device",
  "TransferService.GetPlace: SERVICE and scope messaging.transfer",
  "TransferService.ChangePlace: SERVICE and scope messaging.transfer",
  "TransferService.ExportPage: SERVICE and scope messaging.transfer",
  "TransferService.ImportPage: SERVICE and scope messaging.transfer",
]

const nameOf = ({ parent, name }: DescMethod) => `${parent.name}.${name}`

describe("the route table", () => {
  test("is the specification's", () => {
    const routes = methods.flatMap((method) =>
      bindingsOf(method).map(
        (binding) => `${binding.verb} ${routeOf(binding)}: ${nameOf(method)}, ${described(requirementOf(method))}`,
      ),
    )
    expect(routes.toSorted()).toEqual(restRoutes)
  })

  test("omits only methods without a path in the specification", () => {
    const others = methods.filter((method) => getOption(method, http).pattern.case === undefined)
    expect(others.map((method) => `${nameOf(method)}: ${described(requirementOf(method))}`)).toEqual(withoutPath)
  })

  test("is the same in the OpenAPI document", () => {
    const { paths } = JSON.parse(read("gen/openapi/openapi.json"))
    const served = Object.entries<Record<string, { operationId: string; security: unknown[] }>>(paths)
    const documented = served.flatMap(([path, operations]) =>
      Object.entries(operations).map(
        ([verb, { operationId, security }]) =>
          `${verb.toUpperCase()} ${path}: ${operationId.replace("_", ".").replace(/_\d$/, "")}, ${JSON.stringify(security)}`,
      ),
    )
    const securityOf: Record<string, string> = {
      public: "[]",
      bodyCredential: `[{},{"bearer":[]}]`,
      USER: `[{"bearer":[]}]`,
    }
    const expected = restRoutes.map((route) => {
      const [named = "", requirement = ""] = route.split(", ")
      const path = named.replaceAll(
        /\{(\w+)\}/g,
        (_, name: string) => `{${name.replace(/_(.)/g, (_, c: string) => c.toUpperCase())}}`,
      )
      return `${path}, ${securityOf[requirement] ?? `[{"bearer":[]}]`}`
    })
    expect(documented.toSorted()).toEqual(expected.toSorted())
  })
})

test("the event of a denial has room for each requirement", () => {
  const caller = {
    principal: { id: newId("prn", 0, new Uint8Array(10)), kind: "USER" },
    audience: "",
    authTimeMs: null,
  } as const
  const requirements = methods.map(requirementOf)
  expect(requirements.map((one) => buildDenial(one, caller).requirement)).toEqual(requirements.map(describeRequirement))
})

describe("a method", () => {
  test.each(methods.map((method) => [nameOf(method), method] as const))("%s states its requirement", (_, method) => {
    expect(() => requirementOf(method)).not.toThrow()
  })

  test.each(methods.map((method) => [nameOf(method), method] as const))(
    "%s names only reasons that exist",
    (_, method) => {
      const file = read(`proto/${method.parent.file.name}.proto`)
      const comment =
        file
          .slice(0, file.indexOf(`  rpc ${method.name}(`))
          .split("\n\n")
          .at(-1) ?? ""
      const named = [...comment.matchAll(/\b[A-Z]+(?:_[A-Z]+)+\b/g)].map(([word]) => word)
      expect(named.filter((word) => !Object.hasOwn(refusals, word) && !isCode(word) && !isProvider(word))).toEqual([])
    },
  )
})

describe("the comment of a method", () => {
  const words: Record<string, string> = { public: "no credential", bodyCredential: "a credential in the request" }

  test.each(methods.map((method) => [nameOf(method), method] as const))(
    "%s has its requirement and paths",
    (_, method) => {
      const file = read(`proto/${method.parent.file.name}.proto`)
      const before = file.slice(0, file.indexOf(`  rpc ${method.name}(`))
      const comment = before.split("\n\n").at(-1) ?? ""
      const requirement = described(requirementOf(method))
      const isRest = getOption(method, http).pattern.case !== undefined
      const paths = isRest ? bindingsOf(method).map((binding) => `${binding.verb} ${routeOf(binding)}`) : []
      const lines = [...comment.matchAll(/^ {2}\/\/ ((?:Requires|REST): .+)$/gm)].map(([, line]) => line)
      const expected = [`Requires: ${words[requirement] ?? requirement}.`]
      expect(lines).toEqual(isRest ? [...expected, `REST: ${paths.join(", ")}.`] : expected)
    },
  )
})

const isProvider = (word: string): boolean => ProviderSchema.values.some(({ name }) => name === word)
const isCode = (word: string): boolean => Object.values(refusals).some(({ code }) => code.toUpperCase() === word)

describe("a reason", () => {
  const names = ReasonSchema.values.map(({ name }) => name).slice(1)

  test("is one of the contract and of the kernel", () => {
    expect(Object.keys(refusals).toSorted()).toEqual(names.toSorted())
  })

  const rows = [...read("docs/reference/errors.md").matchAll(/^\| `([A-Z_]+)` \| (\w+) \| (\d+) \| (.+) \|$/gm)]

  test("has one line in docs/reference/errors.md, in the order of the code", () => {
    expect(rows.map((row) => row[1])).toEqual(Object.keys(refusals))
  })

  test.each(Object.entries(refusals))("%s is documented with its code and status", (reason, { code, status }) => {
    const row = rows.find((each) => each[1] === reason)
    expect(row?.slice(2, 4)).toEqual([code, String(status)])
    expect((row?.[4] ?? "").length).toBeGreaterThan(10)
  })

  test.each(ReasonSchema.values.slice(1).map(({ name, number }) => [name, number] as const))(
    "%s has a status that fits its step",
    (name, number) => {
      const status = Object.entries(refusals).find(([reason]) => reason === name)?.[1].status
      if (number < 60 || (number >= 140 && number < 150)) expect(status).toBe(401)
      else if (number < 200) expect(status).toBe(403)
      else expect(status).toBeGreaterThanOrEqual(400)
    },
  )
})
