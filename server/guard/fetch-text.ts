import { readText } from "./read-text.ts"

export interface FetchLimits {
  /** Limit for the whole request, until the last byte is read. 5,000 ms. */
  readonly timeoutMs: number
  /** 65,536 bytes. */
  readonly maxBytes: number
}

/** Thrown for a status other than 200. */
export class StatusError extends Error {
  readonly status: number
  constructor(status: number) {
    super(`status ${status}`)
    this.status = status
  }
}

/**
 * Returns the body of a 200 response. Redirects are not followed: a configured address must not lead elsewhere.
 *
 * @throws StatusError for any other status; another error if a limit is exceeded.
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
    // "manual" instead of "error", which Workers do not support.
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
