// Tokens that mark a device as one where the owner of an address signed in (OWASP: device cookies). No credential: a
// token only decides which password attempts of the address a call is counted with.
import { emailKey } from "./first-login.ts"

export const deviceTokenSeconds = 90 * 86_400

export interface DeviceToken {
  /** 22 characters of base64url. A device keeps the id when its token is renewed, so its attempts stay counted. */
  readonly id: string
  /** Unix time in seconds. */
  readonly expiresAt: number
}

const shape = /^sgdt_([A-Za-z0-9_-]{22})\.([0-9]{1,12})\.([A-Za-z0-9_-]{43})$/

/** Returns what the MAC of a token covers: a token serves one address at one app. */
export const deviceTokenText = (of: { appId: string; email: string }, { id, expiresAt }: DeviceToken): string =>
  JSON.stringify([of.appId, emailKey(of.email), id, expiresAt])

/** @param mac 32 bytes as 43 characters of base64url. */
export const formatDeviceToken = ({ id, expiresAt }: DeviceToken, mac: string): string =>
  `sgdt_${id}.${expiresAt}.${mac}`

/** Returns the parts of a token by its shape alone; undefined for one that is expired or no device token. */
export function parseDeviceToken(text: string, nowMs: number): (DeviceToken & { readonly mac: string }) | undefined {
  const [, id, expires, mac] = shape.exec(text) ?? []
  if (id === undefined || expires === undefined || mac === undefined) return undefined
  const expiresAt = Number(expires)
  return expiresAt * 1_000 > nowMs ? { id, expiresAt, mac } : undefined
}
