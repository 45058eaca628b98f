import { readFileSync } from "node:fs"
import { join } from "node:path"
import { type AuthContext, type NotLoaded, notLoaded } from "@signet/kernel/authz/context"
import type { ResourceRef } from "@signet/kernel/authz/grants"
import { checksIn, resourceKey } from "@signet/kernel/authz/requirement"
import { type Reason, Refused } from "@signet/kernel/errors"
import { expect, test } from "vitest"
import { anyApp, createGuard, type Guard } from "../guard.ts"
import { createLocalKeySet } from "../key-set.ts"
import { nodeTokenCrypto } from "../node/token-crypto.ts"
import { createPermissionSnapshots } from "../permissions/snapshots.ts"
import type { SnapshotStep } from "./snapshot-steps.ts"
import type { snapshotVectors } from "./snapshots.ts"

const vectors: ReturnType<typeof snapshotVectors> = JSON.parse(
  readFileSync(join(import.meta.dirname, "snapshots.json"), "utf8"),
)
const resources = new Map(Object.entries<ResourceRef>(vectors.resources))

function factsOf({ requirement, resource }: SnapshotStep) {
  const found = resources.get(resource ?? "")
  if (found === undefined || requirement === "loadGrants") return {}
  const keys = checksIn(requirement).flatMap((check) => (check.is === "resourceAction" ? [resourceKey(check)] : []))
  return { resources: new Map(keys.map((key) => [key, found])) }
}

const listed = (keys: ReadonlySet<string> | NotLoaded) => (keys === notLoaded ? null : [...keys])

async function loaded(guard: Guard, caller: AuthContext | Reason): Promise<SnapshotStep["expected"]> {
  if (typeof caller === "string") return { allow: false, reason: caller }
  try {
    const { roles, permissions } = await guard.loadGrants(caller)
    return { allow: true, roles: [...roles], permissions: [...permissions] }
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    return { allow: false, reason: error.reason }
  }
}

async function decided(
  guard: Guard,
  caller: AuthContext | Reason,
  step: SnapshotStep,
): Promise<SnapshotStep["expected"]> {
  if (step.requirement === "loadGrants") throw new Error("no requirement")
  const decision = await guard.authorize(caller, step.requirement, factsOf(step))
  if (!decision.allow) return { allow: false, reason: decision.reason }
  const { roles, permissions } = decision.context ?? { roles: notLoaded, permissions: notLoaded }
  return { allow: true, roles: listed(roles), permissions: listed(permissions) }
}

test.each(vectors.sequences)("$name", async ({ capacity = 1_000, steps }) => {
  const { issuer, audience, jwks, statementJwks, tokens } = vectors
  let nowMs = 0
  let exchanges: SnapshotStep["exchanges"] = []
  const clock = { nowMs: () => nowMs }
  const fetcher: typeof fetch = async (input) => {
    const url = new URL(String(input))
    const [exchange, ...left] = exchanges
    expect(`${url.pathname}${url.search}`).toBe(exchange?.asked)
    exchanges = left
    const answer = exchange?.answer ?? "unreachable"
    if (answer === "unreachable") throw new TypeError("fetch failed")
    return "status" in answer ? new Response(null, { status: answer.status }) : Response.json(answer)
  }
  const guard = createGuard({
    issuer,
    audience,
    appId: anyApp,
    clock,
    crypto: nodeTokenCrypto,
    keySet: createLocalKeySet({ jwks: () => jwks.keys }, nodeTokenCrypto),
    permissions: createPermissionSnapshots({
      issuer,
      baseUrl: issuer,
      statementKeys: createLocalKeySet({ jwks: () => statementJwks.keys }, nodeTokenCrypto),
      token: async () => "own",
      clock,
      fetch: fetcher,
      capacity,
    }),
  })
  for (const [i, step] of steps.entries()) {
    nowMs = step.now * 1_000
    exchanges = step.exchanges
    const caller = await guard.authenticate(`Bearer ${tokens[step.token]}`)
    const seen = await (step.requirement === "loadGrants" ? loaded(guard, caller) : decided(guard, caller, step))
    expect({ ...seen, left: exchanges }, `step ${i}: ${step.token}`).toEqual({ ...step.expected, left: [] })
  }
})
