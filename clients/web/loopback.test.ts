import { expect, test } from "vitest"
import { besidePage } from "./loopback.ts"

test.each([
  ["http://127.0.0.1:8080", "localhost", "http://localhost:8080"],
  ["http://localhost:8080/auth", "127.0.0.1", "http://127.0.0.1:8080/auth"],
])("%s is called from a page at %s by the page's name", (address, page, expected) => {
  expect(besidePage(address, page)).toBe(expected)
})

test.each([
  ["https://auth.example", "localhost"],
  ["http://127.0.0.1:8080", "app.example"],
  ["http://127.0.0.1:8080", "127.0.0.2"],
  ["http://[::1]:8080", "localhost"],
  // A certificate is for one name.
  ["https://127.0.0.1:8080", "localhost"],
  ["http://localhost.evil.example:8080", "127.0.0.1"],
  ["http://127.0.0.1@evil.example", "localhost"],
  ["not an address", "localhost"],
])("%s is unchanged at %s", (address, page) => {
  expect(besidePage(address, page)).toBe(address)
})
