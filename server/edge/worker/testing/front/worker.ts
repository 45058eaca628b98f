// The front under test as a Worker of its own: what workerd makes of requests, answers and streams.
import { frontUnderTest } from "../front-under-test.ts"

const { front, faults, reached } = frontUnderTest({})

export default {
  async fetch(request: Request): Promise<Response> {
    // What was heard and reached since it was last asked.
    if (new URL(request.url).pathname === "/seen") {
      return Response.json({ faults: faults.splice(0).length, reached: reached.splice(0) })
    }
    return front(request)
  },
}
