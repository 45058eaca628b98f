import { expect, test } from "vitest"
import { effort } from "../../test/support/effort.ts"
import { toHex } from "./bytes.ts"
import { decode, encode } from "./canonical.ts"
import { codeOf } from "./testing/code-of.ts"
import { mutate, randomOf } from "./testing/mutations.ts"
import { accepts } from "./testing/oracle.ts"
import { samples } from "./testing/samples.ts"

const inputs = effort(2_000, 50_000, 1_000_000)
const seed = Number(process.env.SIGNET_SEED ?? 20_261_121)
const small = samples.filter(({ bytes }) => bytes.length < 1000)

test(`two decoders agree on ${inputs} mutated inputs, and re-encoding reproduces the accepted ones`, () => {
  const random = randomOf(seed)
  let taken = 0
  for (let count = 0; count < inputs; count++) {
    const sample = small[random(small.length)]
    if (sample === undefined) continue
    const bytes = mutate(sample.bytes, random)
    const where = `seed ${seed}, ${sample.name}, ${toHex(bytes)}`
    const code = codeOf(() => decode(sample.schema, bytes))
    expect(code === "ok", `${where}: ${code}`).toBe(accepts(sample.schema, bytes))
    if (code !== "ok") continue
    taken++
    expect(toHex(encode(sample.schema, decode(sample.schema, bytes))), where).toBe(toHex(bytes))
  }
  // Otherwise the mutations would only show that garbage is refused.
  expect(taken).toBeGreaterThan(inputs / 10)
  expect(taken).toBeLessThan((inputs * 2) / 3)
}, 3_600_000)
