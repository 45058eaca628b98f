// Replaces the portable hashes and signatures with the platform's: the Worker has node:crypto, which saves 40 KB. Tests
// compare both.
import { join } from "node:path"
import type { Plugin } from "esbuild"

const keys = join(import.meta.dirname, "../../keys")
const canonical = join(import.meta.dirname, "../../../proto/canonical")

export const platformCrypto: Plugin = {
  name: "platform-crypto",
  setup(build) {
    build.onResolve({ filter: /^@noble\/hashes\/sha2\.js$/ }, () => ({ path: join(keys, "hashes.ts") }))
    build.onLoad({ filter: /\/proto\/canonical\/ed25519\.ts$/ }, () => ({
      contents: `export {
        isSoundPublicKey as isPublicKey,
        nodeSigner as seedSigner,
        nodeVerify as verifyEd25519,
      } from ${JSON.stringify(join(canonical, "node/ed25519.ts"))}`,
    }))
  },
}
