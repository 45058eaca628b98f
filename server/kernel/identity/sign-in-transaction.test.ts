import { expect, test } from "vitest"
import {
  formatTransaction,
  isServerNonce,
  nonceProblem,
  parseTransaction,
  type ShownSignIn,
  type SignInTransaction,
  serverNonce,
} from "./sign-in-transaction.ts"

const transaction: SignInTransaction = {
  nonce: serverNonce("r"),
  appId: "app_1",
  clientId: "pcl_1",
  deviceId: "d",
  redirectUri: "https://notes.example/",
  expiresAt: 100,
}
const { expiresAt: _, ...shown } = transaction

test.each<[string, Partial<ShownSignIn>, number, ReturnType<typeof nonceProblem>]>([
  ["all as it was started", {}, 99, undefined],
  ["the nonce left out", { nonce: "" }, 99, undefined],
  ["at its end", {}, 100, "expires_at"],
  ["another nonce", { nonce: "sgn_other" }, 99, "nonce"],
  ["another app", { appId: "app_2" }, 99, "app_id"],
  ["another provider client", { clientId: "pcl_2" }, 99, "provider"],
  ["another device", { deviceId: "e" }, 99, "device_id"],
  ["no device", { deviceId: "" }, 99, "device_id"],
  ["another return address", { redirectUri: "https://notes.example/x" }, 99, "redirect_uri"],
  ["no return address", { redirectUri: "" }, 99, "redirect_uri"],
])("a sign-in with %s", (_, change, nowSeconds, expected) => {
  expect(nonceProblem(transaction, { ...shown, ...change }, nowSeconds)).toBe(expected)
})

test("a server nonce is recognized and needs a transaction", () => {
  expect([transaction.nonce, "n-1", ""].map(isServerNonce)).toEqual([true, false, false])
  expect(nonceProblem(undefined, shown, 0)).toBe("transaction")
})

test("a formatted transaction parses, and another version's does not", () => {
  const text = formatTransaction(transaction)
  expect(parseTransaction(text)).toEqual(transaction)
  const parts: unknown[] = JSON.parse(text)
  for (const i of parts.keys())
    expect(parseTransaction(JSON.stringify(parts.with(i, [parts[i]]))), `${i}`).toBeUndefined()
  for (const text of ["{}", "[2]", "[1]", '[1,"n","a","c","d",7,1]']) expect(parseTransaction(text)).toBeUndefined()
})
