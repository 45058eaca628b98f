import type { MessagingStore } from "@signet/kernel/messaging/ports"
import type { Database } from "../sql.ts"
import { type AccessOptions, createAccess } from "./access.ts"
import { archives } from "./archives.ts"
import { attachments } from "./attachments.ts"
import { blocks } from "./blocks.ts"
import { conversations } from "./conversations.ts"
import { devices } from "./devices.ts"
import { keyPackages } from "./key-packages.ts"
import { proofNonces } from "./proof-nonces.ts"
import { welcomes } from "./welcomes.ts"

/** @param options.isolationLevel READ COMMITTED by default. SERIALIZABLE is correct too, with more retries. */
export function createMessagingStore(db: Database, options: AccessOptions): MessagingStore {
  const access = createAccess(db, options)
  return {
    devices: devices(access),
    keyPackages: keyPackages(access),
    conversations: conversations(access),
    welcomes: welcomes(access),
    attachments: attachments(access),
    proofNonces: proofNonces(access),
    blocks: blocks(access),
    archives: archives(access),
  }
}
