// Properties of every requirement and call on all targets: random trees of the checks in requirements.ts.
import type { Requirement, Requirements } from "@signet/kernel/authz/requirement"
import fc from "fast-check"
import { expect, test } from "vitest"
import { effort, isLong } from "../../../test/support/effort.ts"
import { requirements } from "./requirements.ts"
import { type Situation, situations } from "./situations.ts"
import { connectTarget } from "./targets/connect.ts"
import { expressTarget } from "./targets/express.ts"
import { fastifyTarget } from "./targets/fastify.ts"
import { fetchTarget } from "./targets/fetch.ts"
import { isOfMailboxes, mailboxTarget } from "./targets/mailbox.ts"
import { portTarget } from "./targets/port.ts"
import type { Outcome, Target } from "./targets/target.ts"
import { toolTarget } from "./targets/tool.ts"
import { callOf, findResource, guardOf } from "./world.ts"

const targets = [connectTarget, fastifyTarget, expressTarget, fetchTarget, portTarget, toolTarget]
const numRuns = effort(30, 400, 20_000)

// Public and body credentials are not allowed in a composite, and not every situation has a path.
const leaves = [...requirements.values()].filter(
  ({ is }) => is !== "public" && is !== "bodyCredential" && is !== "anyOf" && is !== "allOf",
)
const leaf = fc.constantFrom(...leaves.filter((one) => !JSON.stringify(one).includes('"PATH"')))
const { tree } = fc.letrec<{ tree: Requirement }>((tie) => {
  const of = fc
    .tuple(tie("tree"), fc.array(tie("tree"), { maxLength: 2 }))
    .map(([first, rest]): Requirements => [first, ...rest])
  return {
    tree: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      leaf,
      of.map((parts): Requirement => ({ is: "anyOf", of: parts })),
      of.map((parts): Requirement => ({ is: "allOf", of: parts })),
    ),
  }
})
const situation = fc.constantFrom(...Object.values(situations))
const known = fc.constantFrom(...Object.values(situations).filter(({ authorization }) => authorization === undefined))

function decide(target: Target, requirement: Requirement, of: Situation): Promise<Outcome> {
  return target({ guard: guardOf(of), requirement, findResource })(callOf(of))
}

test("every target makes the same decision with the same reason", async () => {
  let allowed = 0
  await fc.assert(
    fc.asyncProperty(tree, situation, async (requirement, of) => {
      const deciding = isOfMailboxes(requirement, of) ? [...targets, mailboxTarget] : targets
      const outcomes = await Promise.all(deciding.map((target) => decide(target, requirement, of)))
      const [first, ...others] = outcomes.map((outcome) => ({ ...outcome, challenge: undefined }))
      for (const other of others) expect(other).toEqual(first)
      if (first?.allow) allowed++
    }),
    { numRuns },
  )
  expect(allowed).toBeGreaterThan(0)
})

// Does not reduce authority for requirements that check grants: it selects the grants of another place, which may allow
// more.
const outOfTenant: Situation = { claims: { tenant_id: null } }

function asksForGrants(requirement: Requirement): boolean {
  if (requirement.is === "anyOf" || requirement.is === "allOf") return requirement.of.some(asksForGrants)
  return requirement.is === "action"
}

const removals: readonly Situation[] = [
  { claims: { scp: [] } },
  outOfTenant,
  { claims: { auth_time: null } },
  { request: {} },
  { grants: [] },
  { grants: "stale" },
  { grants: "down" },
  { liveness: { principal: "SUSPENDED" } },
  { liveness: { session: { status: "REVOKED" } } },
  { liveness: { membership: "SUSPENDED" } },
  { liveness: "down" },
  { signer: "stranger" },
  { authorization: null },
]

test("removing authority never turns deny into allow", async () => {
  await fc.assert(
    fc.asyncProperty(tree, known, fc.constantFrom(...removals), async (requirement, before, gone) => {
      fc.pre(gone !== outOfTenant || !asksForGrants(requirement))
      const after = { ...before, ...gone, claims: { ...before.claims, ...gone.claims } }
      // Introspection returns the actual facts.
      const { introspection: _, ...told } = after
      const { introspection: __, ...asked } = before
      if ((await decide(fetchTarget, requirement, asked)).allow) return
      expect((await decide(fetchTarget, requirement, told)).allow).toBe(false)
    }),
    { numRuns },
  )
})

function reversed(requirement: Requirement): Requirement {
  if (requirement.is !== "anyOf" && requirement.is !== "allOf") return requirement
  const [first, ...rest] = requirement.of.map(reversed).reverse()
  return first === undefined ? requirement : { ...requirement, of: [first, ...rest] }
}

test("the order of parts changes neither the decision nor the status", async () => {
  const told = (outcome: Outcome) => (outcome.allow ? 200 : outcome.status)
  await fc.assert(
    fc.asyncProperty(tree, situation, async (requirement, of) => {
      const one = await decide(fetchTarget, requirement, of)
      expect(told(await decide(fetchTarget, reversed(requirement), of))).toBe(told(one))
    }),
    { numRuns },
  )
})

test.runIf(isLong)("unknown members of token, header or request change nothing", async () => {
  const unknown = fc.dictionary(
    fc.stringMatching(/^x_[a-z]{1,8}$/),
    fc.string().map((text) => text.replace(/[^ -~]/g, "")),
    { maxKeys: 4 },
  )
  await fc.assert(
    fc.asyncProperty(tree, known, unknown, async (requirement, of, more) => {
      const extended: Situation = {
        ...of,
        claims: { ...more, ...of.claims },
        header: { ...more, ...of.header },
        request: { ...more, ...of.request },
      }
      for (const target of isOfMailboxes(requirement, of) ? [...targets, mailboxTarget] : targets) {
        expect(await decide(target, requirement, extended)).toEqual(await decide(target, requirement, of))
      }
    }),
    { numRuns: effort(20, 200, 5_000) },
  )
})
