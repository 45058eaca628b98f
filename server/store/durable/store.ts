import type { MessagingStore } from "@signet/kernel/messaging/ports"
import { durableArchives } from "./archives.ts"
import { durableAttachments } from "./attachments.ts"
import { durableBlocks } from "./blocks.ts"
import { durableConversations } from "./conversations.ts"
import { durableDevices } from "./devices.ts"
import type { DurableEnv } from "./env.ts"
import { durableKeyPackages } from "./key-packages.ts"
import { durableProofNonces } from "./proof-nonces.ts"
import type { Revoked } from "./user/object.ts"
import { durableWelcomes } from "./welcomes.ts"

/**
 * The messaging store over objects, none of which writes another.
 *
 * @param options.due The result of `devices.dueEffects`: only the object of a user knows its own due effects.
 */
export function createDurableStore(
  env: DurableEnv,
  options: { readonly due?: () => Promise<readonly Revoked[]> } = {},
): MessagingStore {
  const devices = durableDevices(env, options.due ?? (async () => []))
  const blocks = durableBlocks(env)
  return {
    devices,
    keyPackages: durableKeyPackages(env, devices, blocks),
    conversations: durableConversations(env),
    welcomes: durableWelcomes(env),
    attachments: durableAttachments(env),
    proofNonces: durableProofNonces(env),
    blocks,
    archives: durableArchives(env),
  }
}
