import { randomUUID } from "node:crypto"
import { exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from "jose"

/** The stand-in provider's signing key; new at every start. */
export interface IdpKey {
  privateJwk: JWK
  sign(claims: JWTPayload): Promise<string>
}

export async function createIdpKey(): Promise<IdpKey> {
  const { privateKey } = await generateKeyPair("RS256", { extractable: true })
  const kid = randomUUID()
  return {
    privateJwk: { ...(await exportJWK(privateKey)), kid, alg: "RS256", use: "sig" },
    sign: (claims) => new SignJWT(claims).setProtectedHeader({ alg: "RS256", typ: "JWT", kid }).sign(privateKey),
  }
}
