// Reads the revocation feed for the isolates of a region: however many they are, the auth service is asked once in a while.
// What it says is signed and good for a minute, and every isolate verifies it, so nothing is kept: an object that begins
// anew asks anew.
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
      // Without a word, the isolate's knowledge grows old, and then it refuses.
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
