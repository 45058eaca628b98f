import { randomBytes, randomUUID } from "node:crypto"
import { exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from "jose"

export type ProjectSigning = "HS256" | "ES256" | "RS256"

/** The signing keys of a project of the stand-in for IDP_C; new at every start. */
export interface ProjectKeys {
  /** The published keys; none if the project signs with a secret. */
  readonly published: readonly JWK[]
  sign(claims: JWTPayload): Promise<string>
}

/** Same length as the provider's secrets. */
export const newTokenSecret = (): string => randomBytes(40).toString("base64")

export async function createProjectKeys(signing: ProjectSigning, tokenSecret: string): Promise<ProjectKeys> {
  if (signing === "HS256") {
    const secret = new TextEncoder().encode(tokenSecret)
    const header = { alg: signing, typ: "JWT" }
    return { published: [], sign: (claims) => new SignJWT(claims).setProtectedHeader(header).sign(secret) }
  }
  const { publicKey, privateKey } = await generateKeyPair(signing)
  const kid = randomUUID()
  const header = { alg: signing, typ: "JWT", kid }
  return {
    published: [{ ...(await exportJWK(publicKey)), kid, alg: signing, use: "sig", key_ops: ["verify"] }],
    sign: (claims) => new SignJWT(claims).setProtectedHeader(header).sign(privateKey),
  }
}
