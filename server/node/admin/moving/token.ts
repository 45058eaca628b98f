/** A token is renewed this many seconds before it expires. */
const spareSeconds = 60

/**
 * Returns a function that yields a service's access token and renews it before it expires.
 *
 * @throws Error with the auth service's answer, without secrets.
 */
export function createBearer(of: {
  readonly issuer: string
  readonly clientId: string
  readonly secret: string
  readonly audience: string
}): () => Promise<string> {
  let token = ""
  let untilMs = 0
  return async () => {
    if (Date.now() < untilMs) return token
    const response = await fetch(`${of.issuer}/auth/token`, {
      method: "POST",
      headers: {
        authorization: `Basic ${Buffer.from(`${encodeURIComponent(of.clientId)}:${encodeURIComponent(of.secret)}`).toString("base64")}`,
      },
      body: new URLSearchParams({
        grant_type: "client_credentials",
        audience: of.audience,
        scope: "messaging.transfer",
      }),
    })
    const answer: unknown = await response.json().catch(() => undefined)
    const { access_token: accessToken, expires_in: seconds, error } = fieldsOf(answer)
    if (!response.ok || typeof accessToken !== "string" || typeof seconds !== "number") {
      throw new Error(`The auth service issued no token: ${typeof error === "string" ? error : response.status}.`)
    }
    token = accessToken
    untilMs = Date.now() + (seconds - spareSeconds) * 1_000
    return token
  }
}

const fieldsOf = (answer: unknown): { access_token?: unknown; expires_in?: unknown; error?: unknown } =>
  typeof answer === "object" && answer !== null ? answer : {}
