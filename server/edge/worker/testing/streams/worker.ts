// Streams without the services around them: a caller posts an interest and reads the hints that a handler would get.
import type { ConversationId } from "@signet/kernel/ids"
import type { Hint, Interest } from "@signet/kernel/messaging/wakeups"
import { realAfter } from "../../../../rpc/messaging/timers.ts"
import type { DurableEnv } from "../../../../store/durable/env.ts"
import { fromText, toText } from "../../../../store/durable/plain.ts"
import objects from "../../../../store/durable/testing/worker.ts"
import { createWakeups } from "../../streams/wakeups.ts"

export * from "../../../../store/durable/testing/worker.ts"

/** An interest as text, because JSON has no maps. */
export interface InterestText extends Omit<Interest, "conversations"> {
  readonly conversations: readonly (readonly [ConversationId, bigint])[]
}

export default {
  async fetch(request: Request, env: DurableEnv): Promise<Response> {
    const clock = { nowMs: () => Date.now() }
    const wakeups = createWakeups({ env, clock, after: realAfter, askEveryMs: 300, pingEveryMs: 300 })
    switch (new URL(request.url).pathname) {
      case "/publish":
        wakeups.publish(fromText<Hint[]>(await request.text()))
        return new Response()
      case "/subscribe": {
        const asked = fromText<InterestText>(await request.text())
        const interest: Interest = { ...asked, conversations: new Map(asked.conversations) }
        const encoder = new TextEncoder()
        const body = new ReadableStream<Uint8Array>({
          start(controller) {
            const write = (text: string) => controller.enqueue(encoder.encode(`${text}\n`))
            const { close } = wakeups.subscribe(interest, (hint) => write(toText(hint)))
            // Only a write detects a reader that has disconnected.
            const beat = setInterval(() => write(""), 100)
            write("")
            request.signal.addEventListener("abort", () => {
              clearInterval(beat)
              close()
            })
          },
        })
        // The platform would compress and buffer an answer of a text type.
        return new Response(body, { headers: { "content-type": "application/connect+json" } })
      }
      default:
        return objects.fetch(request, env)
    }
  },
}
