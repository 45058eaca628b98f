// Finds the client's credential (RFC 6749 section 2.3, RFC 7523 section 2.2). A request must have exactly one; this is
// checked before any look-up.
import type { Refused } from "@signet/kernel/errors"
import { bytesOf } from "../base64url.ts"
import { clientRefusal, refusal } from "./refuse.ts"

/** The parameters of token, introspection and revocation requests. Undefined for an omitted one. */
interface ClientParameters {
  clientId: string
  clientSecret?: string | undefined
  clientAssertionType: string
  clientAssertion?: string | undefined
}

export type ClientCredential =
  | { is: "none" }
  | { is: "secret"; method: "client_secret_basic" | "client_secret_post"; clientId: string; secret: string }
  | { is: "assertion"; clientId: string; assertion: string }
  /** The guard has verified the token: see kAuth. */
  | { is: "bearer" }

const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

/** @param authorization The Authorization header as sent; null without one. */
export function clientCredentialOf(
  parameters: ClientParameters,
  authorization: string | null,
): ClientCredential | Refused {
  const { clientId, clientSecret, clientAssertion, clientAssertionType } = parameters
  if ((clientAssertion !== undefined) !== (clientAssertionType !== "")) {
    return refusal("INVALID_FIELD", {
      error: "invalid_request",
      field: "client_assertion",
      message: "send client_assertion and client_assertion_type together",
    })
  }
  const ways = [authorization !== null, clientSecret !== undefined, clientAssertion !== undefined]
  if (ways.filter(Boolean).length > 1) {
    return refusal("AMBIGUOUS_CREDENTIAL", { message: "send only one client credential" })
  }
  if (authorization !== null) return headerCredential(clientId, authorization)
  if (clientSecret !== undefined) {
    return { is: "secret", method: "client_secret_post", clientId, secret: clientSecret }
  }
  if (clientAssertion === undefined) return { is: "none" }
  if (clientAssertionType !== assertionType) return clientRefusal()
  return { is: "assertion", clientId, assertion: clientAssertion }
}

function headerCredential(clientId: string, authorization: string): ClientCredential | Refused {
  if (/^bearer /i.test(authorization)) return { is: "bearer" }
  const basic = parseBasic(authorization)
  if (basic === undefined) return clientRefusal()
  if (clientId !== "" && clientId !== basic.clientId) {
    return refusal("INVALID_FIELD", {
      error: "invalid_request",
      field: "client_id",
      message: "client_id differs from the Authorization header",
    })
  }
  return { is: "secret", method: "client_secret_basic", ...basic }
}

const basicHeader = /^basic +([A-Za-z0-9+/]+={0,2})$/i
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
const maxLength = 2_048

/**
 * Parses a Basic header. Client id and secret are form-encoded before they are joined (RFC 6749 section 2.3.1).
 *
 * @returns Undefined for any other header, and for an empty client id or secret.
 */
export function parseBasic(authorization: string): { clientId: string; secret: string } | undefined {
  const encoded = basicHeader.exec(authorization)?.[1]
  if (encoded === undefined || encoded.length > maxLength) return undefined
  try {
    const text = utf8.decode(bytesOf(atob(encoded)))
    const at = text.indexOf(":")
    if (at < 0) return undefined
    const clientId = decodePart(text.slice(0, at))
    const secret = decodePart(text.slice(at + 1))
    return clientId === "" || secret === "" ? undefined : { clientId, secret }
  } catch {
    return undefined
  }
}

const decodePart = (text: string): string => decodeURIComponent(text.replaceAll("+", " "))
