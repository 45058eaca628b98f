// Forwards Connect, gRPC-Web and REST, which the target speaks itself, over HTTP/1.1.
import type { IncomingMessage, ServerResponse } from "node:http"
import { pipeline } from "node:stream/promises"
import { Refused } from "@signet/kernel/errors"
import { toConnectError } from "../../../serving/errors.ts"
import { callSignal } from "./call-signal.ts"
import { atMost } from "./frames.ts"
import type { GatewayContext } from "./gateway-context.ts"
import { answerHeaders, hasBody, onwardHeaders } from "./headers.ts"
import { refuse } from "./refuse.ts"

export async function forward(
  context: GatewayContext,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const path = request.url ?? ""
  const isStream = context.methods.get(path)?.methodKind === "server_streaming"
  // The target enforces the caller's own deadline.
  const call = callSignal(context, response, { timeoutMs: undefined, isStream })
  try {
    // Refuses `*`, and a URL that names another host.
    if (!path.startsWith("/")) throw new Refused("MALFORMED_REQUEST")
    const length = request.headers["content-length"]
    if (Number(length ?? 0) > context.maxBodyBytes) throw new Refused("BODY_TOO_LARGE")
    const answer = await call.whole(
      context.target.send({
        method: request.method ?? "GET",
        path,
        headers: {
          ...onwardHeaders(request, context.moreHeaders),
          ...(length === undefined ? {} : { "content-length": length }),
        },
        body: hasBody(request) ? atMost(context.maxBodyBytes, request) : undefined,
        signal: call.signal,
      }),
    )
    call.bodyIsRead()
    response.writeHead(answer.statusCode ?? 502, answerHeaders(answer.headers))
    response.flushHeaders()
    await pipeline(answer, response, { signal: call.signal })
  } catch (thrown) {
    if (response.headersSent) response.destroy()
    else refuse(toConnectError(call.signal.aborted ? call.ended() : thrown, context.onFault), request, response)
  } finally {
    call.close()
  }
}
