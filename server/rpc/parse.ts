// Maps the contract's enums to the kernel's names. Validation has refused unknown numbers.
import type { DescEnum } from "@bufbuild/protobuf"
import type { GrantLevel } from "@signet/kernel/administration/records"
import type { CountGroup } from "@signet/kernel/audit/count"
import type { AuditEvent } from "@signet/kernel/audit/event"
import { Refused } from "@signet/kernel/errors"
import type { Membership, Platform, PrincipalKind, Provider } from "@signet/kernel/records"
import { AuditEvent_OutcomeSchema, CountAuditEventsRequest_GroupSchema } from "@signet/proto/auth/v1/audit_service"
import { Membership_StatusSchema, PlatformSchema, ProviderSchema } from "@signet/proto/auth/v1/records"
import { GrantLevelSchema } from "@signet/proto/auth/v1/roles"
import { PrincipalKindSchema } from "@signet/proto/authz/v1/context"

const providers: readonly Provider[] = ["IDP_A", "IDP_B", "IDP_C"]
const platforms: readonly Platform[] = ["ANDROID", "IOS", "WEB"]
const grantLevels: readonly GrantLevel[] = ["APP", "TENANT", "CONTEXT", "RESOURCE"]
const countGroups: readonly CountGroup[] = ["KIND", "OUTCOME", "REASON"]
const auditOutcomes: readonly AuditEvent["outcome"][] = ["SUCCESS", "FAILURE", "DENIED"]
const principalKinds: readonly PrincipalKind[] = ["USER", "SERVICE", "AGENT", "ACTOR"]
const membershipStatuses: readonly Membership["status"][] = [
  "INVITED",
  "REQUESTED",
  "ACTIVE",
  "SUSPENDED",
  "REMOVED",
  "DECLINED",
  "REJECTED",
  "EXPIRED",
]

function named<Name extends string>(desc: DescEnum, names: readonly Name[], number: number, field: string): Name {
  const name = names.find((candidate) => candidate === desc.value[number]?.name)
  if (name === undefined) throw new Refused("INVALID_FIELD", { metadata: { field } })
  return name
}

export const providerOf = (number: number): Provider => named(ProviderSchema, providers, number, "provider")
export const platformOf = (number: number): Platform => named(PlatformSchema, platforms, number, "platform")

/** Null for UNSPECIFIED. */
export const membershipStatusOf = (number: number): Membership["status"] | null =>
  number === 0 ? null : named(Membership_StatusSchema, membershipStatuses, number, "status")

export const grantLevelOf = (number: number): GrantLevel =>
  named(GrantLevelSchema, grantLevels, number, "role.assignable_at")

/** Null for UNSPECIFIED, which selects every outcome. */
export const auditOutcomeOf = (number: number): AuditEvent["outcome"] | null =>
  number === 0 ? null : named(AuditEvent_OutcomeSchema, auditOutcomes, number, "outcome")

export const principalKindOf = (number: number): PrincipalKind =>
  named(PrincipalKindSchema, principalKinds, number, "caller_kind")

export const countGroupOf = (number: number): CountGroup =>
  named(CountAuditEventsRequest_GroupSchema, countGroups, number, "group_by")
