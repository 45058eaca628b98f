// Reads the revocation feed for the isolates of a region, so that the auth service has one reader per region.
// Statements are signed and valid for a minute, and every isolate verifies them. Nothing is stored: a new object reads
// again.
import { DurableObject } from "cloudflare:workers"
import { StatusError } from "@signet/guard/fetch-text"
import type { WorkerEnv } from "../env.ts"
import { createServiceClient } from "../service-client.ts"
import { parseSettings } from "../settings.ts"
import { createRelay, type Relay } from "./relay.ts"

export class FeedObject extends DurableObject<WorkerEnv> {
  #relay: Relay | undefined

  override async fetch(request: Request): Promise<Response> {
    this.#relay ??= this.#open()
    const { pathname, search } = new URL(request.url)
    try {
      return new Response(await this.#relay(`${pathname}${search}`), {
        headers: { "content-type": "application/json" },
      })
    } catch (error) {
      // Without an answer the isolate's knowledge expires, and then it refuses calls.
      return new Response(null, { status: error instanceof StatusError ? error.status : 503 })
    }
  }

  #open(): Relay {
    const settings = parseSettings(this.env)
    const clock = { nowMs: () => Date.now() }
    const { readText } = createServiceClient(settings, clock)
    return createRelay({ ask: readText, clock })
  }
}
