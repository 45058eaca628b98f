// The back channel of the stand-in for IDP_B: /auth/token and /auth/revoke. Requires the team's key.
import { randomBytes } from "node:crypto"
import { errors, importSPKI, jwtVerify } from "jose"
import { clientKeyId, idpBIssuers, teamId } from "./idp-b-clients.ts"
import type { IdpBState } from "./idp-b-state.ts"

export interface Answer {
  status: number
  /** Absent: no body. */
  body?: object
}

/** Half a year. Longer client secrets are refused. */
const maxSecretLifeSeconds = 15_777_000

const refused = (error: string): Answer => ({ status: 400, body: { error } })

export async function answerToken(state: IdpBState, form: URLSearchParams): Promise<Answer> {
  const clientId = await authenticate(state, form)
  if (clientId === undefined) return refused("invalid_client")
  switch (form.get("grant_type")) {
    case "authorization_code": {
      const grant = state.grants.takeCode(form.get("code") ?? "")
      const isRight = grant?.clientId === clientId && grant.redirectUri === (form.get("redirect_uri") ?? "")
      if (!isRight) return refused("invalid_grant")
      const refreshToken = state.grants.issueRefreshToken(grant)
      return { status: 200, body: { ...accessToken(), refresh_token: refreshToken, id_token: await state.mint(grant) } }
    }
    case "refresh_token": {
      const grant = state.grants.findRefreshToken(form.get("refresh_token") ?? "")
      if (grant?.clientId !== clientId) return refused("invalid_grant")
      return { status: 200, body: { ...accessToken(), id_token: await state.mint({ ...grant, nonce: undefined }) } }
    }
    default:
      return refused("unsupported_grant_type")
  }
}

/** The answer does not reveal whether the token existed. */
export async function answerRevoke(state: IdpBState, form: URLSearchParams): Promise<Answer> {
  const clientId = await authenticate(state, form)
  if (clientId === undefined) return refused("invalid_client")
  const token = form.get("token") ?? ""
  if (token === "") return refused("invalid_request")
  state.grants.revoke(token, clientId)
  return { status: 200 }
}

const accessToken = () => ({
  access_token: `a${randomBytes(24).toString("hex")}`,
  token_type: "Bearer",
  expires_in: 3_600,
})

/** Returns the client whose team signed the request's client secret; undefined if none. */
async function authenticate(state: IdpBState, form: URLSearchParams): Promise<string | undefined> {
  const clientId = form.get("client_id") ?? ""
  if (!state.clients.some((client) => client.clientId === clientId)) return undefined
  const nowSeconds = Math.floor(state.clock.nowMs() / 1000)
  try {
    const { payload, protectedHeader } = await jwtVerify(
      form.get("client_secret") ?? "",
      await importSPKI(state.teamKey.publicPem, "ES256"),
      {
        algorithms: ["ES256"],
        issuer: teamId,
        subject: clientId,
        audience: idpBIssuers[0],
        requiredClaims: ["iat", "exp"],
        currentDate: new Date(nowSeconds * 1000),
      },
    )
    const isShort = (payload.exp ?? Infinity) - (payload.iat ?? 0) <= maxSecretLifeSeconds
    return protectedHeader.kid === clientKeyId && isShort ? clientId : undefined
  } catch (error) {
    if (error instanceof errors.JOSEError) return undefined
    throw error
  }
}
