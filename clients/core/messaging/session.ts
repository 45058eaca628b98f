import { bytesOfId } from "./ids.ts"

/** The signed-in user and the tokens of the session, which an identity client provides. */
export interface MessagingSession {
  /** `app_…` */
  readonly appId: string
  /** `ten_…`; undefined for none. */
  readonly tenantId: string | undefined
  /** `prn_…` */
  readonly userId: string
  /** Returns an access token for the messaging service that does not expire soon. */
  accessToken(): Promise<string>
  /** Returns a new access token. A token from before the device's registration does not name the device. */
  renewToken(): Promise<string>
}

/** The owner of a messenger: ids as texts, and as the bytes in signed messages. */
export interface Owner {
  readonly appId: string
  readonly tenantId: string | undefined
  readonly userId: string
  readonly app: Uint8Array
  readonly tenant: Uint8Array | undefined
  readonly user: Uint8Array
}

/** @throws RangeError for malformed ids. */
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

/** Reads a token's issuer without verifying the token: issuer keys are trusted only by the pinned root's signature. */
export const issuerIn = (token: string): string | undefined => claimIn(token, "iss")

/** Reads a token's device; undefined for a token from before the session was bound to a device. */
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
