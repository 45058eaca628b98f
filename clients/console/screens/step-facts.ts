// The facts of a call by the step that checks them: as the service explains them, and of a denial as the audit has them.
import { timestampDate } from "@bufbuild/protobuf/wkt"
import type { AuditDenial } from "@signet/proto/auth/v1/audit_denial"
import type { AuditEvent, ExplainAccessResponse } from "@signet/proto/auth/v1/audit_service"
import { PrincipalKindSchema } from "@signet/proto/authz/v1/context"
import { Reason } from "@signet/proto/authz/v1/reason"
import { t } from "../text/why.ts"

/** Facts by the number of the step, in the order of the steps. */
export type StepFacts = Readonly<Partial<Record<number, readonly string[]>>>

const { facts: text } = t.why

/** The facts that the service explains, by step. */
export const factsOfExplanation = ({ passed }: Pick<ExplainAccessResponse, "passed">): StepFacts =>
  Object.fromEntries(passed.map(({ step, found }) => [step, found]))

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
