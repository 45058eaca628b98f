import { expect, test } from "vitest"
import { crossOrigin } from "./cross-origin.ts"

const header = (name: string) =>
  ({ origin: "https://app.example", "access-control-request-method": "POST" })[name] ?? null

test.each(["GET", "OPTIONS"])("%s: while the origins cannot be loaded, no page is allowed", async (verb) => {
  const crossed = await crossOrigin(verb, header, () => Promise.reject(new Error("no database")))
  expect(crossed).toEqual({ headers: { vary: "Origin" }, isPreflight: false })
})
