import { isPublicKey } from "@signet/canonical/ed25519"
import type { ReceiptKeyStore } from "@signet/kernel/keys/issuer-keys"
import type { IssuerKeyRing } from "../keys/issuer-keys.ts"
import { type CreatedBackend, createMessagingBackend } from "../rpc/admin/create-backend.ts"
import type { Deps } from "../rpc/deps.ts"
import { developmentAppId } from "./development/app.ts"

/** What a messaging backend beside a development server is started with. */
export interface AddedBackend extends Pick<CreatedBackend, "clientId" | "clientSecret"> {
  /** What it pins. */
  readonly issuerRootKey: Uint8Array
}

/**
 * Lets a messaging backend beside a development server be one: its service account, and its receipt key in the set, which
 * the local root signs now.
 *
 * @param receiptKey 32 bytes: the public half.
 * @throws Error when it is no Ed25519 public key.
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
