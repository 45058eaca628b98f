import type { Requirement } from "@signet/kernel/authz/requirement"
import { describe, expect, test } from "vitest"
import { checkRequirement } from "./check-requirement.ts"

const readable = { PATH: (field: string) => field === "note" }
const path = { from: "PATH", field: "note" } as const
const resource = { is: "resourceAction", action: "notes.read", type: "note" } as const
const scope = { is: "scope", scope: "notes.read" } as const
/** Possible in JavaScript; the types allow none of these lists. */
const none = JSON.parse("[]")

describe("a requirement that is built in code", () => {
  test.each<[string, Requirement]>([
    ["without a check", { is: "public" }],
    ["leaves the credential to the handler", { is: "bodyCredential" }],
    ["is a composite", { is: "allOf", of: [{ is: "anyOf", of: [scope] }] }],
    ["asks for facts of now", { ...scope, freshness: { maxStalenessMs: 0, onStale: "DENY" } }],
    ["takes the tenant from the token", { is: "tenant", from: "TOKEN", field: "" }],
    ["takes the tenant from a field that is there", { is: "tenant", ...path }],
    ["takes a resource from a field that is there", { ...resource, ...path }],
    ["asks for a device without a proof", { is: "device", proof: false }],
    ["asks for a kind", { is: "kinds", of: ["USER"] }],
    ["asks for an actor", { is: "delegated", actors: ["svc-web"] }],
    ["asks for a scope", { is: "scope", scope: "notes.read" }],
    ["asks for a role", { is: "role", role: "editor" }],
    ["asks for an action", { is: "action", action: "notes.read" }],
  ])("is whole when it %s", (_, requirement) => {
    expect(() => checkRequirement(requirement, readable)).not.toThrow()
  })

  test.each<[Requirement, string]>([
    [{ is: "allOf", of: [{ is: "public" }] }, "public inside a composite"],
    [{ is: "anyOf", of: [{ is: "bodyCredential" }] }, "bodyCredential inside a composite"],
    [{ is: "anyOf", of: none }, "an empty anyOf"],
    [{ is: "allOf", of: [{ is: "allOf", of: none }] }, "an empty allOf"],
    [{ is: "allOf", of: [{ is: "scope", scope: "" }] }, "an empty scope"],
    [{ ...scope, freshness: { maxStalenessMs: -1, onStale: "DENY" } }, "freshness requires max_staleness"],
    [{ ...scope, freshness: { maxStalenessMs: Number.NaN, onStale: "DENY" } }, "freshness requires max_staleness"],
    [{ is: "tenant", from: "PATH", field: "other" }, 'PATH has no field "other" here'],
    [{ is: "tenant", from: "HEADER", field: "note" }, 'HEADER has no field "note" here'],
    [{ ...resource, from: "TOKEN", field: "" }, "a token names no resource"],
    [{ ...resource, from: "PATH", field: "other" }, 'PATH has no field "other" here'],
    [{ is: "device", proof: true }, "a device proof is only possible for an RPC"],
    [{ is: "kinds", of: none }, "kinds must have at least one kind"],
    [{ is: "delegated", actors: none }, "delegated must have at least one actor"],
    [{ is: "role", role: "" }, "an empty role"],
    [{ is: "action", action: "" }, "an empty action"],
  ])("%j is refused before the first call: %s", (requirement, message) => {
    expect(() => checkRequirement(requirement, readable)).toThrow(message)
  })
})
