import { normalizeEmail, verifiedEmail } from "@signet/kernel/identity/first-login"
import { newId } from "@signet/kernel/ids"
import type { Identity, Principal, ProviderAccount } from "@signet/kernel/records"
import { auditEvent } from "../../audit/audit.ts"
import { sealProviderToken } from "./account.ts"
import type { Entry } from "./entry.ts"

/** Inserts the person's records. False if a concurrent sign-in inserted them first. */
export async function insertNewcomer(entry: Entry): Promise<boolean> {
  const { deps, context, tx, request, client, vouched, nowMs } = entry
  const id = <K extends "idn" | "pac" | "prn">(kind: K) => newId(kind, nowMs, deps.random.bytes(10))
  const identity: Identity = {
    id: id("idn"),
    status: "ACTIVE",
    primaryEmail: verifiedEmail(vouched.email, vouched.emailVerified),
    deletesAtMs: null,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  }
  const accountId = id("pac")
  const account: ProviderAccount = {
    id: accountId,
    identityId: identity.id,
    provider: request.provider,
    issuer: client.canonicalIssuer,
    subject: vouched.subject,
    providerTenant: vouched.providerTenant,
    email: normalizeEmail(vouched.email),
    isRelayEmail: vouched.isRelayEmail,
    isContactable: true,
    refreshTokenSealed: sealProviderToken(deps, client, vouched, accountId),
    status: "LINKED",
    createdAtMs: nowMs,
  }
  const principal: Principal = { id: id("prn"), kind: "USER", identityId: identity.id, status: "ACTIVE" }
  if (!(await tx.identities.insertIdentity(identity, account, principal))) return false
  const common = {
    appId: request.appId,
    actorPrincipalId: principal.id,
    subjectPrincipalId: principal.id,
    subjectIdentityId: identity.id,
  }
  await tx.audit.append(auditEvent(deps, context, nowMs, { kind: "identity.created", ...common }))
  const target = { type: "provider_account", id: account.id }
  await tx.audit.append(auditEvent(deps, context, nowMs, { kind: "provider_account.linked", ...common, target }))
  return true
}
