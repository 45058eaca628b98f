import { readFileSync } from "node:fs"
import { join } from "node:path"
import { describe as describeRequirement } from "@signet/kernel/authz/requirement"
import type { AppId } from "@signet/kernel/ids"
import { describe, expect, test } from "vitest"
import type { Guard } from "../guard.ts"
import { ids } from "../testing/issuer.ts"
import { buildVectors, vectorText } from "./build.ts"
import { requirements } from "./requirements.ts"
import { type Situation, situations } from "./situations.ts"
import { connectTarget } from "./targets/connect.ts"
import { fastifyTarget } from "./targets/fastify.ts"
import { fetchTarget } from "./targets/fetch.ts"
import { portTarget } from "./targets/port.ts"
import type { Call, Outcome, Target } from "./targets/target.ts"
import { toolTarget } from "./targets/tool.ts"
import { callOf, findResource, guardOf } from "./world.ts"

const targets: readonly (readonly [string, Target])[] = [
  ["Connect", connectTarget],
  ["Fastify", fastifyTarget],
  ["fetch", fetchTarget],
  ["a port", portTarget],
  ["a tool", toolTarget],
]

const { cases } = buildVectors()
const committed = readFileSync(join(import.meta.dirname, "decisions.json"), "utf8")

test("decisions.json is what is generated", () => {
  expect(committed === vectorText(), "run server/guard/vectors/generate.ts and see what changed").toBe(true)
  expect(JSON.parse(committed).cases).toEqual(cases)
})

test("there are at least 200 decisions, each once, of every requirement and situation", () => {
  const names = cases.map(({ requirement, situation }) => `${requirement} / ${situation}`)
  expect(new Set(names).size).toBe(names.length)
  expect(names.length).toBeGreaterThanOrEqual(200)
  expect(new Set(cases.map(({ requirement }) => requirement))).toEqual(new Set(requirements.keys()))
  expect(new Set(cases.map(({ situation }) => situation))).toEqual(new Set(Object.keys(situations)))
  for (const [name, requirement] of requirements) expect(describeRequirement(requirement)).toBe(name)
})

// Signing is what takes time here: once a situation.
const worlds = new Map<string, { situation: Situation; guard: Guard; call: Call }>()
function worldOf(name: string) {
  const situation = situations[name] ?? {}
  const world = worlds.get(name) ?? { situation, guard: guardOf(situation), call: callOf(situation) }
  worlds.set(name, world)
  return world
}

describe.each(targets)("%s", (_, target) => {
  test("decides every case as the table says", async () => {
    // One target a requirement and app, whatever is known of the caller.
    const built = new Map<string, (guard: Guard, call: Call) => Promise<Outcome>>()
    function build(name: string, app: string | undefined) {
      const requirement = requirements.get(name)
      if (requirement === undefined) throw new Error(name)
      let current: Guard | undefined
      const guard: Guard = {
        authenticate: async (header) => (await current?.authenticate(header)) ?? "INTERNAL",
        authorize: (caller, of, request) =>
          current?.authorize(caller, of, request) ?? Promise.reject(new Error("none")),
      }
      const ask = target({ guard, requirement, findResource, ...(app === undefined ? {} : { appId: app as AppId }) })
      return (now: Guard, call: Call) => {
        current = now
        return ask(call)
      }
    }
    for (const { requirement, situation, expected } of cases) {
      const { situation: of, guard, call } = worldOf(situation)
      const key = `${requirement} ${of.targetApp}`
      const ask = built.get(key) ?? build(requirement, of.targetApp)
      built.set(key, ask)
      const outcome = await ask(guard, call)
      const name = `${requirement} / ${situation}`
      if (outcome.allow) {
        expect(expected, name).toEqual({ allow: true })
        if (requirement === "public") expect(outcome.caller, name).toBeNull()
        else if (requirement !== "credential in the body") {
          expect(outcome.caller, name).toBe(of.claims?.sub ?? ids.principal)
        }
        continue
      }
      // Ports and tools have no headers.
      const challenge = expected.allow ? null : expected.challenge
      expect({ challenge, ...outcome }, name).toEqual(expected)
    }
  })
})
