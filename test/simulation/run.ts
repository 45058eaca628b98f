// npm run simulate -- [--seed N] [--count N] [--steps N] [--hostility NAME] [--with FEATURE,FEATURE|all] [--trace]
import { parseArgs } from "node:util"
import { parseFeatures } from "./features.ts"
import { isHostility } from "./hostile.ts"
import { simulate } from "./simulate.ts"

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    count: { type: "string", default: "1" },
    steps: { type: "string", default: "60" },
    hostility: { type: "string" },
    with: { type: "string" },
    trace: { type: "boolean", default: false },
  },
})
const { hostility } = values
if (hostility !== undefined && !isHostility(hostility)) throw new Error(`no such hostility: ${hostility}`)
const features = values.with === undefined ? [] : parseFeatures(values.with)
const first = Number(values.seed)
for (let seed = first; seed < first + Number(values.count); seed++) {
  const asked = { seed, steps: Number(values.steps), features, ...(hostility === undefined ? {} : { hostility }) }
  const startedAt = performance.now()
  const { violations, trace, fingerprint, lies } = await simulate(asked)
  if (values.trace) console.log(trace.join("\n"))
  const took = Math.round(performance.now() - startedAt)
  console.log(`seed ${seed}: ${trace.length} things done, ${lies} lies, ${took} ms, ${fingerprint}`)
  for (const violation of violations) console.log(`  ${violation}`)
  if (violations.length > 0) process.exitCode = 1
}
