import { readText } from "./read-text.ts"

export interface FetchLimits {
  /** For the whole answer, from the first byte asked to the last one read. 5,000 ms. */
  readonly timeoutMs: number
  /** 65,536 bytes. */
  readonly maxBytes: number
}

/**
 * The body of a 200 answer. No redirect is followed: an address that was configured must not lead elsewhere.
 *
 * @throws for any other status, and beyond a limit.
 */
export async function fetchText(fetcher: typeof fetch, url: string, limits: FetchLimits): Promise<string> {
  const controller = new AbortController()
  const { promise: timedOut, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    const error = new Error("the answer took too long")
    controller.abort(error)
    reject(error)
  }, limits.timeoutMs)
  try {
    return await Promise.race([readBody(fetcher, url, limits.maxBytes, controller.signal), timedOut])
  } finally {
    clearTimeout(timer)
  }
}

async function readBody(fetcher: typeof fetch, url: string, maxBytes: number, signal: AbortSignal): Promise<string> {
  // "manual" and not "error": Workers do not know the latter.
  const response = await fetcher(url, { redirect: "manual", signal, headers: { accept: "application/json" } })
  if (response.status !== 200) {
    await response.body?.cancel()
    throw new Error(`status ${response.status}`)
  }
  return readText(response.body, maxBytes)
}
