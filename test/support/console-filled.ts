// An app with one of each object that the console can end, and what each holds.
import { Platform, Provider } from "@signet/proto/auth/v1/records"
import { developmentAppId } from "../../server/development/app-id.ts"
import { bearer } from "./clients.ts"
import { type Administrator, tokenOf } from "./console.ts"
import { request } from "./service-accounts.ts"

const appId = developmentAppId

/** A connection that the service accepts. It refuses changes of the stand-ins', whose issuers have no TLS. */
export const googleConnection = (displayName: string) => ({
  ...{ provider: Provider.IDP_A, platform: Platform.WEB, preset: "google", connection: "google", displayName },
  ...{ clientId: "notes", clientSecret: "of a test", redirectUris: ["https://notes.example/callback"] },
})

export interface FilledApp {
  readonly tenantId: string
  readonly contextId: string
  /** A member of the app, the tenant and the context. */
  readonly memberId: string
  readonly membershipId: string
  readonly roleId: string
  readonly serviceId: string
}

/**
 * Fills the development app: the tenant Kew with a context, the member Bob in both with one session and two grants, an
 * personal access token, an invitation, a connection, a service account with a secret, and a policy of delegation to which
 * Bob has consented.
 */
export async function fillApp({ clients, root }: Administrator, url: string): Promise<FilledApp> {
  const { admin, account, auth, services, delegations, pats } = clients
  const options = await root()
  const tenantId = (await admin.createTenant({ appId, tenant: { name: "Kew" } }, options)).tenant?.id ?? ""
  const asked = { appId, context: { tenantId, type: "project", name: "Kew garden" } }
  const contextId = (await admin.createContext(asked, options)).context?.id ?? ""
  const person = bearer(await tokenOf(url, "bob@example.com"))
  const principalId = (await auth.me({}, person)).principal?.id ?? ""
  let membershipId = ""
  for (const at of [{ tenantId }, { tenantId, contextId }]) {
    const { code } = await admin.inviteMember({ appId, ...at, principalId }, options)
    const { membership } = await account.acceptInvitation({ code }, person)
    if (!("contextId" in at)) membershipId = membership?.id ?? ""
  }
  await admin.inviteMember({ appId, tenantId }, options)
  await admin.createPermission({ appId, permission: { key: "notes.note.read" } }, options)
  const role = { key: "reader", permissions: ["notes.note.read"] }
  const roleId = (await admin.createRole({ appId, role }, options)).role?.id ?? ""
  for (const at of [{ tenantId }, { tenantId, contextId }]) {
    await admin.createGrant({ appId, principalId, roleId, ...at }, options)
  }
  const calls = { allowedAudiences: ["svc-notes"], scopes: ["notes.read"] }
  const { serviceAccount } = await services.createServiceAccount({ ...request, name: "gardener", ...calls }, options)
  const { id: serviceId = "", principalId: actorPrincipalId = "" } = serviceAccount ?? {}
  await services.addSecret({ serviceAccountId: serviceId }, options)
  await admin.createProviderClient({ appId, providerClient: googleConnection("Google") }, options)
  const rights = { audiences: ["svc-notes"], scopes: ["notes.read"] }
  const allowed = { ...rights, actorPrincipalId, allowStanding: true }
  const { policy } = await delegations.createDelegationPolicy(allowed, options)
  await delegations.createDelegation({ ...rights, policyId: policy?.id ?? "" }, person)
  const script = { name: "script", allowedAudiences: ["auth"], scopes: ["auth.service_accounts.read"] }
  await pats.createPat({ ...script, expiresInDays: 1 }, person)
  return { tenantId, contextId, memberId: principalId, membershipId, roleId, serviceId }
}
