import { type UnderTestOptions, underTest } from "../../../node/testing/under-test.ts"
import { createFront } from "../front/front.ts"

/** The tested services on the front. */
export function frontUnderTest(options: UnderTestOptions) {
  const { faults, reached, health, called } = underTest(options)
  const front = createFront({
    ...called,
    routes(router) {
      called.routes(router)
      health.routes(router)
    },
    isAllowedOrigin: async (origin) => origin === "https://app.example",
    isReady: async () => true,
  })
  return { front, faults, reached }
}
