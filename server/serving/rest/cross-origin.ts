// Cross-origin calls (CORS protocol of the Fetch standard): exact origins of the apps, and no wildcard with
// credentials.

const allowedMethods = "GET, POST, PATCH, DELETE"
const allowedHeaders = [
  "authorization",
  "connect-protocol-version",
  "connect-timeout-ms",
  "content-type",
  "grpc-timeout",
  "idempotency-key",
  "signet-device-proof",
  "traceparent",
  "tracestate",
  "x-grpc-web",
  "x-signet-client",
  "x-user-agent",
].join(", ")
const exposedHeaders =
  "grpc-status, grpc-message, grpc-status-details-bin, ratelimit, ratelimit-policy, retry-after, www-authenticate"
/** The longest time that browsers permit: two hours. */
const preflightSeconds = "7200"

interface CrossOrigin {
  /** For every answer to the request. */
  readonly headers: Readonly<Record<string, string>>
  /** True for a preflight, which is answered with these headers and 204. */
  readonly isPreflight: boolean
}

/**
 * The CORS headers for pages of the apps' origins; other origins get none.
 *
 * @param header Reads a header of the request.
 * @param isAllowed A failure counts as not allowed.
 */
export async function crossOrigin(
  verb: string,
  header: (name: string) => string | null | undefined,
  isAllowed: (origin: string) => Promise<boolean>,
): Promise<CrossOrigin> {
  // On every answer: a shared cache must not serve an answer without an origin to a page.
  const vary = { vary: "Origin" }
  const origin = header("origin")
  if (origin == null || !(await isAllowed(origin).catch(() => false))) return { headers: vary, isPreflight: false }
  const headers = {
    ...vary,
    "access-control-allow-origin": origin,
    "access-control-allow-credentials": "true",
    "access-control-expose-headers": exposedHeaders,
  }
  if (verb !== "OPTIONS" || header("access-control-request-method") == null) return { headers, isPreflight: false }
  return {
    headers: {
      ...headers,
      "access-control-allow-methods": allowedMethods,
      "access-control-allow-headers": allowedHeaders,
      "access-control-max-age": preflightSeconds,
    },
    isPreflight: true,
  }
}
