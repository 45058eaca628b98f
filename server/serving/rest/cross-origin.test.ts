import { expect, test } from "vitest"
import { crossOrigin } from "./cross-origin.ts"

const header = (name: string) =>
  ({ origin: "https://app.example", "access-control-request-method": "POST" })[name] ?? null

test.each(["GET", "OPTIONS"])("%s: while the origins cannot be loaded, no page is allowed", async (verb) => {
  const crossed = await crossOrigin(verb, header, () => Promise.reject(new Error("no database")))
  expect(crossed).toEqual({ headers: { vary: "Origin" }, isPreflight: false })
})

test("OPTIONS without a method that it asks for is no preflight", async () => {
  const crossed = (names: typeof header) => crossOrigin("OPTIONS", names, async () => true)
  expect((await crossed(header)).isPreflight).toBe(true)
  const { headers, isPreflight } = await crossed((name) => (name === "origin" ? header(name) : null))
  expect([isPreflight, headers["access-control-allow-methods"]]).toEqual([false, undefined])
})
