import { Refused } from "@signet/kernel/errors"

/**
 * Reads a request's body.
 *
 * @throws Refused BODY_TOO_LARGE before a longer body is held, CANCELED when the caller disconnects, DEADLINE_EXCEEDED
 *   when the body does not arrive in time.
 */
export async function readBody(request: Request, maxBytes: number, timeoutMs = 30_000): Promise<Uint8Array> {
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) throw new Refused("BODY_TOO_LARGE")
  if (request.body === null) return new Uint8Array()
  const reader = request.body.getReader()
  const chunks: Uint8Array[] = []
  let length = 0
  try {
    await within(timeoutMs, async () => {
      for (;;) {
        const { done, value } = await reader.read().catch(gone)
        if (done) return
        length += value.length
        if (length > maxBytes) throw new Refused("BODY_TOO_LARGE")
        chunks.push(value)
      }
    })
  } finally {
    // The sender of the answer may drop the rest.
    reader.releaseLock()
  }
  return joined(chunks, length)
}

/** How long the rest of an answered request is read, in milliseconds, and how much of it. */
const lenienceMs = 1_000
const lenienceBytes = 16_777_216

/**
 * Reads and drops the unread rest of a request's body: a caller that is still sending would lose the answer. Bounded in
 * time; failures are ignored.
 */
export async function dropRest(request: Request): Promise<void> {
  if (request.body === null || request.body.locked) return
  const reader = request.body.getReader()
  let length = 0
  await within(lenienceMs, async () => {
    while (length < lenienceBytes) {
      const { done, value } = await reader.read()
      if (done) return
      length += value.length
    }
  }).catch(() => undefined)
}

/** @throws Refused DEADLINE_EXCEEDED when the work takes longer. */
async function within(timeoutMs: number, work: () => Promise<void>): Promise<void> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Refused("DEADLINE_EXCEEDED")), timeoutMs)
  try {
    await Promise.race([work(), late.promise])
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
