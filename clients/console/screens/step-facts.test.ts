import { create } from "@bufbuild/protobuf"
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { AuditDenialSchema } from "@signet/proto/auth/v1/audit_denial"
import { ExplainedStepSchema } from "@signet/proto/auth/v1/audit_service"
import { PrincipalKind } from "@signet/proto/authz/v1/context"
import { Reason } from "@signet/proto/authz/v1/reason"
import { expect, test } from "vitest"
import { factsOfDecision, factsOfDenial, factsOfExplanation } from "./step-facts.ts"

test("an explanation has the facts of the steps that passed", () => {
  const passed = [create(ExplainedStepSchema, { step: 5, found: ["the caller is a USER"] })]
  expect(factsOfExplanation({ passed })).toEqual({ 5: ["the caller is a USER"] })
})

test("a denial has the facts of its event, and none of a token that was refused", () => {
  const place = { sessionId: "ses_1", appId: "app_1", tenantId: "", contextId: "" }
  const event = { ...place, actorPrincipalId: "prn_ann", subjectPrincipalId: "prn_ann" }
  expect(factsOfDenial(event)[4]).toEqual(["The token is of app_1."])
  expect(factsOfDenial(event)[8]).toEqual(["No service acts for another caller."])
  expect(factsOfDenial({ ...event, actorPrincipalId: "prn_mail" })[8]).toEqual(["prn_mail acts for prn_ann."])
  expect(Object.keys(factsOfDenial({ ...event, actorPrincipalId: "", subjectPrincipalId: "" }))).toEqual(["1"])
})

const denial = create(AuditDenialSchema, {
  ...{ requirement: "kinds(USER) and scope(notes.write)", callerKind: PrincipalKind.USER },
  ...{ audience: "svc-notes", missing: "notes.write" },
})

test("a denial states what its event recorded: the caller, the requirement of that time and the missing scope", () => {
  const { MISSING_SCOPE, STEP_UP_REQUIRED } = Reason
  expect(factsOfDecision({ denial, reason: MISSING_SCOPE }, "scope notes.read")).toEqual([
    "The call requires kinds(USER) and scope(notes.write).",
    "The caller is a user with a token for svc-notes.",
    "The caller lacked notes.write.",
  ])
  const old = { ...denial, missing: "", authTime: timestampFromMs(0) }
  expect(factsOfDecision({ denial: old, reason: STEP_UP_REQUIRED }, "").slice(2)).toEqual([
    `The user signed in at ${new Date(0).toLocaleString()}.`,
  ])
  expect(factsOfDecision({ denial: old, reason: MISSING_SCOPE }, "")).toHaveLength(2)
  // An event of an earlier version.
  const earlier = { reason: MISSING_SCOPE } as const
  expect(factsOfDecision(earlier, "scope notes.read")).toEqual(["The call requires scope notes.read."])
  expect(factsOfDecision(earlier, "")).toEqual([])
  const event = { actorPrincipalId: "prn_ann", subjectPrincipalId: "prn_ann", sessionId: "", appId: "app_1" }
  const facts = factsOfDenial({ ...event, tenantId: "", contextId: "", denial })
  expect(facts[5]).toEqual(["The caller is a user with a token for svc-notes."])
  expect(facts[6]).toEqual(["The caller met kinds(USER) and scope(notes.write)."])
})
