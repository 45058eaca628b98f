// The refresh token in a cookie that scripts cannot read, and its checks. Browsers attach cookies to every request, so
// each cookie call must prove that a page of the app made it.
import type { HandlerContext } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import { type AppId, parseId } from "@signet/kernel/ids"
import type { App } from "@signet/kernel/records"
import { audited } from "../audit/refusals.ts"

export const cookieName = (appId: AppId): string => `__Host-sgrt-${appId}`
/** The cookie of the device token (see sign-in/device-token.ts). It outlives the session. */
export const deviceCookieName = (appId: AppId): string => `__Host-sgdt-${appId}`

/** The value of a cookie; undefined if it is absent or occurs twice. */
export function readCookie(header: string | null, name: string): string | undefined {
  const values = (header ?? "")
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1))
  return values.length === 1 ? values[0] : undefined
}

const cookieSetter =
  (nameOf: (appId: AppId) => string) =>
  (context: HandlerContext, appId: AppId, token: string, maxAgeSeconds: number): void =>
    context.responseHeader.append(
      "set-cookie",
      `${nameOf(appId)}=${token}; Path=/; Max-Age=${maxAgeSeconds}; Secure; HttpOnly; SameSite=Strict`,
    )

export const setCookie = cookieSetter(cookieName)
export const setDeviceCookie = cookieSetter(deviceCookieName)

export function clearCookie(context: HandlerContext, appId: AppId): void {
  setCookie(context, appId, "", 0)
}

/**
 * Refuses a cookie call that no page of the app made. Requires POST, an origin of the app's list, a same-site fetch,
 * and a header that no form can send.
 *
 * @throws Refused
 */
export function checkCookieOrigin(context: HandlerContext, app: App): void {
  const header = (name: string) => context.requestHeader.get(name)
  const origin = header("origin")
  const site = header("sec-fetch-site")
  const isPage = origin !== null && app.settings.allowedOrigins.includes(origin)
  const isSameSite = site === null || site === "same-origin" || site === "same-site"
  if (context.requestMethod !== "POST" || !isPage || !isSameSite || header("x-signet-client") !== "web") {
    throw audited(new Refused("ORIGIN_NOT_ALLOWED"), {
      kind: "cookie.origin_rejected",
      outcome: "DENIED",
      appId: app.id,
    })
  }
}

/**
 * The presented refresh token: from the body, or from the cookie of the app that the body names. Undefined for neither.
 */
export function presentedToken(
  context: HandlerContext,
  request: { refreshToken: string; appId: string },
): { token: string; cookieAppId: AppId | null } | undefined {
  const appId = parseId("app", request.appId)
  const cookie = appId && readCookie(context.requestHeader.get("cookie"), cookieName(appId))
  if (request.refreshToken !== "") {
    if (cookie) throw new Refused("AMBIGUOUS_CREDENTIAL")
    return { token: request.refreshToken, cookieAppId: null }
  }
  return appId && cookie ? { token: cookie, cookieAppId: appId } : undefined
}
