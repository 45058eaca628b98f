import type { MessagingStore } from "@signet/kernel/messaging/ports"
import type { IsolationLevel } from "kysely"
import type { Database } from "../sql.ts"
import { createAccess } from "./access.ts"
import { attachments } from "./attachments.ts"
import { conversations } from "./conversations.ts"
import { devices } from "./devices.ts"
import { keyPackages } from "./key-packages.ts"
import { proofNonces } from "./proof-nonces.ts"
import { welcomes } from "./welcomes.ts"

/** @param options.isolationLevel READ COMMITTED unless told otherwise; SERIALIZABLE does as well, and runs more often. */
export function createMessagingStore(db: Database, options: { isolationLevel?: IsolationLevel } = {}): MessagingStore {
  const access = createAccess(db, options.isolationLevel ?? "read committed")
  return {
    devices: devices(access),
    keyPackages: keyPackages(access),
    conversations: conversations(access),
    welcomes: welcomes(access),
    attachments: attachments(access),
    proofNonces: proofNonces(access),
  }
}
