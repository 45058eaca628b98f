// An esbuild plugin for the Worker's bundle. It replaces portable hashes and signatures with node:crypto, which Workers
// offer: the bundle is 40 KB smaller. Tests check that both give the same results.
import { join } from "node:path"
import type { Plugin } from "esbuild"

const keysFolder = join(import.meta.dirname, "../../keys")
const canonicalFolder = join(import.meta.dirname, "../../../proto/canonical")

export const platformCrypto: Plugin = {
  name: "platform-crypto",
  setup(build) {
    build.onResolve({ filter: /^@noble\/hashes\/sha2\.js$/ }, () => ({ path: join(keysFolder, "hashes.ts") }))
    build.onLoad({ filter: /\/proto\/canonical\/ed25519\.ts$/ }, () => ({
      contents: `export {
        isSoundPublicKey as isPublicKey,
        nodeSigner as seedSigner,
        nodeVerify as verifyEd25519,
      } from ${JSON.stringify(join(canonicalFolder, "node/ed25519.ts"))}`,
    }))
  },
}
