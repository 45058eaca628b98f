import { readText } from "./read-text.ts"

export interface FetchLimits {
  /** For the whole answer, from the first byte asked to the last one read. 5,000 ms. */
  readonly timeoutMs: number
  /** 65,536 bytes. */
  readonly maxBytes: number
}

/** An answer that is not 200. */
export class StatusError extends Error {
  readonly status: number
  constructor(status: number) {
    super(`status ${status}`)
    this.status = status
  }
}

/**
 * The body of a 200 answer. No redirect is followed: an address that was configured must not lead elsewhere.
 *
 * @throws StatusError for any other status; any error beyond a limit.
 */
export async function fetchText(
  fetcher: typeof fetch,
  url: string,
  limits: FetchLimits,
  request: Pick<RequestInit, "method" | "headers" | "body" | "signal"> = {},
): Promise<string> {
  const controller = new AbortController()
  let reject: (reason: unknown) => void = () => undefined
  const timedOut = new Promise<never>((_, fail) => {
    reject = fail
  })
  const timer = setTimeout(() => {
    const error = new Error("the response timed out")
    controller.abort(error)
    reject(error)
  }, limits.timeoutMs)
  const end = () => {
    controller.abort(request.signal?.reason)
    reject(request.signal?.reason)
  }
  if (request.signal?.aborted) end()
  request.signal?.addEventListener("abort", end)
  try {
    const headers = { accept: "application/json", ...request.headers }
    // "manual" and not "error": Workers do not know the latter.
    const init: RequestInit = { ...request, headers, redirect: "manual", signal: controller.signal }
    return await Promise.race([readBody(fetcher, url, limits.maxBytes, init), timedOut])
  } finally {
    clearTimeout(timer)
    request.signal?.removeEventListener("abort", end)
  }
}

async function readBody(fetcher: typeof fetch, url: string, maxBytes: number, init: RequestInit): Promise<string> {
  const response = await fetcher(url, init)
  if (response.status !== 200) {
    await response.body?.cancel()
    throw new StatusError(response.status)
  }
  return readText(response.body, maxBytes)
}
