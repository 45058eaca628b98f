// Signatures that minisign verifies: Ed25519 over the BLAKE2b-512 digest of a file. The key is a PEM file of PKCS #8, as
// `openssl genpkey -algorithm ed25519` writes it.
import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign } from "node:crypto"
import { readFileSync } from "node:fs"

const prehashed = Buffer.from("ED")
/** The algorithm of a public key, whatever the signatures do. */
const plain = Buffer.from("Ed")

/** @throws Error if the file has no Ed25519 key. */
export function readSigningKey(file: string): KeyObject {
  const key = createPrivateKey(readFileSync(file))
  if (key.asymmetricKeyType !== "ed25519") throw new Error(`${file} has no Ed25519 key`)
  return key
}

const rawPublicKey = (key: KeyObject): Buffer =>
  Buffer.from(createPublicKey(key).export({ format: "jwk" }).x ?? "", "base64url")

/** Eight bytes that find the public key of a signature. minisign makes them at random; here the key determines them. */
const keyId = (key: KeyObject): Buffer => createHash("blake2b512").update(rawPublicKey(key)).digest().subarray(0, 8)

const named = (id: Buffer): string => Buffer.from(id).reverse().toString("hex").toUpperCase()

/** The public key as minisign reads it with `-p`. */
export function publicKeyFile(key: KeyObject): string {
  const content = Buffer.concat([plain, keyId(key), rawPublicKey(key)])
  return `untrusted comment: minisign public key ${named(keyId(key))}\n${content.toString("base64")}\n`
}

/**
 * The signature file of a content.
 *
 * @param comment One line that the signature covers.
 */
export function signFile(key: KeyObject, content: Uint8Array, comment: string): string {
  const signature = sign(null, createHash("blake2b512").update(content).digest(), key)
  const global = sign(null, Buffer.concat([signature, Buffer.from(comment)]), key)
  return [
    `untrusted comment: signature from Signet's release key ${named(keyId(key))}`,
    Buffer.concat([prehashed, keyId(key), signature]).toString("base64"),
    `trusted comment: ${comment}`,
    global.toString("base64"),
    "",
  ].join("\n")
}
