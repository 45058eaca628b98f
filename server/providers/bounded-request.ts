// Requests to providers: only to configured addresses, limited in time and size, and without redirects.
import { isServerAddress } from "@signet/kernel/administration/address"
import { Refused } from "@signet/kernel/errors"

/** The part of `fetch` that providers use. A program may replace it. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** How requests are sent, and which addresses are allowed. */
export interface Outbound {
  readonly fetch: Fetch
  /** Allows a stand-in at a loopback address without TLS: for the development profile and tests. */
  readonly isLoopbackAllowed: boolean
}

/** @param deps.fetch Default: the platform's `fetch`. */
export function outbound(deps: { fetch?: Fetch; isLoopbackAllowed: boolean }): Outbound {
  return { fetch: deps.fetch ?? ((url, init) => fetch(url, init)), isLoopbackAllowed: deps.isLoopbackAllowed }
}

/** Limits of a response: the time until its last byte, and its size. */
export const limits = { timeoutMs: 5_000, maxBytes: 65_536 }

export interface JsonAnswer {
  status: number
  body: unknown
}

/**
 * Sends a request to a provider and reads its JSON response.
 *
 * @param url From the configuration: https with a public host, or a loopback address where that is allowed.
 * @throws Refused UPSTREAM_UNAVAILABLE for a response that is late, too large, no JSON, or a redirect.
 */
export function requestJson(out: Outbound, url: string, init: RequestInit): Promise<JsonAnswer> {
  return request(out, url, init, readJson)
}

/** As requestJson, for a call whose success has no content: the body is not read, and is undefined in the answer. */
export function requestEffect(out: Outbound, url: string, init: RequestInit): Promise<JsonAnswer> {
  return request(out, url, init, async (response) => {
    if (!response.ok) return readJson(response)
    await discard(response)
    return { status: response.status, body: undefined }
  })
}

async function request(
  { fetch: send, isLoopbackAllowed }: Outbound,
  url: string,
  init: RequestInit,
  read: (response: Response) => Promise<JsonAnswer>,
): Promise<JsonAnswer> {
  // Addresses from administrators were validated when they were stored. This check covers rows written in another way.
  if (!isServerAddress(url, isLoopbackAllowed))
    throw unavailable("the configured address is not allowed: it must be HTTPS with a public host")
  try {
    const signal = AbortSignal.timeout(limits.timeoutMs)
    // "manual": a redirect could lead to an address that is not configured.
    const response = await send(url, { ...init, redirect: "manual", credentials: "omit", signal })
    if (response.status >= 300 && response.status < 400) {
      await discard(response)
      throw unavailable("it redirects")
    }
    return await read(response)
  } catch (cause) {
    throw cause instanceof Refused ? cause : unavailable("the request failed", cause)
  }
}

async function readJson(response: Response): Promise<JsonAnswer> {
  if (!/^application\/([a-z0-9.-]+\+)?json\s*(;|$)/i.test(response.headers.get("content-type") ?? "")) {
    await discard(response)
    throw unavailable("the response is not JSON")
  }
  return { status: response.status, body: JSON.parse(await readText(response)) }
}

async function readText(response: Response): Promise<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true })
  let text = ""
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    // The throw ends the loop, which cancels the rest of the body.
    if (size > limits.maxBytes) throw unavailable("the response exceeds the size limit")
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}

async function discard(response: Response): Promise<void> {
  await response.body?.cancel()
}

/** @param why For the log. The caller learns only that the provider is unavailable. */
export function unavailable(why: string, cause?: unknown): Refused {
  return new Refused("UPSTREAM_UNAVAILABLE", { cause: new Error(why, { cause }) })
}
