import { isPublicKey } from "@signet/canonical/ed25519"
import { developmentAppId } from "@signet/development/app-id"
import type { AddedBackend } from "@signet/development/backend"
import type { ReceiptKeyStore } from "@signet/kernel/keys/issuer-keys"
import type { IssuerKeyRing } from "../keys/issuer-keys.ts"
import { createMessagingBackend } from "../rpc/admin/create-backend.ts"
import type { Deps } from "../rpc/deps.ts"

/**
 * Registers a messaging backend beside a development server: creates its service account and adds its receipt key to
 * the key set, which the local root signs at once.
 *
 * @param receiptKey The public key, 32 bytes.
 * @throws Error if it is not an Ed25519 public key.
 */
export async function addDevelopmentBackend(
  of: {
    deps: Pick<Deps, "store" | "secrets" | "random" | "clock" | "authAudience">
    messagingAudience: string
    receiptKeys: ReceiptKeyStore
    issuerKeys: Pick<IssuerKeyRing, "tick">
    issuerRootKey: Uint8Array
  },
  receiptKey: Uint8Array,
): Promise<AddedBackend> {
  const { deps, messagingAudience, issuerRootKey } = of
  if (!isPublicKey(receiptKey)) throw new Error("the value is not an Ed25519 public key")
  const name = "messaging backend"
  const asked = { appId: developmentAppId, name, messagingAudience, replaces: false }
  const { clientId, clientSecret } = await createMessagingBackend(deps, asked)
  await of.receiptKeys.add({ publicKey: receiptKey, name, createdAtMs: deps.clock.nowMs() })
  await of.issuerKeys.tick()
  return { clientId, clientSecret, issuerRootKey }
}
