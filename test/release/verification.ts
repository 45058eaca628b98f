// Verification of a release's signature by minisign or, on a machine without minisign, by the format's own rules.
import { execFileSync } from "node:child_process"
import { createHash, createPublicKey, verify } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"

export const hasMinisign = (() => {
  try {
    execFileSync("minisign", ["-v"], { stdio: "ignore" })
    return true
  } catch {
    return false
  }
})()

/**
 * Verifies `SHA256SUMS.minisig` over the folder's `SHA256SUMS` with its `signet.pub`.
 *
 * @returns The comment that the signature covers.
 * @throws Error if a signature does not verify.
 */
export function verifyRelease(folder: string): string {
  const signature = readFileSync(join(folder, "SHA256SUMS.minisig"), "utf8")
  if (hasMinisign) {
    execFileSync("minisign", ["-V", "-p", "signet.pub", "-m", "SHA256SUMS"], { cwd: folder, stdio: "pipe" })
  } else {
    verifyByFormat(
      readFileSync(join(folder, "SHA256SUMS")),
      signature,
      readFileSync(join(folder, "signet.pub"), "utf8"),
    )
  }
  return /^trusted comment: (.*)$/m.exec(signature)?.[1] ?? ""
}

/** @throws Error if the signature of the content, or the one of its comment, does not verify. */
export function verifyByFormat(content: Uint8Array, signatureFile: string, publicKeyFile: string): void {
  const [, signed = "", trusted = "", global = ""] = signatureFile.split("\n")
  const [, encodedKey = ""] = publicKeyFile.split("\n")
  // A key has two bytes of algorithm, eight of identifier and 32 of Ed25519; a signature has 64 in place of the 32.
  const [key, box] = [Buffer.from(encodedKey, "base64"), Buffer.from(signed, "base64")]
  const x = key.subarray(10).toString("base64url")
  const publicKey = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" })
  if (!box.subarray(2, 10).equals(key.subarray(2, 10))) throw new Error("The signature is of another key")
  const [signature, comment] = [box.subarray(10), Buffer.from(trusted.replace("trusted comment: ", ""))]
  if (!verify(null, createHash("blake2b512").update(content).digest(), publicKey, signature))
    throw new Error("Signature verification failed")
  if (!verify(null, Buffer.concat([signature, comment]), publicKey, Buffer.from(global, "base64")))
    throw new Error("Comment signature verification failed")
}
