import { Refused } from "@signet/kernel/errors"

/**
 * Reads a request's body.
 *
 * @throws Refused BODY_TOO_LARGE before more than that is held, CANCELED when the caller goes away meanwhile,
 * DEADLINE_EXCEEDED when it does not arrive in time.
 */
export async function readBody(request: Request, maxBytes: number, timeoutMs = 30_000): Promise<Uint8Array> {
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) throw new Refused("BODY_TOO_LARGE")
  if (request.body === null) return new Uint8Array()
  const reader = request.body.getReader()
  const late = Promise.withResolvers<never>()
  // Heard even when nothing waits for it any more.
  late.promise.catch(() => undefined)
  const timer = setTimeout(() => late.reject(new Refused("DEADLINE_EXCEEDED")), timeoutMs)
  const chunks: Uint8Array[] = []
  let length = 0
  try {
    for (;;) {
      const { done, value } = await Promise.race([reader.read().catch(gone), late.promise])
      if (done) return joined(chunks, length)
      length += value.length
      if (length > maxBytes) throw new Refused("BODY_TOO_LARGE")
      chunks.push(value)
    }
  } catch (thrown) {
    reader.cancel().catch(() => undefined)
    throw thrown
  } finally {
    clearTimeout(timer)
  }
}

const gone = (cause: unknown): never => {
  throw new Refused("CANCELED", { cause })
}

function joined(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const [only] = chunks
  if (chunks.length === 1 && only) return only
  const all = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    all.set(chunk, at)
    at += chunk.length
  }
  return all
}
