import { expect, test } from "vitest"
import { factsOfDenial, factsOfToken } from "./step-facts.ts"

const tokenOf = (claims: object) => `e30.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.sig`
const claims = {
  ...{ iss: "https://auth.example", aud: "svc-notes", sub: "prn_ann", sid: "ses_1", exp: 1_800_000_000 },
  ...{ principal_type: "user", app_id: "app_1", tenant_id: "ten_1", scp: ["notes.read", "notes.write"] },
}

test("a token states a fact for each of the eight steps that can refuse", () => {
  const facts = factsOfToken(tokenOf(claims), "note n1")
  expect(Object.keys(facts)).toEqual(["1", "2", "3", "4", "5", "6", "7", "8"])
  expect(facts[2]?.[0]).toContain("https://auth.example for svc-notes")
  expect(facts[3]).toEqual(["prn_ann with ses_1 is active, and nothing of them is revoked."])
  expect(facts[4]).toEqual(["The token is of app_1, ten_1."])
  expect(facts[5]).toEqual(["The caller is a user."])
  expect(facts[6]).toEqual(["The token has notes.read, notes.write."])
  expect(facts[7]).toEqual(["The call names note n1."])
  expect(facts[8]).toEqual(["No service acts for another caller."])
})

test("a delegated token names the service that acts, and a call without a resource says so", () => {
  const facts = factsOfToken(tokenOf({ ...claims, act: { client_id: "svc-mail" } }), "")
  expect(facts[7]).toEqual(["The call names no resource."])
  expect(facts[8]).toEqual(["svc-mail acts for prn_ann."])
})

test("a denial has the facts of its event, and none of a token that was refused", () => {
  const place = { sessionId: "ses_1", appId: "app_1", tenantId: "", contextId: "" }
  const event = { ...place, actorPrincipalId: "prn_ann", subjectPrincipalId: "prn_ann" }
  expect(factsOfDenial(event)[4]).toEqual(["The token is of app_1."])
  expect(factsOfDenial(event)[8]).toEqual(["No service acts for another caller."])
  expect(factsOfDenial({ ...event, actorPrincipalId: "prn_mail" })[8]).toEqual(["prn_mail acts for prn_ann."])
  expect(Object.keys(factsOfDenial({ ...event, actorPrincipalId: "", subjectPrincipalId: "" }))).toEqual(["1"])
})
