import { type UnderTestOptions, underTest } from "../../../node/testing/under-test.ts"
import { createFront } from "../front/front.ts"

/** The services under test on the front. */
export function frontUnderTest(options: UnderTestOptions) {
  const { faults, reached, health, called } = underTest(options)
  const front = createFront({
    ...called,
    // As in worker.ts: health has no rules to check.
    open: {
      routes: health.routes,
      interceptors: called.interceptors.filter((interceptor) => !options.checks?.includes(interceptor)),
    },
    isAllowedOrigin: async (origin) => origin === "https://app.example",
    isReady: async () => true,
    addressOf: () => "203.0.113.7",
  })
  return { front, faults, reached }
}
