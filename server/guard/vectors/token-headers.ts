// Vectors: token headers, each validly signed.
import type { Reason } from "@signet/kernel/errors"
import { encodeBase64url } from "../base64url.ts"
import { encode } from "../testing/issuer.ts"
import type { VectorKey } from "./signer.ts"

type Row = readonly [name: string, authorization: string, expected: Reason | "accepted"]

/** Authorization headers of tokens with an invalid or unusual header. */
export function badHeaders(key: VectorKey, claims: object, { issuer }: { issuer: string }): readonly Row[] {
  const head = { alg: "ES256", typ: "at+jwt", kid: key.jwk.kid }
  const payload = encode(claims)
  const provider = encode({ ...claims, iss: "https://idp.example" })
  const signed = (header: string | object, part = payload) => `Bearer ${key.signParts(encode(header), part)}`
  const headed = (change: object, part = payload) => signed({ ...head, ...change }, part)
  const bytes = (content: Uint8Array) => `Bearer ${key.signParts(encodeBase64url(content), payload)}`
  const malformed = (name: string, header: string | object): Row => [name, signed(header), "MALFORMED_CREDENTIAL"]
  const withMember = (name: string, value: unknown): Row =>
    malformed(`a header with ${name}`, { ...head, [name]: value })
  return [
    malformed("a header that is no JSON", `{"alg":"ES256"`),
    malformed("a header that is a list", "[]"),
    malformed("a header that is text", `"x"`),
    malformed("a header that is null", "null"),
    malformed("a header with something after it", `${JSON.stringify(head)} x`),
    malformed("a header after a byte order mark", `\ufeff${JSON.stringify(head)}`),
    malformed("a name twice", `{"alg":"none","typ":"at+jwt","kid":"key-1","alg":"ES256"}`),
    malformed("a name twice, once escaped", `{"alg":"ES256","typ":"at+jwt","kid":"key-1","\\u0061lg":"ES256"}`),
    malformed("a name twice, deeper down", `{"alg":"ES256","typ":"at+jwt","kid":"key-1","x":[{"a":1,"a":1}]}`),
    [
      "one name in two objects",
      signed(`{"alg":"ES256","typ":"at+jwt","kid":"key-1","x":[{"a":1},{"a":"\\"a\\":1,\\"a\\""}],"y":{"x":1}}`),
      "accepted",
    ],
    [
      "a header of invalid UTF-8",
      bytes(
        Buffer.concat([
          Buffer.from(`{"alg":"ES256","typ":"at+jwt","kid":"key-1","x":"`),
          Buffer.from([0xc3, 0x28]),
          Buffer.from(`"}`),
        ]),
      ),
      "MALFORMED_CREDENTIAL",
    ],
    ["a header with a member that nobody knows", headed({ note: { alg: "none" } }), "accepted"],
    ["a header in another order, with spaces", signed(`{ "kid":"key-1",\n"typ":"at+jwt","alg":"ES256" }`), "accepted"],
    withMember("crit", ["exp"]),
    malformed("a header with crit of null", { ...head, crit: null }),
    withMember("b64", false),
    withMember("jku", "https://evil.example/jwks"),
    withMember("jwk", key.jwk),
    withMember("x5u", "https://evil.example/cert"),
    withMember("x5c", ["MII"]),
    withMember("zip", "DEF"),
    malformed("crit is looked at before alg", { ...head, alg: "none", crit: ["exp"] }),
    ["alg none", headed({ alg: "none" }), "ALG_NOT_ALLOWED"],
    ["alg None", headed({ alg: "None" }), "ALG_NOT_ALLOWED"],
    ["an empty alg", headed({ alg: "" }), "ALG_NOT_ALLOWED"],
    ["alg of null", headed({ alg: null }), "ALG_NOT_ALLOWED"],
    ["alg in a list", headed({ alg: ["ES256"] }), "ALG_NOT_ALLOWED"],
    ["alg in lower case", headed({ alg: "es256" }), "ALG_NOT_ALLOWED"],
    ["alg HS256", headed({ alg: "HS256" }), "ALG_NOT_ALLOWED"],
    ["alg ES384", headed({ alg: "ES384" }), "ALG_NOT_ALLOWED"],
    ["no alg", headed({ alg: undefined }), "ALG_NOT_ALLOWED"],
    ["names in other capitals", signed({ ALG: "ES256", Typ: "at+jwt", KID: "key-1" }), "ALG_NOT_ALLOWED"],
    ["alg is looked at before typ", headed({ alg: "none", typ: "JWT" }), "ALG_NOT_ALLOWED"],
    ["typ JWT", headed({ typ: "JWT" }), "TYP_NOT_ALLOWED"],
    ["typ of a revocation statement", headed({ typ: "rev+jwt" }), "TYP_NOT_ALLOWED"],
    ["typ of a permission snapshot", headed({ typ: "perm+jwt" }), "TYP_NOT_ALLOWED"],
    ["typ of a context token", headed({ typ: "ctx+jwt" }), "TYP_NOT_ALLOWED"],
    ["typ in capitals", headed({ typ: "AT+JWT" }), "TYP_NOT_ALLOWED"],
    ["typ as a media type", headed({ typ: "application/at+jwt" }), "TYP_NOT_ALLOWED"],
    ["no typ", headed({ typ: undefined }), "TYP_NOT_ALLOWED"],
    ["typ is looked at before kid", headed({ typ: "JWT", kid: "nobody" }), "TYP_NOT_ALLOWED"],
    ["a provider's token", headed({ alg: "RS256", typ: "JWT" }, provider), "PROVIDER_TOKEN_NOT_ACCEPTED"],
    ["a provider's token without a typ", headed({ typ: undefined }, provider), "PROVIDER_TOKEN_NOT_ACCEPTED"],
    ["a provider's token with a secret's alg", headed({ alg: "HS256", typ: "JWT" }, provider), "ALG_NOT_ALLOWED"],
    ["a provider's token that says at+jwt", headed({ alg: "RS256" }, provider), "ALG_NOT_ALLOWED"],
    ["our own issuer with a provider's alg", headed({ alg: "RS256", typ: "JWT" }), "ALG_NOT_ALLOWED"],
    ["an issuer that is no text", headed({ alg: "RS256", typ: "JWT" }, encode({ iss: [issuer] })), "ALG_NOT_ALLOWED"],
    ["an unknown kid", headed({ kid: "key-2" }), "KEY_UNKNOWN"],
    ["a kid that is a path", headed({ kid: "../key-1" }), "KEY_UNKNOWN"],
    ["a kid that is SQL", headed({ kid: "x' UNION SELECT 'secret' --" }), "KEY_UNKNOWN"],
    ["a kid with a line end", headed({ kid: "key-1\n" }), "KEY_UNKNOWN"],
    ["a kid of 129 characters", headed({ kid: "k".repeat(129) }), "KEY_UNKNOWN"],
    ["a kid in a list", headed({ kid: ["key-1"] }), "KEY_UNKNOWN"],
    ["a kid that is a number", headed({ kid: 1 }), "KEY_UNKNOWN"],
    ["an empty kid", headed({ kid: "" }), "KEY_UNKNOWN"],
    ["a kid that every object has", headed({ kid: "__proto__" }), "KEY_UNKNOWN"],
    ["no kid", headed({ kid: undefined }), "KEY_UNKNOWN"],
    ["a key of another curve", headed({ kid: "key-384" }), "KEY_UNKNOWN"],
    ["a key of another curve whose numbers are as long", headed({ kid: "key-k1" }), "KEY_UNKNOWN"],
    ["a key of another use", headed({ kid: "key-enc" }), "KEY_UNKNOWN"],
    ["a key of another algorithm", headed({ kid: "key-es512" }), "KEY_UNKNOWN"],
    ["a key of RSA", headed({ kid: "key-rsa" }), "KEY_UNKNOWN"],
  ]
}
