// The users whom this user blocks. The service stores the list, and refuses what a blocked user may not do. The client
// marks the rest: messages and members of conversations that both users are in.
import { type BlockList, BlockListSchema } from "@signet/proto/messaging/v1/block_service"
import type { Calls } from "./calls.ts"
import type { Reports, Storage } from "./deps.ts"
import { MessagingError } from "./errors.ts"
import type { TimelineEntry } from "./events.ts"
import type { ConversationState } from "./state/conversation-state.ts"
import { deviceSpace } from "./store/store.ts"

const place = { space: deviceSpace, table: "device", key: "blocks" } as const

/** The newest list that a process of this device has read. */
export interface Blocks {
  /** `prn_…`, in the order of blocking. */
  readonly userIds: readonly string[]
  readonly version: bigint
  /** Reads the stored list, which another tab may have changed. @returns The generation of the store. */
  load(): Promise<bigint>
  /** Stores the list, unless a newer one is stored. */
  keep(list: BlockList | undefined): Promise<void>
}

export async function openBlocks({ store, rows, emit }: Storage & Reports): Promise<Blocks> {
  let current: Pick<BlockList, "version" | "userIds"> = { version: 0n, userIds: [] }
  let isOpen = false
  const take = (list: BlockList) => {
    if (list.version <= current.version) return
    current = list
    if (isOpen) emit({ is: "blockedUsers", userIds: list.userIds })
  }
  const blocks: Blocks = {
    get userIds() {
      return current.userIds
    },
    get version() {
      return current.version
    },
    async load() {
      const { generation, values } = await store.read(deviceSpace, [place])
      const [sealed] = values
      if (sealed !== undefined) take(await rows.read(place, BlockListSchema, sealed))
      return generation
    },
    async keep(list) {
      for (;;) {
        const generation = await blocks.load()
        if (list === undefined || list.version <= current.version) return
        const op = await rows.put(place, BlockListSchema, list)
        if ((await store.transact(deviceSpace, generation, [op])) === "ok") return take(list)
      }
    },
  }
  await blocks.load()
  isOpen = true
  return blocks
}

interface Blocking {
  readonly blocks: Blocks
}

/** Reads the list if the service has a newer one. */
export async function followBlocks(
  { blocks, calls }: Blocking & { readonly calls: Pick<Calls, "blocks"> },
  version: bigint,
): Promise<void> {
  if (version > blocks.version) await blocks.keep((await calls.blocks.listBlockedUsers({})).list)
}

/** The entry, marked if a blocked user wrote it. */
export function markedEntry({ userIds }: Blocks, entry: TimelineEntry): TimelineEntry {
  const isMarked = (entry.is === "message" || entry.is === "attachment") && userIds.includes(entry.from.userId)
  return isMarked ? { ...entry, isFromBlocked: true } : entry
}

/** @throws MessagingError USER_BLOCKED in a direct conversation with a blocked user. */
export async function ensureUnblocked({ blocks, record }: Blocking & Pick<ConversationState, "record">): Promise<void> {
  if (blocks.userIds.length === 0) return
  const { directUserIds = [] } = (await record()) ?? {}
  if (directUserIds.some((id) => blocks.userIds.includes(id))) {
    throw new MessagingError("USER_BLOCKED", "this user blocks the other one: unblock first")
  }
}
