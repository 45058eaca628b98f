// Converts the facts of a denial between the contract and the kernel.
import type { MessageInitShape } from "@bufbuild/protobuf"
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt"
import type { Denial } from "@signet/kernel/audit/denial"
import type { AuditDenial, AuditDenialSchema } from "@signet/proto/auth/v1/audit_denial"
import { PrincipalKind } from "@signet/proto/authz/v1/context"
import { principalKindOf } from "../parse.ts"

export const denialShape = (of: Denial): MessageInitShape<typeof AuditDenialSchema> => ({
  requirement: of.requirement,
  callerKind: PrincipalKind[of.callerKind],
  audience: of.audience,
  missing: of.missing,
  ...(of.authTimeMs !== null && { authTime: timestampFromMs(of.authTimeMs) }),
})

/** @throws Refused INVALID_FIELD */
export const parseDenial = (of: AuditDenial): Denial => ({
  requirement: of.requirement,
  callerKind: principalKindOf(of.callerKind),
  audience: of.audience,
  missing: of.missing,
  authTimeMs: of.authTime === undefined ? null : timestampMs(of.authTime),
})
