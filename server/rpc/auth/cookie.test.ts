import { createContextValues, createHandlerContext } from "@connectrpc/connect"
import { newId } from "@signet/kernel/ids"
import { app } from "@signet/kernel/testing/records"
import { AuthService } from "@signet/proto/auth/v1/auth_service"
import { expect, test } from "vitest"
import { checkCookieOrigin, cookieName, presentedToken, readCookie } from "./cookie.ts"

const [origin = ""] = app.settings.allowedOrigins
const fromPage = { origin, "x-signet-client": "web", "sec-fetch-site": "same-site" }

const callWith = (headers: Record<string, string>, requestMethod = "POST") =>
  createHandlerContext({
    service: AuthService,
    method: AuthService.method.externalLogin,
    protocolName: "connect",
    requestMethod,
    url: "https://auth.example",
    requestHeader: headers,
    contextValues: createContextValues(),
  })

test.each<[string, boolean, Record<string, string>, string?]>([
  ["a page of the app", true, fromPage],
  ["a page of the service itself", true, { ...fromPage, "sec-fetch-site": "same-origin" }],
  ["a browser that sends no fetch metadata", true, { origin, "x-signet-client": "web" }],
  ["a link, by GET", false, fromPage, "GET"],
  ["a page elsewhere", false, { ...fromPage, origin: "https://evil.example" }],
  ["a cross-site page", false, { ...fromPage, "sec-fetch-site": "cross-site" }],
  ["no page", false, { "x-signet-client": "web", "sec-fetch-site": "same-site" }],
  ["a form", false, { origin, "sec-fetch-site": "same-site" }],
  ["another client", false, { ...fromPage, "x-signet-client": "ios" }],
])("a cookie call of %s is accepted: %s", (_, isAllowed, headers, method) => {
  const check = () => checkCookieOrigin(callWith(headers, method), app)
  if (isAllowed) expect(check).not.toThrow()
  else expect(check).toThrow(expect.objectContaining({ reason: "ORIGIN_NOT_ALLOWED" }))
})

test.each<[string, string | null, string | undefined]>([
  ["no header", null, undefined],
  ["the cookie alone", "a=1", "1"],
  ["the cookie among others", "b=2; a=1;c=3", "1"],
  ["a value with an equals sign", "a=1=2", "1=2"],
  ["a longer name", "aa=1", undefined],
  ["the name in a value", "b=a=1", undefined],
  ["the cookie twice", "a=1; a=2", undefined],
])("readCookie reads %s", (_, header, expected) => {
  expect(readCookie(header, "a")).toBe(expected)
})

test("a token comes in the body or in the named app's cookie, not in both", () => {
  const other = newId("app", 2, new Uint8Array(10))
  const context = callWith({ cookie: `${cookieName(app.id)}=one; ${cookieName(other)}=` })
  const presented = (refreshToken: string, appId: string) => presentedToken(context, { refreshToken, appId })
  expect(presented("", app.id)).toEqual({ token: "one", cookieAppId: app.id })
  expect(presented("", other)).toBeUndefined()
  expect(presented("", "")).toBeUndefined()
  expect(presented("two", "")).toEqual({ token: "two", cookieAppId: null })
  expect(presented("two", other)).toEqual({ token: "two", cookieAppId: null })
  expect(() => presented("two", app.id)).toThrow(expect.objectContaining({ reason: "AMBIGUOUS_CREDENTIAL" }))
})
