import { describe, expect, test } from "vitest"
import { isPageAddress, isRedirectAddress, isServerAddress, isServerRoot } from "./address.ts"

describe("an address that the service asks", () => {
  test.each([
    "https://idp.example/keys",
    "https://appleid.example.com/auth/token?x=1",
    "https://idp.example:8443/keys",
    "https://idp.example",
  ])("%s is accepted", (address) => {
    expect(isServerAddress(address, false)).toBe(true)
  })

  test.each([
    ["without TLS", "http://idp.example/keys"],
    ["of this machine", "https://localhost/keys"],
    ["of this machine by number", "https://127.0.0.1/keys"],
    ["of this machine in IPv6", "https://[::1]/keys"],
    ["of a cloud's metadata", "https://169.254.169.254/latest"],
    ["by number", "https://10.0.0.1/"],
    ["by a number that is hidden", "https://0x7f.1/"],
    ["by one number", "https://2130706433/"],
    ["of the inner network", "https://database/"],
    ["of a cloud's metadata by name", "https://metadata.google.internal/"],
    ["of this machine by a longer name", "https://any.localhost/keys"],
    ["of the link", "https://printer.local/"],
    ["of the link by number", "https://[fe80::1]/"],
    ["of an inner network in IPv6", "https://[fd00::1]/"],
    ["of this machine, mapped", "https://[::ffff:127.0.0.1]/"],
    ["of this machine in octal", "https://0177.0.0.1/"],
    ["of any address", "https://0.0.0.0/"],
    ["with a user", "https://user@idp.example/"],
    ["with a password", "https://u:p@idp.example/"],
    ["that looks like another", "https://idp.example\\@evil.example/"],
    ["with a fragment", "https://idp.example/#a"],
    ["in upper case", "https://IDP.example/"],
    ["with a letter of another script", "https://іdp.example/"],
    ["with a space", "https://idp.example/ a"],
    ["with a line end", "https://idp.example/\n"],
    ["of a file", "file:///etc/passwd"],
    ["of data", "data:text/plain,a"],
    ["that ends in a dot", "https://idp.example./"],
    ["that begins with a hyphen", "https://-idp.example/"],
    ["of nothing", ""],
    ["without a host", "https:///keys"],
  ])("%s is refused", (_, address) => {
    expect(isServerAddress(address, false)).toBe(false)
  })

  test("may be loopback in development only", () => {
    for (const address of ["http://127.0.0.1:8080/keys", "http://localhost/keys", "http://[::1]:1/keys"]) {
      expect([isServerAddress(address, true), isServerAddress(address, false)]).toEqual([true, false])
    }
    expect(isServerAddress("http://idp.example/keys", true)).toBe(false)
    expect(isServerAddress("http://127.0.0.1.evil.example/keys", true)).toBe(false)
  })

  test.each<[string, boolean, boolean]>([
    ["https://project.example", true, true],
    ["https://project.example/", false, false],
    ["https://project.example/a", false, false],
    ["https://project.example?a", false, false],
    ["http://127.0.0.1:1", true, false],
    ["http://127.0.0.1:1/dev/idp-c", true, false],
    ["http://127.0.0.1:1/dev/", false, false],
  ])("%s as a whole server", (address, inDevelopment, inProduction) => {
    expect([isServerRoot(address, true), isServerRoot(address, false)]).toEqual([inDevelopment, inProduction])
  })
})

describe("a page address", () => {
  test.each<[string, boolean, boolean]>([
    ["https://app.example", true, true],
    ["https://10.0.0.1", true, true],
    ["http://app.example", false, false],
    ["http://localhost:5173", true, false],
    ["javascript:alert(1)", false, false],
    ["//app.example", false, false],
  ])("%s", (address, inDevelopment, inProduction) => {
    expect([isPageAddress(address, true), isPageAddress(address, false)]).toEqual([inDevelopment, inProduction])
  })

  test.each<[string, boolean]>([
    ["https://app.example/signed-in?x=1", true],
    ["com.example.app:/signed-in", true],
    ["com.example.app:/", true],
    ["javascript:/alert", false],
    ["javascript:alert(1)", false],
    ["data:text/html,x", false],
    ["app://signed-in", false],
    ["https://app.example/#a", false],
    ["https://app.example@evil.example/", false],
    ["http://app.example/", false],
  ])("%s as where a link leads", (address, expected) => {
    expect(isRedirectAddress(address, false)).toBe(expected)
  })
})
