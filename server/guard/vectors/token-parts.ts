// Building blocks of the token vectors: the parts of a valid token, and changed ones.
import type { Reason } from "@signet/kernel/errors"
import { encode } from "../testing/issuer.ts"
import { baseClaims } from "./build.ts"
import { accessKey, jwt } from "./signer.ts"

export const issuer = "https://auth.example"
export const audience = "svc-notes"

export const head = { alg: "ES256", typ: "at+jwt", kid: "key-1" }
export const bearer = (token: string) => `Bearer ${token}`
/** A token with changed claims; undefined removes one, null stays null. */
export const tokenWith = (change: object = {}, header: object = {}): string =>
  jwt(accessKey, "at+jwt", { ...baseClaims(), ...change }, header)
export const claimed = (change: object) => bearer(tokenWith(change))
/** A token with this text as payload. */
export const payload = (text: string) => bearer(accessKey.signParts(encode(head), encode(text)))
export const payloadText = (change: object) => JSON.stringify({ ...baseClaims(), ...change })

export const ok = "accepted"
export type Row = readonly [name: string, authorization: string | null, expected: Reason | typeof ok]
