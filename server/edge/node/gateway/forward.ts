// Connect, gRPC-Web and REST, which the target speaks itself: passed on as they come, over HTTP/1.1.
import type { IncomingMessage, ServerResponse } from "node:http"
import { pipeline } from "node:stream/promises"
import { Refused } from "@signet/kernel/errors"
import { toldError } from "../../../serving/errors.ts"
import { callSignal } from "./call-signal.ts"
import { atMost } from "./frames.ts"
import type { Inside } from "./gateway.ts"
import { answerHeaders, hasBody, onwardHeaders } from "./headers.ts"
import { refuse } from "./refuse.ts"

export async function forward(inside: Inside, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = request.url ?? ""
  const isStream = inside.methods.get(path)?.methodKind === "server_streaming"
  // The caller's own deadline is the target's to keep.
  const call = callSignal(inside, response, { timeoutMs: undefined, isStream })
  try {
    // Neither `*` nor an address that names another host.
    if (!path.startsWith("/")) throw new Refused("MALFORMED_REQUEST")
    const length = request.headers["content-length"]
    if (Number(length ?? 0) > inside.maxBodyBytes) throw new Refused("BODY_TOO_LARGE")
    const answer = await call.whole(
      inside.target.send({
        method: request.method ?? "GET",
        path,
        headers: {
          ...onwardHeaders(request, inside.moreHeaders),
          ...(length === undefined ? {} : { "content-length": length }),
        },
        body: hasBody(request) ? atMost(inside.maxBodyBytes, request) : undefined,
        signal: call.signal,
      }),
    )
    call.bodyIsRead()
    response.writeHead(answer.statusCode ?? 502, answerHeaders(answer.headers))
    response.flushHeaders()
    await pipeline(answer, response, { signal: call.signal })
  } catch (thrown) {
    if (response.headersSent) response.destroy()
    else refuse(toldError(call.signal.aborted ? call.ended() : thrown, inside.onFault), request, response)
  } finally {
    call.close()
  }
}
