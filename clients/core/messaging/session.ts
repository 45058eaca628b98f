import { bytesOfId } from "./ids.ts"

/** Who is signed in, and the tokens of that session: what the messenger needs of an identity client. */
export interface MessagingSession {
  /** `app_…` */
  readonly appId: string
  /** `ten_…`; undefined for none. */
  readonly tenantId: string | undefined
  /** `prn_…` */
  readonly userId: string
  /** An access token for the messaging service that is good for a while. */
  accessToken(): Promise<string>
  /** A new one: tokens from before a registration, or that the service calls stale, do not carry the device. */
  renewToken(): Promise<string>
}

/** Whose messenger this is, as text and as the bytes that signed messages carry. */
export interface Owner {
  readonly appId: string
  readonly tenantId: string | undefined
  readonly userId: string
  readonly app: Uint8Array
  readonly tenant: Uint8Array | undefined
  readonly user: Uint8Array
}

/** @throws RangeError for ids that are none. */
export function ownerOf({ appId, tenantId, userId }: MessagingSession): Owner {
  return {
    appId,
    tenantId,
    userId,
    app: bytesOfId("app", appId),
    tenant: tenantId === undefined ? undefined : bytesOfId("ten", tenantId),
    user: bytesOfId("prn", userId),
  }
}

/** The issuer that a token names. What it issues counts by its root's signature alone, so the token is not verified. */
export const issuerIn = (token: string): string | undefined => claimIn(token, "iss")

/** The device that a token is of: none for one from before the session was bound to it. */
export const boundDeviceIn = (token: string): string | undefined => claimIn(token, "did")

function claimIn(token: string, name: "iss" | "did"): string | undefined {
  try {
    const text = atob((token.split(".")[1] ?? "").replaceAll("-", "+").replaceAll("_", "/"))
    const claims: unknown = JSON.parse(text)
    if (typeof claims !== "object" || claims === null) return undefined
    const claim = Object.entries(claims).find(([key]) => key === name)?.[1]
    return typeof claim === "string" ? claim : undefined
  } catch {
    return undefined
  }
}
