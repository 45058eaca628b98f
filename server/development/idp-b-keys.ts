import { generateKeyPairSync, randomUUID } from "node:crypto"
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from "jose"

export type SigningAlgorithm = "RS256" | "ES256"

/** The stand-in's signing keys: RS256 as the real provider uses, and ES256, which it also publishes. */
export interface IdpBKeys {
  readonly published: readonly JWK[]
  /** @param header Header parameters that replace the default ones. */
  sign(claims: JWTPayload, options?: { alg?: SigningAlgorithm; header?: Record<string, unknown> }): Promise<string>
}

export async function createIdpBKeys(): Promise<IdpBKeys> {
  const [rsa, ec] = await Promise.all([makeKey("RS256"), makeKey("ES256")])
  return {
    published: [rsa.jwk, ec.jwk],
    sign(claims, { alg = "RS256", header = {} } = {}) {
      const { privateKey, kid } = alg === "RS256" ? rsa : ec
      // Without `typ`, as in the real provider's tokens.
      return new SignJWT(claims).setProtectedHeader({ alg, kid, ...header }).sign(privateKey)
    },
  }
}

async function makeKey(alg: SigningAlgorithm): Promise<{ privateKey: CryptoKey; jwk: JWK; kid: string }> {
  const { privateKey, publicKey } = await generateKeyPair(alg)
  const kid = randomUUID().slice(0, 10)
  return { privateKey, kid, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: "sig" } }
}

/** The team's private key, which the real provider lets a team download once. */
export interface TeamKey {
  /** PKCS #8 in PEM. */
  privatePem: string
  /** SPKI in PEM. */
  publicPem: string
}

export function createTeamKey(): TeamKey {
  const { privateKey, publicKey } = generateKeyPairSync("ec", {
    namedCurve: "P-256",
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  })
  return { privatePem: privateKey, publicPem: publicKey }
}
