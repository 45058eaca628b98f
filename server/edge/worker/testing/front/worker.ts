// The tested front as a Worker: workerd's handling of requests, answers and streams.

import { services } from "../../../../node/testing/under-test.ts"
import { validate } from "../../../../serving/interceptors/validate.ts"
import { frontUnderTest } from "../front-under-test.ts"

const inputs = services.flatMap(({ methods }) => methods.map(({ input }) => input))
const { front, faults, reached } = frontUnderTest({ checks: [validate(inputs)] })

export default {
  async fetch(request: Request): Promise<Response> {
    // The faults and reached handlers since the last read.
    if (new URL(request.url).pathname === "/seen") {
      return Response.json({ faults: faults.splice(0).length, reached: reached.splice(0) })
    }
    return front(request)
  },
}
