// A Worker with counter objects for tests. Requests and answers are texts of ../../plain.ts.
import type { LimitCounts } from "@signet/kernel/limits/ports"
import { createCounts } from "../../counter/counts.ts"
import type { CounterObject } from "../../counter/object.ts"
import type { Objects } from "../../env.ts"
import { fromText, toText } from "../../plain.ts"

export { CounterObject } from "../../counter/object.ts"

interface Call {
  readonly method: keyof LimitCounts
  readonly args: readonly unknown[]
}

export default {
  async fetch(request: Request, env: { readonly COUNTERS: Objects<CounterObject> }): Promise<Response> {
    const { method, args } = fromText<Call>(await request.text())
    const counts = createCounts(env.COUNTERS)
    return new Response(toText({ answer: await Reflect.apply(counts[method], counts, args) }))
  },
}
