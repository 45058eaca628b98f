// Converts the contract's AuthRequirement to the kernel's Requirement. An invalid one is an error at start.
import type { DescMethod } from "@bufbuild/protobuf"
import { getOption, hasOption } from "@bufbuild/protobuf"
import type { Freshness, Requirement, Requirements, Source } from "@signet/kernel/authz/requirement"
import type { PrincipalKind } from "@signet/kernel/records"
import { PrincipalKind as WireKind } from "@signet/proto/authz/v1/context"
import {
  type AuthRequirement,
  type Composite,
  Freshness_OnStale,
  requires,
  Source as WireSource,
} from "@signet/proto/authz/v1/requirement"
import { fieldOf } from "./field.ts"

/**
 * Returns the requirement of a method.
 *
 * @throws Error if the method has none, or one that cannot be checked.
 */
export function requirementOf(method: DescMethod): Requirement {
  const name = `${method.parent.typeName}.${method.name}`
  if (!hasOption(method, requires)) throw new Error(`${name}: no (signet.authz.v1.requires)`)
  try {
    const requirement = parseRequirement(getOption(method, requires))
    checkSources(requirement, method)
    return requirement
  } catch (error) {
    throw new Error(`${name}: ${error instanceof Error ? error.message : "unreadable"}`, { cause: error })
  }
}

/** @throws Error if a check is missing, empty, or not allowed at its position. */
export function parseRequirement(wire: AuthRequirement, isInComposite = false): Requirement {
  return { ...parseCheck(wire, isInComposite), ...parseOptions(wire) }
}

function parseCheck({ check }: AuthRequirement, isInComposite: boolean): Requirement {
  switch (check.case) {
    case "public":
    case "bodyCredential":
      if (!check.value) throw new Error(`${check.case} is false: omit it`)
      if (isInComposite) throw new Error(`${check.case} inside a composite`)
      return { is: check.case }
    case "scope":
      return { is: "scope", scope: notEmpty("scope", check.value) }
    case "action":
      return { is: "action", action: actionOf(check.value) }
    case "role":
      return { is: "role", role: notEmpty("role", check.value) }
    case "resourceAction": {
      const { action, type, from, field } = check.value
      return {
        is: "resourceAction",
        action: actionOf(action),
        type: notEmpty("type", type),
        from: sourceOf(from),
        field: notEmpty("field", field),
      }
    }
    case "kinds": {
      const [first, ...rest] = check.value.of.map(kindOf)
      if (first === undefined) throw new Error("kinds must have at least one kind")
      return { is: "kinds", of: [first, ...rest] }
    }
    case "tenant": {
      const from = sourceOf(check.value.from)
      const { field } = check.value
      if (from === "TOKEN" && field !== "") throw new Error("the token's tenant has no field")
      return { is: "tenant", from, field: from === "TOKEN" ? "" : notEmpty("field", field) }
    }
    case "delegated": {
      const [first, ...rest] = check.value.actors.map((actor) => notEmpty("actor", actor))
      if (first === undefined) throw new Error("delegated must have at least one actor")
      return { is: "delegated", actors: [first, ...rest] }
    }
    case "device":
      return { is: "device", proof: check.value.proof }
    case "anyOf":
    case "allOf":
      return { is: check.case, of: partsOf(check.case, check.value) }
    case undefined:
      throw new Error("a requirement must have a check")
  }
}

function partsOf(name: string, composite: Composite): Requirements {
  const [first, ...rest] = composite.of.map((part) => parseRequirement(part, true))
  if (first === undefined) throw new Error(`an empty ${name}`)
  return [first, ...rest]
}

function parseOptions(wire: AuthRequirement): Pick<Requirement, "freshness" | "maxAuthAgeSeconds" | "allowDelegated"> {
  const isOpen = wire.check.case === "public" || wire.check.case === "bodyCredential"
  if (isOpen && (wire.freshness !== undefined || wire.maxAuthAgeSeconds > 0)) {
    throw new Error(`${wire.check.case} uses no token, so it cannot have freshness`)
  }
  return {
    ...(wire.freshness === undefined ? {} : { freshness: freshnessOf(wire.freshness) }),
    ...(wire.maxAuthAgeSeconds > 0 ? { maxAuthAgeSeconds: wire.maxAuthAgeSeconds } : {}),
    ...(wire.allowDelegated ? { allowDelegated: true } : {}),
  }
}

const onStale: Record<Freshness_OnStale, Freshness["onStale"]> = {
  [Freshness_OnStale.ON_STALE_UNSPECIFIED]: "DENY",
  [Freshness_OnStale.DENY]: "DENY",
  [Freshness_OnStale.INTROSPECT]: "INTROSPECT",
  [Freshness_OnStale.ALLOW]: "ALLOW",
}

function freshnessOf(wire: NonNullable<AuthRequirement["freshness"]>): Freshness {
  const then = onStale[wire.onStale]
  if (then === undefined) throw new Error(`unknown on_stale ${wire.onStale}`)
  if (wire.maxStaleness === undefined) throw new Error("freshness without max_staleness")
  const maxStalenessMs = Number(wire.maxStaleness.seconds) * 1_000 + Math.floor(wire.maxStaleness.nanos / 1_000_000)
  if (maxStalenessMs < 0) throw new Error("a negative max_staleness")
  return { maxStalenessMs, onStale: then }
}

const kinds: Record<WireKind, PrincipalKind | undefined> = {
  [WireKind.PRINCIPAL_KIND_UNSPECIFIED]: undefined,
  [WireKind.USER]: "USER",
  [WireKind.SERVICE]: "SERVICE",
  [WireKind.AGENT]: "AGENT",
  [WireKind.ACTOR]: "ACTOR",
}

function kindOf(wire: WireKind): PrincipalKind {
  return kinds[wire] ?? refuse(`unknown kind ${wire}`)
}

const sources: Record<WireSource, Source | undefined> = {
  [WireSource.SOURCE_UNSPECIFIED]: undefined,
  [WireSource.PATH]: "PATH",
  [WireSource.BODY]: "BODY",
  [WireSource.HEADER]: "HEADER",
  [WireSource.TOKEN]: "TOKEN",
  [WireSource.GRAPH]: "GRAPH",
}

function sourceOf(wire: WireSource): Source {
  return sources[wire] ?? refuse(`unknown source ${wire}`)
}

function actionOf(action: string): string {
  if (!/^[a-z0-9_-]+\.[a-z0-9_-]+\.[a-z0-9_-]+$/.test(action))
    throw new Error(`"${action}" must have the form service.resource.verb`)
  return action
}

function notEmpty(what: string, text: string): string {
  return text === "" ? refuse(`an empty ${what}`) : text
}

function refuse(message: string): never {
  throw new Error(message)
}

/** Checks that every field the requirement names exists in the method's request. */
function checkSources(requirement: Requirement, method: DescMethod): void {
  if (requirement.is === "anyOf" || requirement.is === "allOf") {
    for (const part of requirement.of) checkSources(part, method)
  }
  if (requirement.is !== "tenant" && requirement.is !== "resourceAction") return
  const { from, field } = requirement
  if (from === "GRAPH") throw new Error("an RPC has no graph")
  if (from === "TOKEN" && requirement.is === "resourceAction") throw new Error("a token names no resource")
  if (from === "HEADER" && !/^[a-z0-9-]+$/.test(field)) throw new Error(`"${field}" is no header in lower case`)
  if (from !== "PATH" && from !== "BODY") return
  if (method.methodKind !== "unary" && method.methodKind !== "server_streaming") {
    throw new Error(`${field}: a client stream has no single request field`)
  }
  fieldOf(method.input, field)
}
