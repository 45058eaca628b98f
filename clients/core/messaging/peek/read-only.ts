// The ports of a read-ahead. Each refuses what changes something, here or at the service, so that no code behind them has
// to remember it.
import type { Transport } from "@connectrpc/connect"
import { ConversationService } from "@signet/proto/messaging/v1/conversation_service"
import type { SecretBox } from "../../secret-box.ts"
import type { MessagingStore } from "../store/store.ts"

const { listConversations, listMessages } = ConversationService.method

/** The calls of a read-ahead: neither moves a cursor, and neither carries a device proof. */
const reads: readonly unknown[] = [listConversations, listMessages]

const refused = (what: string): Error => new TypeError(`a read-ahead must not ${what}`)

export const readOnlyStore = (store: MessagingStore): MessagingStore => ({
  durability: store.durability,
  read: (space, wanted) => store.read(space, wanted),
  list: (space, table, range) => store.list(space, table, range),
  spaces: () => store.spaces(),
  transact: () => Promise.reject(refused("write")),
  close: () => Promise.reject(refused("close the store of its caller")),
})

export const readingTransport = (transport: Transport): Transport => ({
  unary(method, ...call) {
    if (!reads.includes(method)) return Promise.reject(refused(`call ${method.name}`))
    return transport.unary(method, ...call)
  },
  stream: (method) => Promise.reject(refused(`call ${method.name}`)),
})

/** Opens sealed bytes with existing keys. */
export function readOnlyBox(box: SecretBox): SecretBox {
  return {
    describe: () => box.describe(),
    open: (scope, purpose, sealed) => box.open(scope, purpose, sealed),
    // The messenger has created it.
    createKey: async () => undefined,
    seal: () => Promise.reject(refused("seal")),
    rotate: () => Promise.reject(refused("rotate a key")),
    destroy: () => Promise.reject(refused("destroy a key")),
  }
}
