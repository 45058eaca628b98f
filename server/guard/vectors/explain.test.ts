// Every golden decision is explained consistently, with one decisive check.

import { type Explained, explain } from "@signet/kernel/authz/explain"
import { decisionText, explanationText } from "@signet/kernel/authz/explain-text"
import type { Question } from "@signet/kernel/authz/question"
import { expect, test } from "vitest"
import { isLong } from "../../../test/support/effort.ts"
import type { Guard } from "../guard.ts"
import { createIssuer } from "../testing/issuer.ts"
import { buildVectors } from "./build.ts"
import { requirements } from "./requirements.ts"
import { type Situation, situations } from "./situations.ts"
import { portTarget } from "./targets/port.ts"
import type { Call } from "./targets/target.ts"
import { callOf, clock, factsOf, findResource, guardOf } from "./world.ts"

const { issuer, audience } = createIssuer()

// Signing is slow, so each situation is signed once.
const worlds = new Map<Situation, { readonly inner: Guard; readonly call: Call }>()
function worldOf(situation: Situation) {
  const world = worlds.get(situation) ?? { inner: guardOf(situation), call: callOf(situation) }
  worlds.set(situation, world)
  return world
}

/** The question that the guard of a port decides for a situation. */
async function questionOf(name: string, situation: Situation): Promise<Question | undefined> {
  const [requirement, facts] = [requirements.get(name), factsOf(situation)]
  if (requirement === undefined || facts === undefined) return undefined
  let question: Question | undefined
  const { inner, call } = worldOf(situation)
  const freshness = { maxStalenessMs: facts.liveness === "unknown" ? 930_000 : 60_000, onStale: "INTROSPECT" } as const
  const app = situation.targetApp === undefined ? {} : { appId: JSON.parse(JSON.stringify(situation.targetApp)) }
  const guard: Guard = {
    ...inner,
    authorize(context, of, called) {
      const expected = { issuer, audience }
      const request = { ...called, ...app }
      question = {
        ...{ context, requirement: of, expected, request, ...facts },
        ...{ defaultFreshness: freshness, nowMs: clock.nowMs() },
      }
      return inner.authorize(context, of, called)
    },
  }
  await portTarget({ guard, requirement, findResource })(call)
  return question
}

const decisive = (part: Explained): readonly Explained[] =>
  part.of.length === 0 ? [part] : part.of.filter(({ isDecisive }) => isDecisive).flatMap(decisive)

test.runIf(isLong)("an explanation of a golden case states the decision and one decisive check", async () => {
  let explained = 0
  for (const { requirement: name, situation, expected } of buildVectors().cases) {
    const question = await questionOf(name, situations[situation] ?? {})
    if (question === undefined) continue
    const explanation = explain(question)
    const { decision, requirement } = explanation
    const told = expected.allow ? "allow" : [expected.reason, ...Object.values(expected.metadata)].join(" ")
    expect(decisionText(decision), `${name} / ${situation}`).toBe(told)
    expect(explanationText(explanation).split("\n")[0]).toContain(told)
    if (decision.allow || requirement?.holds !== false) continue
    const failed = { step: decision.step, reason: decision.trueReason }
    expect(decisive(requirement).map((part) => part.failed)).toEqual([failed])
    explained++
  }
  expect(explained).toBeGreaterThan(200)
})
