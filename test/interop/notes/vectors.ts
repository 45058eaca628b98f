// Requirements, callers and requests, each with each: what the kernel decides is what every language decides.
import { fromJson, type JsonValue } from "@bufbuild/protobuf"
import { authorize } from "@signet/kernel/authz/authorize"
import { contextOf } from "@signet/kernel/authz/context"
import { delegatedClaims, question, serviceClaims, userClaims } from "@signet/kernel/authz/testing"
import { newId } from "@signet/kernel/ids"
import type { AccessTokenClaims } from "@signet/kernel/token/claims"
import { AuthRequirementSchema } from "@signet/proto/authz/v1/requirement"
import { parseRequirement } from "../../../server/guard/requirement.ts"
import type { Decided, Vector } from "./golden.ts"

const kinds = (...of: string[]) => ({ kinds: { of } })
const read = { scope: "notes.read" }
const write = { scope: "notes.write" }
const inBody = { tenant: { from: "BODY", field: "tenant_id" } }
const inHeader = { tenant: { from: "HEADER", field: "x-tenant" } }
const inToken = { tenant: { from: "TOKEN" } }
const anyOf = (...of: JsonValue[]) => ({ anyOf: { of } })
const allOf = (...of: JsonValue[]) => ({ allOf: { of } })
const delegated = { allowDelegated: true }

/** AuthRequirement as JSON. */
const requirements: readonly JsonValue[] = [
  read,
  write,
  { scope: "notes" },
  kinds("USER"),
  kinds("SERVICE"),
  kinds("USER", "SERVICE"),
  kinds("AGENT", "ACTOR"),
  inBody,
  inHeader,
  inToken,
  { ...read, ...delegated },
  { ...inBody, ...delegated },
  allOf(kinds("USER"), write, inBody),
  allOf(inBody, write, kinds("USER")),
  allOf(write, kinds("SERVICE")),
  allOf(read, { ...inToken, ...delegated }),
  { ...allOf(read, inToken), ...delegated },
  anyOf(write, kinds("SERVICE")),
  anyOf(kinds("SERVICE"), write),
  anyOf(inHeader, inBody, write),
  anyOf(read, { ...write, ...delegated }),
  anyOf(allOf(write, inBody), allOf(kinds("SERVICE"), read)),
  allOf(anyOf(inHeader, inBody), anyOf(read, write)),
  allOf(allOf(read), anyOf(anyOf(kinds("AGENT"), inHeader))),
]

const { tenant_id, ...placeless } = userClaims
const callers: Readonly<Record<string, AccessTokenClaims>> = {
  user: userClaims,
  "user that may write": { ...userClaims, scp: ["notes.read", "notes.write"] },
  "user without scopes": { ...userClaims, scp: [] },
  "user of no tenant": placeless,
  service: serviceClaims,
  "service for a user": delegatedClaims,
}

const own = tenant_id ?? ""
const requests: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "no tenant": {},
  "own tenant in both": { "BODY tenant_id": own, "HEADER x-tenant": own },
  "own tenant in the body only": {
    "BODY tenant_id": own,
    "HEADER x-tenant": newId("ten", 2, new Uint8Array(10)),
  },
  "own tenant in capitals": { "BODY tenant_id": own.toUpperCase(), "HEADER x-tenant": ` ${own}` },
}

export const vectors: readonly Vector[] = requirements.flatMap((requirement) =>
  Object.entries(callers).flatMap(([caller, claims]) =>
    Object.entries(requests).map(([request, tenants]) => ({
      name: `${JSON.stringify(requirement)}: ${caller}, ${request}`,
      asked: { requirement, claims, tenants },
      decided: decide(requirement, claims, tenants),
    })),
  ),
)

function decide(json: JsonValue, claims: AccessTokenClaims, tenants: Readonly<Record<string, string>>): Decided {
  const decision = authorize({
    ...question,
    context: contextOf(claims),
    requirement: parseRequirement(fromJson(AuthRequirementSchema, json)),
    request: { tenants: new Map(Object.entries(tenants)) },
  })
  if (decision.allow) return { allow: true }
  const { reason, statusCode: status, safeMessage: message, metadata } = decision
  return { allow: false, reason, status, message, ...(Object.keys(metadata).length > 0 && { metadata }) }
}
