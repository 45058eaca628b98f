import { expect, test } from "vitest"
import { decode } from "./canonical.ts"
import { codeOf } from "./testing/code-of.ts"
import { malformedVariants } from "./testing/malformed.ts"
import { samples } from "./testing/samples.ts"

test.each(samples.filter(({ bytes }) => bytes.length < 1000))(
  "$file, $name: every malformed variant is refused for its reason",
  (sample) => {
    const variants = malformedVariants(sample)
    expect(variants.length).toBeGreaterThan(30)
    const outcomes = variants.map(({ name, bytes }) => `${name}: ${codeOf(() => decode(sample.schema, bytes))}`)
    expect(outcomes).toEqual(variants.map(({ name, code }) => `${name}: ${code}`))
  },
)
