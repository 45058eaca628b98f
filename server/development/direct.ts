// ID tokens without a browser, for a quick start and for tests.
import { randomBytes } from "node:crypto"
import type { Clock } from "@signet/kernel/ports"
import type { DevelopmentClient } from "./app.ts"
import { developmentAppId } from "./app-id.ts"
import type { IdpKey } from "./idp-key.ts"
import { claimsOf, type Person, parsePerson, subjectOf } from "./person.ts"
import { parseFields } from "./raw-http.ts"

export interface Issuer {
  issuer: string
  key: IdpKey
  clients: readonly DevelopmentClient[]
  /** The connection of the app's clients here; empty for the default. */
  connection: string
  clock: Clock
}

/**
 * Answers POST /id-token, and POST /login-request with the body for POST /auth/login/idp-a, so that two commands and a
 * pipe sign in. Undefined for an invalid request.
 *
 * @param text `{email, name?, nonce?, platform?}` as JSON; empty for Ada on the web.
 */
export async function answerDirectly(
  issuer: Issuer,
  path: "/id-token" | "/login-request",
  text: string,
): Promise<object | undefined> {
  const asked = parseAsked(issuer.clients, text)
  if (asked === undefined) return undefined
  const { nonce, client } = asked
  const idToken = await mint(issuer, asked)
  return path === "/id-token"
    ? { id_token: idToken, nonce }
    : {
        ...{ appId: developmentAppId, platform: client.platform, nonce, idToken },
        ...(issuer.connection !== "" && { connection: issuer.connection }),
      }
}

interface Asked {
  person: Person
  nonce: string
  client: DevelopmentClient
}

function parseAsked(clients: readonly DevelopmentClient[], text: string): Asked | undefined {
  const fields = parseFields(text)
  if (fields === undefined) return undefined
  const { nonce = randomBytes(12).toString("base64url"), platform = "WEB", ...rest } = fields
  const person = parsePerson(rest)
  const client = clients.find((one) => one.platform === platform)
  if (person === undefined || client === undefined || typeof nonce !== "string") return undefined
  return { person, nonce, client }
}

function mint({ issuer, key, clock }: Issuer, { person, nonce, client }: Asked): Promise<string> {
  const iat = Math.floor(clock.nowMs() / 1000)
  return key.sign({
    iss: issuer,
    sub: subjectOf(person),
    aud: client.clientId,
    azp: client.clientId,
    iat,
    exp: iat + 600,
    auth_time: iat,
    nonce,
    // Distinguishes two tokens of the same second and nonce: each token can be used once.
    jti: randomBytes(12).toString("base64url"),
    ...claimsOf(person),
  })
}
