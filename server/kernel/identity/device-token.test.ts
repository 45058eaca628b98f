import { expect, test } from "vitest"
import { deviceTokenText, formatDeviceToken, parseDeviceToken } from "./device-token.ts"

const token = { id: "i".repeat(22), expiresAt: 1_000 }
const mac = "m".repeat(43)
const text = formatDeviceToken(token, mac)

test("a device token parses until it expires", () => {
  expect(parseDeviceToken(text, 999_999)).toEqual({ ...token, mac })
  expect(parseDeviceToken(text, 1_000_000)).toBeUndefined()
})

test.each([
  ["nothing", ""],
  ["another prefix", text.replace("sgdt_", "sgpat_")],
  ["a shorter id", text.replace("ii", "i")],
  ["a longer code", `${text}m`],
  ["a time that is no number", text.replace("1000", "1e3")],
  ["text around it", ` ${text}`],
])("%s is no device token", (_, given) => {
  expect(parseDeviceToken(given, 0)).toBeUndefined()
})

test("the MAC of a device token covers address, app, id and expiry", () => {
  const of = { appId: "app_1", email: "Ada@example.com" }
  const covered = deviceTokenText(of, token)
  expect(deviceTokenText({ ...of, email: "ada@example.com" }, token)).toBe(covered)
  for (const other of [
    deviceTokenText({ ...of, appId: "app_2" }, token),
    deviceTokenText({ ...of, email: "eve@example.com" }, token),
    deviceTokenText(of, { ...token, id: "j".repeat(22) }),
    deviceTokenText(of, { ...token, expiresAt: 1_001 }),
  ]) {
    expect(other).not.toBe(covered)
  }
})
