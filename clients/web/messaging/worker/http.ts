import { create, type MessageInitShape } from "@bufbuild/protobuf"
import { type HttpPiece, HttpPieceSchema, type HttpRequest, type HttpResponseSchema } from "@signet/proto/host/v1/host"
import { boundedFetch } from "../bounded.ts"

type Response = MessageInitShape<typeof HttpResponseSchema>
type Head = Pick<HttpPiece, "status"> & { headers: { name: string; value: string }[] }

/** A request to another origin than the messaging service's. */
export class OtherOrigin extends Error {}

/**
 * Sends the core's requests, without cookies, and to one origin only.
 *
 * @param baseUrl A URL of that origin.
 */
export function createHttp(baseUrl: string, send: typeof fetch = (...call) => fetch(...call)) {
  const { origin } = new URL(baseUrl)
  const bounded = boundedFetch(send)
  return async (
    { method, url, headers, body, timeoutMs, isStream }: HttpRequest,
    signal: AbortSignal,
    push: (piece: HttpPiece) => void,
  ): Promise<Response> => {
    if (new URL(url).origin !== origin) throw new OtherOrigin("the core may call the messaging service only")
    const limits = timeoutMs > 0 ? [signal, AbortSignal.timeout(timeoutMs)] : [signal]
    const response = await bounded(url, {
      method,
      headers: headers.map(({ name, value }): [string, string] => [name, value]),
      ...(method === "GET" ? {} : { body: new Uint8Array(body) }),
      signal: AbortSignal.any(limits),
      ...({ redirect: "error", credentials: "omit", cache: "no-store" } as const),
    })
    const head: Head = { status: response.status, headers: [] }
    response.headers.forEach((value, name) => {
      head.headers.push({ name, value })
    })
    if (!isStream) return { ...head, body: new Uint8Array(await response.arrayBuffer()) }
    const pushed = (piece: MessageInitShape<typeof HttpPieceSchema>) => push(create(HttpPieceSchema, piece))
    pushed(head)
    const reader = response.body?.getReader()
    for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) {
      pushed({ body: read.value })
    }
    return head
  }
}
