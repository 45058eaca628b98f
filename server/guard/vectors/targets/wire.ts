import type { Requirement, Source } from "@signet/kernel/authz/requirement"
import { PrincipalKind } from "@signet/proto/authz/v1/context"
import { Freshness_OnStale, Source as WireSource } from "@signet/proto/authz/v1/requirement"
import type { Requires } from "../../testing/methods.ts"

/** A requirement in the form of the method option. */
export function wireOf(requirement: Requirement): Requires {
  const { freshness, maxAuthAgeSeconds, allowDelegated } = requirement
  return {
    check: checkOf(requirement),
    ...(freshness === undefined
      ? {}
      : {
          freshness: {
            maxStaleness: { seconds: BigInt(freshness.maxStalenessMs / 1_000) },
            onStale: Freshness_OnStale[freshness.onStale],
          },
        }),
    ...(maxAuthAgeSeconds === undefined ? {} : { maxAuthAgeSeconds }),
    ...(allowDelegated === undefined ? {} : { allowDelegated }),
  }
}

const sourceOf = (from: Source): WireSource => WireSource[from]

function checkOf(check: Requirement): NonNullable<Requires["check"]> {
  switch (check.is) {
    case "public":
    case "bodyCredential":
      return { case: check.is, value: true }
    case "scope":
      return { case: "scope", value: check.scope }
    case "action":
      return { case: "action", value: check.action }
    case "role":
      return { case: "role", value: check.role }
    case "resourceAction": {
      const { action, type, from, field } = check
      return { case: "resourceAction", value: { action, type, from: sourceOf(from), field } }
    }
    case "kinds":
      return { case: "kinds", value: { of: check.of.map((kind) => PrincipalKind[kind]) } }
    case "tenant":
      return { case: "tenant", value: { from: sourceOf(check.from), field: check.field } }
    case "delegated":
      return { case: "delegated", value: { actors: [...check.actors] } }
    case "device":
      return { case: "device", value: { proof: check.proof } }
    case "anyOf":
    case "allOf":
      return { case: check.is, value: { of: check.of.map(wireOf) } }
  }
}
