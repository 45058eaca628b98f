import { generateKeyPairSync, sign } from "node:crypto"
import { checkpointType } from "@signet/kernel/audit/checkpoint"
import type { PublicJwk } from "@signet/kernel/keys/ports"
import { describe, expect, test } from "vitest"
import { openCheckpoint } from "./statement.ts"

const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
const { x = "", y = "" } = publicKey.export({ format: "jwk" })
const jwk: PublicJwk = { kty: "EC", crv: "P-256", x, y, kid: "k1", alg: "ES256", use: "sig" }
const header = { alg: "ES256", typ: checkpointType, kid: "k1" }
const claims = { iss: "https://auth.example", iat: 1_800_000_000, number: 2, prev: "ab", root: "cd", heads: 3 }

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url")

/** A statement that is validly signed, whatever it says. */
function signed(of: { header?: object; claims?: unknown } = {}): string {
  const input = `${encode({ ...header, ...of.header })}.${encode("claims" in of ? of.claims : claims)}`
  const signature = sign("sha256", Buffer.from(input), { key: privateKey, dsaEncoding: "ieee-p1363" })
  return `${input}.${signature.toString("base64url")}`
}

describe("a signed checkpoint", () => {
  test("is opened by its key, also after that left the key set", () => {
    expect(openCheckpoint(signed(), [{ ...jwk, kid: "k0" }, jwk])).toEqual(claims)
    expect(openCheckpoint(signed({ claims: { ...claims, prev: null } }), [jwk])).toEqual({ ...claims, prev: null })
  })

  test.each<[string, string]>([
    ["of another algorithm", signed({ header: { alg: "none" } })],
    ["of another type of the same keys", signed({ header: { typ: "rev+jwt" } })],
    ["of no type", signed({ header: { typ: undefined } })],
    ["of an unknown key", signed({ header: { kid: "k2" } })],
    ["of no key", signed({ header: { kid: undefined } })],
    ["with a fourth part", `${signed()}.x`],
    ["without a signature", signed().replace(/[^.]*$/, "")],
    ["with another signature", signed().replace(/[^.]*$/, Buffer.alloc(64, 1).toString("base64url"))],
    ["whose claims were changed", signed().replace(/\.[^.]*\./, `.${encode({ ...claims, number: 9 })}.`)],
    ["that is no JSON", "a.b.c"],
    ["that is empty", ""],
  ])("is not opened %s", (_, jws) => {
    expect(openCheckpoint(jws, [jwk])).toBeUndefined()
  })

  test.each<[string, unknown]>([
    ["an issuer that is a number", { ...claims, iss: 1 }],
    ["a time in words", { ...claims, iat: "now" }],
    ["a number in words", { ...claims, number: "2" }],
    ["a previous statement that is a number", { ...claims, prev: 0 }],
    ["no previous statement", { ...claims, prev: undefined }],
    ["a root that is null", { ...claims, root: null }],
    ["no number of heads", { ...claims, heads: undefined }],
    ["nothing", null],
    ["a text", "checkpoint"],
  ])("is not opened with %s", (_, changed) => {
    expect(openCheckpoint(signed({ claims: changed }), [jwk])).toBeUndefined()
  })
})
