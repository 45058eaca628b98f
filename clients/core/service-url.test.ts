import { expect, test } from "vitest"
import { checkServiceUrl } from "./service-url.ts"

test.each([
  "https://auth.example",
  "https://auth.example:8443/base",
  "http://localhost:8080",
  "http://127.0.0.1:8080",
  "http://127.9.9.9",
  "http://[::1]:8080",
])("%s is a service URL", (text) => {
  expect(() => checkServiceUrl(text)).not.toThrow()
})

test.each([
  "",
  "auth.example",
  "https://auth.example/",
  "https://ada@auth.example",
  "https://:secret@auth.example",
  "https://auth.example?tenant=1",
  "https://auth.example#top",
  "http://auth.example",
  "http://127.0.0.1.example",
  "http://127.example",
  "http://localhost.example",
  "http://a-localhost",
  "ws://localhost:8080",
  "ftp://127.0.0.1",
  "javascript:alert(1)",
])("%j is no service URL: a token would leave this machine in the clear, or a call would miss its path", (text) => {
  expect(() => checkServiceUrl(text)).toThrow(expect.objectContaining({ reason: "CONFIGURATION_INVALID" }))
})
