// Cross-origin calls (Fetch standard, CORS protocol): exact origins of the apps, never a wildcard with credentials.

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
/** Browsers cap it at two hours. */
const preflightSeconds = "7200"

export interface CrossOrigin {
  /** For every answer to the request. */
  readonly headers: Readonly<Record<string, string>>
  /** It was a preflight, and is answered with these headers and 204. */
  readonly isPreflight: boolean
}

/**
 * Marks answers for pages of the app's origins; others get no header and so no answer.
 *
 * @param header Of the request.
 * @param isAllowed While it fails nobody knows whose page it is, so it is nobody's.
 */
export async function crossOrigin(
  verb: string,
  header: (name: string) => string | null | undefined,
  isAllowed: (origin: string) => Promise<boolean>,
): Promise<CrossOrigin> {
  // On every answer: one that a shared cache keeps for a caller without an origin is not the one that a page may read.
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
