import { hash } from "node:crypto"
import type { Verify } from "@signet/canonical/ed25519"
import { nodeVerify } from "@signet/canonical/node/ed25519"

const most = 20_000

type Verifying<Verdict> = (publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array) => Verdict

/** One verdict for all who ask: it depends on the bytes alone, and most bytes are seen by every device and the service. */
export function once<Verdict>(verify: Verifying<Verdict>): Verifying<Verdict> {
  const verdicts = new Map<string, Verdict>()
  return (publicKey, message, signature) => {
    // Of other lengths, two triples could share a name.
    if (publicKey.length !== 32 || signature.length !== 64) return verify(publicKey, message, signature)
    const name = hash("sha256", Buffer.concat([publicKey, signature, message]), "base64")
    const known = verdicts.get(name)
    if (known !== undefined) return known
    if (verdicts.size >= most) verdicts.clear()
    const verdict = verify(publicKey, message, signature)
    verdicts.set(name, verdict)
    return verdict
  }
}

export const verifyOnce: Verify = once(nodeVerify)
