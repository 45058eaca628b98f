// The facts of a call by the step that checks them: of a token as its claims state them, of a denial as the audit has it.
import { timestampDate } from "@bufbuild/protobuf/wkt"
import type { AuditDenial } from "@signet/proto/auth/v1/audit_denial"
import type { AuditEvent } from "@signet/proto/auth/v1/audit_service"
import { PrincipalKindSchema } from "@signet/proto/authz/v1/context"
import { Reason } from "@signet/proto/authz/v1/reason"
import { t } from "../text/why.ts"

/** Facts by the number of the step, in the order of the steps. */
export type StepFacts = Readonly<Partial<Record<number, readonly string[]>>>

const { facts: text } = t.why

/** @param token An access token that the service has verified. @param resource The resource that the call names. */
export function factsOfToken(token: string, resource: string): StepFacts {
  const claims = claimsOf(token)
  const claim = (name: string): string => (typeof claims[name] === "string" ? claims[name] : "")
  const { scp, exp, act } = claims
  const until = typeof exp === "number" ? new Date(exp * 1_000).toLocaleString() : ""
  const actor = typeof act === "object" && act !== null ? Reflect.get(act, "client_id") : undefined
  return {
    1: [text.sent],
    2: [text.issued(claim("iss"), claim("aud"), until)],
    3: [text.active(claim("sub"), claim("sid"))],
    4: [text.place([claim("app_id"), claim("tenant_id"), claim("context_id")])],
    5: [text.kind(claim("principal_type"))],
    6: [text.scopes(Array.isArray(scp) ? scp.map(String) : [])],
    7: [resource === "" ? text.noResource : text.resource(resource)],
    8: [actor === undefined ? text.noActor : text.actor(String(actor), claim("sub"))],
  }
}

/** The facts that the audit has of a denied call. A refused token states nothing that is known to be true. */
export function factsOfDenial({
  actorPrincipalId: actor,
  subjectPrincipalId: subject,
  ...event
}: Pick<
  AuditEvent,
  "actorPrincipalId" | "subjectPrincipalId" | "sessionId" | "appId" | "tenantId" | "contextId" | "denial"
>): StepFacts {
  if (actor === "") return { 1: [text.sent] }
  return {
    1: [text.sent],
    2: [text.verified(subject || actor)],
    3: [text.active(subject || actor, event.sessionId)],
    4: [text.place([event.appId, event.tenantId, event.contextId])],
    ...(event.denial && { 5: [callerText(event.denial)], 6: [text.met(event.denial.requirement)] }),
    8: [subject === "" || subject === actor ? text.noActor : text.actor(actor, subject)],
  }
}

/**
 * The facts by which a call was denied, as of the denial.
 *
 * @param requirement The requirement of now, for an event of an earlier version.
 */
export function factsOfDecision(
  { denial, reason }: Pick<AuditEvent, "denial" | "reason">,
  requirement: string,
): readonly string[] {
  if (denial === undefined) return requirement === "" ? [] : [t.why.itRequires(requirement)]
  const { missing, authTime } = denial
  const isTooOld = reason === Reason.STEP_UP_REQUIRED && authTime !== undefined
  return [
    t.why.itRequires(denial.requirement),
    callerText(denial),
    ...(missing === "" ? [] : [text.lacked(missing)]),
    ...(isTooOld ? [text.signedIn(timestampDate(authTime).toLocaleString())] : []),
  ]
}

const callerText = ({ callerKind, audience }: AuditDenial): string =>
  text.caller(PrincipalKindSchema.value[callerKind]?.name.toLowerCase() ?? "", audience)

function claimsOf(token: string): Readonly<Record<string, unknown>> {
  try {
    const payload = (token.split(".")[1] ?? "").replaceAll("-", "+").replaceAll("_", "/")
    const claims: unknown = JSON.parse(atob(payload))
    return typeof claims === "object" && claims !== null ? { ...claims } : {}
  } catch {
    return {}
  }
}
