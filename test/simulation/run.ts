// npm run simulate -- [--seed N] [--count N | --minutes N] [--steps N] [--hostility NAME] [--with FEATURE,FEATURE|all]
//   [--core wasm|native] [--trace]
import { randomInt } from "node:crypto"
import { parseArgs } from "node:util"
import { parseFeatures } from "./features.ts"
import { hostilities, isHostility } from "./hostile.ts"
import { simulate } from "./simulate.ts"

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    count: { type: "string", default: "1" },
    minutes: { type: "string" },
    steps: { type: "string", default: "60" },
    hostility: { type: "string" },
    with: { type: "string" },
    core: { type: "string" },
    trace: { type: "boolean", default: false },
  },
})
const { hostility } = values
if (hostility !== undefined && !isHostility(hostility)) {
  fail(`There is no hostility ${hostility}. There are: ${hostilities.join(", ")}.`)
}
const compareIn = values.core === undefined ? undefined : await comparing(values.core)
const minutes = values.minutes === undefined ? undefined : positive("minutes", values.minutes)
const features = values.with === undefined ? [] : parseFeatures(values.with)
// With --minutes and without --seed, other seeds each time. Each line has its seed, so a run can be repeated.
const first =
  values.seed !== undefined ? positive("seed", values.seed) : minutes === undefined ? 1 : randomInt(1, 1_000_000_000)
const last = first + positive("count", values.count) - 1
const endsAt = performance.now() + (minutes ?? 0) * 60_000
const isDue = (seed: number) => (minutes === undefined ? seed <= last : performance.now() < endsAt)
const failed: number[] = []
let seed = first
for (; isDue(seed); seed++) {
  const asked = {
    seed,
    steps: positive("steps", values.steps),
    features,
    ...(hostility === undefined ? {} : { hostility }),
  }
  const startedAt = performance.now()
  const compared = compareIn && (await compareIn(asked))
  const { violations, trace, fingerprint, lies } = compared?.inNode ?? (await simulate(asked))
  if (values.trace) console.log(trace.join("\n"))
  const took = Math.round(performance.now() - startedAt)
  console.log(`seed ${seed}: ${trace.length} things done, ${lies} lies, ${took} ms, ${fingerprint}`)
  const found = compared?.difference === undefined ? violations : [...violations, compared.difference]
  for (const violation of found) console.log(`  ${violation}`)
  if (found.length > 0) failed.push(seed)
}
if (minutes !== undefined) console.log(`${seed - first} seeds, ${failed.length} failed: ${failed.join(", ") || "none"}`)
if (failed.length > 0) process.exitCode = 1

/** A run without a core needs no engine. */
async function comparing(name: string) {
  if (name !== "wasm" && name !== "native") fail(`There is no core ${name}. There are: wasm, native.`)
  const { compare } = await import("./cores/compare.ts")
  const core =
    name === "wasm"
      ? await (await import("./cores/wasm-core.ts")).wasmCore()
      : await (await import("./cores/native-core.ts")).nativeCore()
  return (play: Parameters<typeof compare>[0]) => compare(play, core)
}

function positive(name: string, text: string): number {
  const number = Number(text)
  if (number > 0 && (Number.isSafeInteger(number) || name === "minutes")) return number
  fail(`--${name} ${text} is no positive ${name === "minutes" ? "number" : "whole number"}.`)
}

function fail(message: string): never {
  console.error(message)
  process.exit(2)
}
