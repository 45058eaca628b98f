// Browsers hide the cause of a call that CORS blocked: it looks like an unreachable service. Two probes distinguish
// them.
import { SignetError } from "@signet/client"

/** A public, small resource of every service. */
const probePath = "/.well-known/jwks.json"
const probeMs = 3_000

/** The platform's fetch, with an error that names the origin missing from the app's settings. */
export function explainedFetch(authBaseUrl: string, send: typeof fetch = globalThis.fetch): typeof fetch {
  // Read at each call, so that a page's replacement of fetch is used.
  const call: typeof fetch = (input, init) =>
    send === globalThis.fetch ? globalThis.fetch(input, init) : send(input, init)
  /** True after an answer: pages of this origin are allowed. */
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
        `${authBaseUrl} rejects pages of ${origin}: add ${origin} to the app's allowedOrigins`,
        { cause: error },
      )
    }
  }
}
