// Answers of the stand-in for IDP_B without a browser, for a quick start and for tests.
import { createHash, randomBytes, randomUUID } from "node:crypto"
import { developmentAppId } from "./app-id.ts"
import type { IdpBClient } from "./idp-b-clients.ts"
import { firstAuthorizationOf, type IdpBPerson, idpBClaimsOf, idpBSubjectOf, parseIdpBPerson } from "./idp-b-person.ts"
import type { IdpBState } from "./idp-b-state.ts"

export const notificationTypes = [
  "consent-revoked",
  "account-delete",
  "account-deleted",
  "email-disabled",
  "email-enabled",
] as const

/**
 * Answers POST requests below the stand-in's path; undefined for an invalid request.
 *
 * - `/id-token`: an identity token and the nonce that the app sends with it.
 * - `/login-request`: the body for POST /auth/login/idp-b, with a code if `credential` is "code".
 * - `/notification`: the body that the provider posts when the user's account changes.
 * - `/switches`: changes the provider's behavior.
 *
 * @param fields `{email, name?, hidesEmail?, nonce?, platform?}`, by default Ada on the web; `type` for notifications;
 * `{down?, delayMs?, issuer?}` for switches.
 */
export async function answerIdpBDirectly(
  state: IdpBState,
  path: string,
  fields: Record<string, unknown>,
): Promise<object | undefined> {
  switch (path) {
    case "/id-token":
      return idToken(state, fields)
    case "/login-request":
      return loginRequest(state, fields)
    case "/notification":
      return notification(state, fields)
    case "/switches":
      return turn(state, fields)
    default:
      return undefined
  }
}

interface Asked {
  person: IdpBPerson
  client: IdpBClient
  /** As stored by the app. */
  nonce: string
  /** As sent to the provider. */
  carried: string
}

function parseAsked({ clients }: IdpBState, fields: Record<string, unknown>): Asked | undefined {
  const { nonce = randomBytes(12).toString("base64url"), platform = "WEB", ...rest } = fields
  const person = parseIdpBPerson(rest)
  const client = clients.find((one) => one.platform === platform)
  if (person === undefined || client === undefined || typeof nonce !== "string") return undefined
  const hash = createHash("sha256").update(nonce)
  return { person, client, nonce, carried: client.nonceMode === "RAW" ? nonce : hash.digest("hex") }
}

async function idToken(state: IdpBState, fields: Record<string, unknown>): Promise<object | undefined> {
  const asked = parseAsked(state, fields)
  if (asked === undefined) return undefined
  const { person, client, carried, nonce } = asked
  return { id_token: await state.mint({ clientId: client.clientId, person, nonce: carried }), nonce }
}

async function loginRequest(state: IdpBState, fields: Record<string, unknown>): Promise<object | undefined> {
  const { credential = "idToken", ...rest } = fields
  const asked = parseAsked(state, rest)
  if (asked === undefined || (credential !== "idToken" && credential !== "code")) return undefined
  const { person, client, carried, nonce } = asked
  const { clientId, platform } = client
  const first = state.grants.consent({ clientId, person }) ? firstAuthorizationOf(person) : undefined
  const common = {
    appId: developmentAppId,
    platform,
    nonce,
    // The app forwards the data of the first authorization.
    ...(first && {
      profileHints: { name: `${first.name.firstName} ${first.name.lastName}`.trim(), email: first.email },
    }),
  }
  if (credential === "idToken") {
    return { ...common, idToken: await state.mint({ clientId, person, nonce: carried }) }
  }
  const [redirectUri = ""] = client.redirectUris
  const code = state.grants.issueCode({ clientId, person, redirectUri, nonce: carried })
  return { ...common, authorizationCode: { code, ...(redirectUri && { redirectUri }) } }
}

async function notification(state: IdpBState, fields: Record<string, unknown>): Promise<object | undefined> {
  const { type: asked = "consent-revoked", ...rest } = fields
  const type = notificationTypes.find((one) => one === asked)
  const person = parseAsked(state, rest)
  if (type === undefined || person === undefined) return undefined
  const nowMs = state.clock.nowMs()
  const iat = Math.floor(nowMs / 1000)
  const event = {
    type,
    sub: idpBSubjectOf(person.person),
    event_time: nowMs,
    ...(type.startsWith("email-") ? { ...idpBClaimsOf(person.person), email_verified: undefined } : {}),
  }
  const payload = await state.keys.sign({
    iss: state.issuer(),
    aud: person.client.clientId,
    iat,
    exp: iat + 86_400,
    jti: randomUUID(),
    // A string: the real provider nests JSON in a string, too.
    events: JSON.stringify(event),
  })
  return { payload }
}

function turn({ switches }: IdpBState, fields: Record<string, unknown>): object | undefined {
  const { down = switches.down, delayMs = switches.delayMs, issuer = switches.issuer, ...unknown } = fields
  if (Object.keys(unknown).length > 0 || typeof down !== "boolean") return undefined
  if (typeof delayMs !== "number" || !(delayMs >= 0 && delayMs <= 60_000)) return undefined
  if (issuer !== "first" && issuer !== "second") return undefined
  return Object.assign(switches, { down, delayMs, issuer })
}
