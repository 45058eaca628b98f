// The only way out: requests to addresses of the configuration, bounded in time and size, never redirected.
import { isServerAddress } from "@signet/kernel/administration/address"
import { Refused } from "@signet/kernel/errors"

/** The part of `fetch` that providers use, so that a program can put its own in. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** How requests go out, and where to. */
export interface Outbound {
  readonly fetch: Fetch
  /** A stand-in on this machine itself may be asked, without TLS: the development profile and tests. */
  readonly isLoopbackAllowed: boolean
}

/** Requests go out by the platform's own `fetch`, unless the program has another. */
export function outbound(deps: { fetch?: Fetch; isLoopbackAllowed: boolean }): Outbound {
  return { fetch: deps.fetch ?? ((url, init) => fetch(url, init)), isLoopbackAllowed: deps.isLoopbackAllowed }
}

/** How long a provider may take to answer whole, and how much it may answer. */
export const limits = { timeoutMs: 5_000, maxBytes: 65_536 }

export interface JsonAnswer {
  status: number
  body: unknown
}

/**
 * Asks a provider.
 *
 * @param url Of the configuration: https at a public name, or where that is allowed this machine itself.
 * @throws Refused UPSTREAM_UNAVAILABLE when it does not answer in JSON in time and size, or answers elsewhere.
 */
export function requestJson(out: Outbound, url: string, init: RequestInit): Promise<JsonAnswer> {
  return request(out, url, init, readJson)
}

/** As requestJson, of a call whose success says nothing: its body is not read, and undefined in the answer. */
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
  // What administrators configure was judged then; what came into the database in another way is judged here.
  if (!isServerAddress(url, isLoopbackAllowed))
    throw unavailable("the configured address is not allowed: it must be HTTPS with a public host")
  try {
    const signal = AbortSignal.timeout(limits.timeoutMs)
    // "manual", because a followed redirect would lead to an address that nobody configured.
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
    // Leaving the loop cancels the rest of the body.
    if (size > limits.maxBytes) throw unavailable("the response exceeds the size limit")
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}

async function discard(response: Response): Promise<void> {
  await response.body?.cancel()
}

/** The sentence goes to the log as the cause; the caller reads only that the provider does not answer. */
export function unavailable(why: string, cause?: unknown): Refused {
  return new Refused("UPSTREAM_UNAVAILABLE", { cause: new Error(why, { cause }) })
}
