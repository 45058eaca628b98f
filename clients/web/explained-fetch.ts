// Browsers tell a page nothing of a call that CORS stopped: it looks like a service that is down. Asked again in two ways,
// the service shows which it is.
import { SignetError } from "@signet/client"

/** What is asked: public, small, and there wherever the service is. */
const probePath = "/.well-known/jwks.json"
const probeMs = 3_000

/** The platform's fetch, which names the origin that the app's settings lack. */
export function explainedFetch(authBaseUrl: string, send: typeof fetch = globalThis.fetch): typeof fetch {
  // Looked up at each call, so that what a page puts in its place is used.
  const call: typeof fetch = (input, init) =>
    send === globalThis.fetch ? globalThis.fetch(input, init) : send(input, init)
  /** An answer came: pages of this origin are allowed. */
  let isAllowed = false

  async function isRefused(): Promise<boolean> {
    const probe = (mode: RequestMode) =>
      call(authBaseUrl + probePath, {
        ...{ mode, credentials: "omit", cache: "no-store" },
        signal: AbortSignal.timeout(probeMs),
      }).then(
        () => true,
        () => false,
      )
    return !(await probe("cors")) && (await probe("no-cors"))
  }

  return async (input, init) => {
    try {
      const response = await call(input, init)
      isAllowed ||= String(input).startsWith(authBaseUrl)
      return response
    } catch (error) {
      const isUnexplained = error instanceof TypeError && !isAllowed && init?.signal?.aborted !== true
      if (!isUnexplained || !String(input).startsWith(authBaseUrl) || !(await isRefused())) throw error
      const origin = globalThis.location?.origin
      throw new SignetError(
        "ORIGIN_NOT_ALLOWED",
        `${authBaseUrl} answers no page of ${origin}: add ${origin} to the app's allowedOrigins`,
        { cause: error },
      )
    }
  }
}
