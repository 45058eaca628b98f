// Maps policies and standing delegations to contract messages.
import type { MessageInitShape } from "@bufbuild/protobuf"
import { type Timestamp, timestampFromMs } from "@bufbuild/protobuf/wkt"
import type * as kernel from "@signet/kernel/machine/records"
import type { DelegationPolicySchema, DelegationSchema } from "@signet/proto/auth/v1/delegation_service"
import { PrincipalKind } from "@signet/proto/authz/v1/context"

const timestamp = (ms: number | null): Timestamp | undefined => (ms === null ? undefined : timestampFromMs(ms))

export const policyShape = (of: kernel.DelegationPolicy): MessageInitShape<typeof DelegationPolicySchema> => ({
  id: of.id,
  appId: of.appId,
  tenantId: of.tenantId ?? "",
  actorPrincipalId: of.actorPrincipalId,
  audiences: [...of.audiences],
  scopes: [...of.scopes],
  maxSeconds: of.maxSeconds,
  allowStanding: of.allowStanding,
  maxChain: 1,
  subjectKinds: [PrincipalKind.USER],
  createdAt: timestamp(of.createdAtMs),
  revokedAt: timestamp(of.revokedAtMs),
})

export const delegationShape = (of: kernel.StandingDelegation): MessageInitShape<typeof DelegationSchema> => ({
  id: of.id,
  policyId: of.policyId,
  appId: of.appId,
  tenantId: of.tenantId ?? "",
  contextId: of.contextId ?? "",
  subjectPrincipalId: of.subjectPrincipalId,
  actorPrincipalId: of.actorPrincipalId,
  audiences: [...of.audiences],
  scopes: [...of.scopes],
  createdAt: timestamp(of.createdAtMs),
  expiresAt: timestamp(of.expiresAtMs),
  revokedAt: timestamp(of.revokedAtMs),
})
