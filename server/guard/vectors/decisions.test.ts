import { readFileSync } from "node:fs"
import { join } from "node:path"
import { describe as describeRequirement, type Requirement } from "@signet/kernel/authz/requirement"
import { describe, expect, test } from "vitest"
import { isLong } from "../../../test/support/effort.ts"
import type { Guard } from "../guard.ts"
import { ids } from "../testing/issuer.ts"
import { buildVectors, vectorText } from "./build.ts"
import { requirements } from "./requirements.ts"
import { type Situation, situations } from "./situations.ts"
import { connectTarget } from "./targets/connect.ts"
import { expressTarget } from "./targets/express.ts"
import { fastifyTarget } from "./targets/fastify.ts"
import { fetchTarget } from "./targets/fetch.ts"
import { isOfMailboxes, mailboxTarget } from "./targets/mailbox.ts"
import { portTarget } from "./targets/port.ts"
import type { Call, Outcome, Target } from "./targets/target.ts"
import { toolTarget } from "./targets/tool.ts"
import { callOf, findResource, guardOf } from "./world.ts"

const all = () => true
/** Each with the cases that the target decides. */
const targets: readonly (readonly [string, Target, (requirement: Requirement, situation: Situation) => boolean])[] = [
  ["Connect", connectTarget, all],
  ["Fastify", fastifyTarget, all],
  ["Express", expressTarget, all],
  ["fetch", fetchTarget, all],
  ["a port", portTarget, all],
  ["a tool", toolTarget, all],
  ["a mailbox", mailboxTarget, isOfMailboxes],
]

const { cases } = buildVectors()
const committed = readFileSync(join(import.meta.dirname, "decisions.json"), "utf8")

test("decisions.json is up to date", () => {
  expect(committed === vectorText(), "run server/guard/vectors/generate.ts and see what changed").toBe(true)
  expect(JSON.parse(committed).cases).toEqual(cases)
})

test("there are at least 200 distinct decisions, which cover every requirement and situation", () => {
  const names = cases.map(({ requirement, situation }) => `${requirement} / ${situation}`)
  expect(new Set(names).size).toBe(names.length)
  expect(names.length).toBeGreaterThanOrEqual(200)
  expect(new Set(cases.map(({ requirement }) => requirement))).toEqual(new Set(requirements.keys()))
  expect(new Set(cases.map(({ situation }) => situation))).toEqual(new Set(Object.keys(situations)))
  for (const [name, requirement] of requirements) expect(describeRequirement(requirement)).toBe(name)
})

// Signing is slow, so each situation is signed once.
const worlds = new Map<string, { situation: Situation; guard: Guard; call: Call }>()
function worldOf(name: string) {
  const situation = situationOf(name)
  const world = worlds.get(name) ?? { situation, guard: guardOf(situation), call: callOf(situation) }
  worlds.set(name, world)
  return world
}

test("a mailbox skips one situation and one requirement", () => {
  const left = cases.filter(({ requirement, situation }) => !isOfMailboxes(known(requirement), situationOf(situation)))
  expect(new Set(left.map(({ requirement, situation }) => `${requirement} / ${situation}`))).toEqual(
    new Set([
      "public / a life of a day",
      "credential in the body / a life of a day",
      "kinds(USER or SERVICE) / a life of a day",
      ...cases.flatMap(({ requirement, situation }) =>
        requirement === "kinds(USER or SERVICE), fresh(60000 ms, ALLOW)" ? [`${requirement} / ${situation}`] : [],
      ),
    ]),
  )
  expect(left).toHaveLength(9)
})

function known(name: string): Requirement {
  const requirement = requirements.get(name)
  if (requirement === undefined) throw new Error(name)
  return requirement
}

const situationOf = (name: string): Situation => situations[name] ?? {}

describe.each(targets)("%s", (_, target, decides) => {
  test.runIf(isLong)("decides every case as in the table", async () => {
    // One target per requirement, for every caller.
    const built = new Map<string, (guard: Guard, call: Call) => Promise<Outcome>>()
    function build(name: string) {
      const requirement = known(name)
      let current: Guard | undefined
      const guard: Guard = {
        defaultFreshness: { maxStalenessMs: 60_000, onStale: "INTROSPECT" },
        authenticate: async (header) => (await current?.authenticate(header)) ?? "INTERNAL",
        introduce: (caller, token) => current?.introduce(caller, token),
        loadGrants: (caller) => current?.loadGrants(caller) ?? Promise.reject(new Error("none")),
        authorize: (caller, of, request) =>
          current?.authorize(caller, of, request) ?? Promise.reject(new Error("none")),
      }
      const ask = target({ guard, requirement, findResource })
      return (now: Guard, call: Call) => {
        current = now
        return ask(call)
      }
    }
    for (const { requirement, situation, expected } of cases) {
      if (!decides(known(requirement), situationOf(situation))) continue
      const { situation: of, guard, call } = worldOf(situation)
      const ask = built.get(requirement) ?? build(requirement)
      built.set(requirement, ask)
      const outcome = await ask(guard, call)
      const name = `${requirement} / ${situation}`
      if (outcome.allow) {
        const subject = of.claims?.sub ?? ids.principal
        const caller = expected.allow && expected.caller === null ? null : subject
        expect({ allow: expected.allow, caller: outcome.caller }, name).toEqual({ allow: true, caller })
        continue
      }
      // Ports and tools have no headers.
      const challenge = expected.allow ? null : expected.challenge
      expect({ challenge, ...outcome }, name).toEqual(expected)
    }
  })
})
