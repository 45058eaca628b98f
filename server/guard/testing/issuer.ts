// A test issuer that signs anything, including invalid tokens.
import { generateKeyPairSync, sign } from "node:crypto"
import { newId } from "@signet/kernel/ids"
import { buildUserClaims } from "@signet/kernel/token/claims"
import type { EcPublicJwk } from "../token-crypto.ts"

const random = new Uint8Array(10)
export const ids = {
  principal: newId("prn", 1, random),
  service: newId("prn", 2, random),
  identity: newId("idn", 1, random),
  app: newId("app", 1, random),
  tenant: newId("ten", 1, random),
  session: newId("ses", 1, random),
}

export function encode(value: string | object): string {
  return Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url")
}

export function createIssuer(curve: "P-256" | "P-384" = "P-256") {
  const pair = generateKeyPairSync("ec", { namedCurve: curve })
  const { x = "", y = "" } = pair.publicKey.export({ format: "jwk" })
  const jwk: EcPublicJwk & Record<string, unknown> = {
    kty: "EC",
    crv: curve,
    x,
    y,
    kid: "key-1",
    alg: "ES256",
    use: "sig",
  }
  let nowMs = 1_700_000_000_000
  const issuer = "https://auth.example"
  const audience = "svc-notes"
  const header = { alg: "ES256", typ: "at+jwt", kid: jwk.kid }

  function claims(): Record<string, unknown> {
    return {
      ...buildUserClaims({
        issuer,
        audience,
        session: {
          id: ids.session,
          principalId: ids.principal,
          identityId: ids.identity,
          appId: ids.app,
          tenantId: null,
          contextId: null,
          amr: ["IDP_A"],
          authTimeMs: nowMs,
          boundDeviceId: null,
        },
        principal: { id: ids.principal, kind: "USER" },
        tokenId: newId("jti", nowMs, random),
        clientId: "notes-web",
        scopes: ["notes.read"],
        versions: { principal: 0, policy: 1 },
        nowSeconds: Math.floor(nowMs / 1_000),
      }),
    }
  }

  /** Signs header and payload exactly as given. */
  function signParts(headerPart: string, payloadPart: string): string {
    const input = `${headerPart}.${payloadPart}`
    const signature = sign("sha256", Buffer.from(input), { key: pair.privateKey, dsaEncoding: "ieee-p1363" })
    return `${input}.${signature.toString("base64url")}`
  }

  return {
    issuer,
    audience,
    /** The app of all its tokens, unless a test changes the claim. */
    appId: ids.app,
    header,
    jwk,
    pair,
    clock: { nowMs: () => nowMs },
    /** Advances the clock. */
    pass(ms: number) {
      nowMs += ms
    },
    jwks: () => [jwk],
    claims,
    signParts,
    /** A token with changed claims or header parameters; undefined removes one. */
    token: (change: object = {}, headerChange: object = {}) =>
      signParts(encode({ ...header, ...headerChange }), encode({ ...claims(), ...change })),
  }
}
