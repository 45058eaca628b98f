// Ed25519 keys by reference: a private key is derived from a reference and the signing root of a scope. The root is sealed
// with the scope's key, so destroying that key destroys every identity key of the scope.
import { createHash, createHmac, randomFillSync } from "node:crypto"
import type { ByteStorage, HeldBox, SecretScope } from "@signet/client"
import { scopeText } from "../../core/platform.ts"

export interface SigningRoots {
  /** Reads the root of a held box, and creates a missing one. */
  load(box: number, scope: SecretScope, held: HeldBox): Promise<void>
  /** The seed of a reference: HMAC-SHA256(root, reference). Undefined for a box without a root. */
  seedOf(box: number, reference: Uint8Array): Uint8Array | undefined
  /** Overwrites the root of a box. */
  drop(box: number): void
  remove(scope: SecretScope): Promise<void>
}

const purpose = "signing-root/v1"
const rootBytes = 32

export function createSigningRoots(storage: ByteStorage): SigningRoots {
  const roots = new Map<number, Uint8Array>()

  return {
    async load(box, scope, held) {
      const name = nameOf(scope)
      for (;;) {
        const found = await storage.read(name)
        if (found !== undefined) {
          roots.set(box, await held.open(purpose, found.bytes))
          return
        }
        const root = randomFillSync(new Uint8Array(rootBytes))
        // Stored before its first use. Another process may be first: its root is read then.
        if ((await storage.write(name, await held.seal(purpose, root), undefined)) !== undefined) {
          roots.set(box, root)
          return
        }
      }
    },
    seedOf(box, reference) {
      const root = roots.get(box)
      return root && createHmac("sha256", root).update(reference).digest()
    },
    drop(box) {
      roots.get(box)?.fill(0)
      roots.delete(box)
    },
    remove: async (scope) => void (await storage.remove(nameOf(scope), "any")),
  }
}

const nameOf = (scope: SecretScope): string => {
  const digest = createHash("sha256").update(scopeText(scope)).digest("hex")
  return `signing-root.${digest.slice(0, 32)}`
}
