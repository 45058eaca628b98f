// HTTP effects over Node's fetch.
import { create } from "@bufbuild/protobuf"
import {
  type EffectResult,
  EffectResultSchema,
  type HttpRequest,
  EffectFailure_Kind as Kind,
} from "@signet/proto/host/v1/host"
import type { Performing } from "../wasm/platform.ts"

/** The most bytes of an answer that is no stream. */
const mostBytes = 32 * 1024 * 1024

export async function performHttp(
  { method, url, headers, body, timeoutMs, isStream }: HttpRequest,
  { signal, push }: Performing,
): Promise<EffectResult["result"]> {
  const limit = timeoutMs > 0 ? AbortSignal.timeout(timeoutMs) : undefined
  try {
    const response = await fetch(url, {
      method,
      headers: headers.map(({ name, value }): [string, string] => [name, value]),
      // The core gets the status, as in libsignet. workerd does not know "error".
      redirect: "manual",
      signal: limit === undefined ? signal : AbortSignal.any([signal, limit]),
      ...(method !== "GET" && { body: new Uint8Array(body) }),
    })
    const head = {
      status: response.status,
      headers: [...response.headers].map(([name, value]) => ({ name, value })),
    }
    if (!isStream) return answer({ ...head, body: await readAll(response) })
    const init = create(EffectResultSchema, { result: { case: "http", value: head } }).result
    push({ ...head, headers: init.case === "http" ? init.value.headers : [], body: new Uint8Array() })
    for await (const piece of response.body ?? []) push({ status: 0, headers: [], body: new Uint8Array(piece) })
    return answer(head)
  } catch {
    const kind = limit?.aborted === true ? Kind.TIMED_OUT : Kind.UNREACHABLE
    return create(EffectResultSchema, { result: { case: "failure", value: { kind } } }).result
  }
}

interface Head {
  readonly status: number
  readonly headers: { name: string; value: string }[]
  readonly body?: Uint8Array<ArrayBuffer>
}

const answer = (value: Head): EffectResult["result"] =>
  create(EffectResultSchema, { result: { case: "http", value } }).result

async function readAll(response: Response): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of response.body ?? []) {
    size += piece.length
    if (size > mostBytes) throw new RangeError("the answer is too long")
    pieces.push(piece)
  }
  return new Uint8Array(Buffer.concat(pieces))
}
