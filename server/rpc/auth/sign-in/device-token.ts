import type { HandlerContext } from "@connectrpc/connect"
import {
  type DeviceToken,
  deviceTokenSeconds,
  deviceTokenText,
  formatDeviceToken,
  parseDeviceToken,
} from "@signet/kernel/identity/device-token"
import type { AppId } from "@signet/kernel/ids"
import { encode } from "../../base64url.ts"
import type { Deps } from "../../deps.ts"
import { deviceCookieName, readCookie, setDeviceCookie } from "../cookie.ts"

const purpose = "device-token"

/** The address and app of a device token, and how the client carries it. */
interface Carrier {
  readonly appId: AppId
  readonly email: string
  readonly cookieMode: boolean
}

/** The device id of a valid device token of this address and app; undefined without one. */
export function knownDevice(
  deps: Pick<Deps, "secrets" | "clock">,
  context: HandlerContext,
  carrier: Carrier & { readonly deviceToken: string },
): string | undefined {
  const { appId, cookieMode, deviceToken } = carrier
  const cookie = () => readCookie(context.requestHeader.get("cookie"), deviceCookieName(appId))
  const token = parseDeviceToken((cookieMode ? cookie() : deviceToken) ?? "", deps.clock.nowMs())
  if (token === undefined) return undefined
  const given = new TextEncoder().encode(token.mac)
  const known = deps.secrets.hashes(purpose, deviceTokenText(carrier, token))
  const isOurs = known.some((mac) => deps.secrets.equal(new TextEncoder().encode(encode(mac)), given))
  return isOurs ? token.id : undefined
}

/**
 * Issues the token of a device on which the owner of the address signed in. Empty if it is set as a cookie.
 *
 * @param id The id of the presented token; omitted for a device without one.
 */
export function issueDeviceToken(
  deps: Pick<Deps, "secrets" | "clock" | "random">,
  context: HandlerContext,
  carrier: Carrier,
  id = encode(deps.random.bytes(16)),
): string {
  const token: DeviceToken = { id, expiresAt: Math.floor(deps.clock.nowMs() / 1_000) + deviceTokenSeconds }
  const text = formatDeviceToken(token, encode(deps.secrets.hash(purpose, deviceTokenText(carrier, token))))
  if (!carrier.cookieMode) return text
  setDeviceCookie(context, carrier.appId, text, deviceTokenSeconds)
  return ""
}
