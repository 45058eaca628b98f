// The platform's own hashes and signatures in place of the portable ones: the Worker has node:crypto, so it need not carry
// 40 KB of the same. Tests hold each to the portable one's rule.
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
