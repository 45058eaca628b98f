// Maps identity records to contract messages.
import type { MessageInitShape } from "@bufbuild/protobuf"
import { type Timestamp, timestampFromMs } from "@bufbuild/protobuf/wkt"
import type { CredentialCounts } from "@signet/kernel/machine/ports"
import type * as kernel from "@signet/kernel/records"
import { sessionState } from "@signet/kernel/session/session"
import type { PrincipalCredentialsSchema } from "@signet/proto/auth/v1/principals"
import {
  Identity_Status,
  type IdentitySchema,
  Membership_Status,
  type MembershipSchema,
  Principal_Status,
  type PrincipalSchema,
  Provider,
  ProviderAccount_Status,
  type ProviderAccountSchema,
  Session_Status,
  type SessionSchema,
} from "@signet/proto/auth/v1/records"
import { PrincipalKind } from "@signet/proto/authz/v1/context"

const timestamp = (ms: number | null): Timestamp | undefined => (ms === null ? undefined : timestampFromMs(ms))

export const identityShape = (of: kernel.Identity): MessageInitShape<typeof IdentitySchema> => ({
  id: of.id,
  status: Identity_Status[of.status],
  primaryEmail: of.primaryEmail ?? "",
  createdAt: timestamp(of.createdAtMs),
  updatedAt: timestamp(of.updatedAtMs),
  deletesAt: timestamp(of.deletesAtMs),
})

export const principalShape = (of: kernel.Principal): MessageInitShape<typeof PrincipalSchema> => ({
  id: of.id,
  kind: PrincipalKind[of.kind],
  identityId: of.identityId ?? "",
  status: Principal_Status[of.status],
  lockExpiresAt: timestamp(of.lock?.expiresAtMs ?? null),
  lockReason: of.lock?.reason ?? "",
})

export const credentialsShape = ({
  sessionsByAccount,
  ...counts
}: CredentialCounts): MessageInitShape<typeof PrincipalCredentialsSchema> => ({
  ...counts,
  sessionsByProviderAccount: Object.fromEntries(sessionsByAccount),
})

export const membershipShape = (of: kernel.Membership): MessageInitShape<typeof MembershipSchema> => ({
  id: of.id,
  principalId: of.principalId,
  appId: of.appId,
  tenantId: of.tenantId ?? "",
  contextId: of.contextId ?? "",
  status: Membership_Status[of.status],
  profile: { name: of.profile.name ?? "", email: of.profile.email ?? "" },
  scopes: [...of.scopes],
  createdAt: timestamp(of.createdAtMs),
  updatedAt: timestamp(of.updatedAtMs),
})

export const providerAccountShape = (of: kernel.ProviderAccount): MessageInitShape<typeof ProviderAccountSchema> => ({
  id: of.id,
  identityId: of.identityId,
  provider: Provider[of.provider],
  issuer: of.issuer,
  subject: of.subject,
  email: of.email ?? "",
  providerTenant: of.providerTenant ?? "",
  status: ProviderAccount_Status[of.status],
  createdAt: timestamp(of.createdAtMs),
  isRelayEmail: of.isRelayEmail,
  isContactable: of.isContactable,
})

export const sessionShape = (
  of: kernel.Session,
  nowMs: number,
  currentId: string | null,
): MessageInitShape<typeof SessionSchema> => ({
  id: of.id,
  appId: of.appId,
  tenantId: of.tenantId ?? "",
  contextId: of.contextId ?? "",
  status: Session_Status[sessionState(of, nowMs)],
  amr: [...of.amr],
  authTime: timestamp(of.authTimeMs),
  createdAt: timestamp(of.createdAtMs),
  lastRefreshedAt: timestamp(of.lastRefreshedAtMs),
  idleExpiresAt: timestamp(of.idleExpiresAtMs),
  absoluteExpiresAt: timestamp(of.absoluteExpiresAtMs),
  device: of.device,
  current: of.id === currentId,
})
