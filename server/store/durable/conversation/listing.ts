// Lists a device's conversations: ids from the indexes of device and user, then the state from each conversation.
import type { ConversationId } from "@signet/kernel/ids"
import type { MemberUsers } from "@signet/kernel/messaging/listening"
import type { Conversations } from "@signet/kernel/messaging/ports"
import { ask } from "../asking.ts"
import type { Indexed } from "../device/conversations.ts"
import { type Seen, seenAtOnce } from "../device/seeing.ts"
import type { DurableEnv } from "../env.ts"
import { inParallel } from "../in-parallel.ts"
import { userName } from "../names.ts"
import type { Lister } from "./seen.ts"

export function listing(env: DurableEnv): Pick<Conversations, "list" | "memberUsers" | "logProgress" | "withDevice"> {
  const { CONVERSATIONS, DEVICES, USERS } = env
  const device = ({ deviceId }: Lister) => DEVICES.getByName(deviceId)
  const user = ({ userId, place }: Lister) => USERS.getByName(userName(userId, place))

  return {
    list: (of, { size, before }) =>
      paged<Indexed, { createdAtMs: number; id: ConversationId }, Awaited<ReturnType<Conversations["list"]>>[number]>({
        size,
        from: before,
        next: async (from, count) => {
          const page = { size: count, before: from }
          if (of.isUnjoined === true) return ask(() => user(of).newestJoined(page))
          const [own, asked] = await Promise.all([
            ask(() => device(of).newestConversations(page)),
            ask(() => user(of).newestAsked(page)),
          ])
          return distinct([...own, ...asked])
            .toSorted(newestFirst)
            .slice(0, count)
        },
        see: async (ids) => {
          const see = seeing(
            (some) => device(of).listed(of, some),
            (id) => CONVERSATIONS.getByName(id).listed(of),
          )
          return see(of.isUnjoined === true ? await ask(() => device(of).withoutLeaf(ids)) : ids)
        },
      }),

    memberUsers: async (of, { size, after, only }) => {
      const see = seeing<MemberUsers>(
        (ids) => device(of).memberUsers(of, ids),
        (id) => CONVERSATIONS.getByName(id).memberUsers(of),
      )
      if (only !== null) return after === null || only > after ? see([only]) : []
      return paged<Indexed, Pick<Indexed, "id">, MemberUsers>({
        size,
        from: after === null ? null : { id: after },
        next: async (from, count) => {
          const page = { size: count, after: from?.id ?? null }
          const [own, asked] = await Promise.all([
            ask(() => device(of).conversationsById(page)),
            ask(() => user(of).askedById(page)),
          ])
          return distinct([...own, ...asked])
            .toSorted(byId)
            .slice(0, count)
        },
        see,
      })
    },

    async logProgress(deviceId, ids) {
      const found = await inParallel([...new Set(ids)], (id) =>
        ask(() => CONVERSATIONS.getByName(id).progress(deviceId)),
      )
      return found
        .filter((progress) => progress !== undefined)
        .toSorted((a, b) =>
          newestFirst(
            { id: a.conversationId, createdAtMs: a.createdAtMs },
            { id: b.conversationId, createdAtMs: b.createdAtMs },
          ),
        )
        .map(({ createdAtMs: _, ...progress }) => progress)
    },

    withDevice: (deviceId) => ask(() => DEVICES.getByName(deviceId).openConversations()),
  }
}

/**
 * Reads conversations, and drops those that the lister may not see: many by one call of the device's object, the rest
 * directly.
 */
function seeing<Found extends object>(
  ofDevice: (ids: readonly ConversationId[]) => Promise<readonly Seen<Found>[]>,
  itself: (id: ConversationId) => Promise<Found | undefined>,
): (ids: readonly ConversationId[]) => Promise<readonly Found[]> {
  return async (ids) => {
    const parts: (readonly ConversationId[])[] = []
    for (let at = 0; at < ids.length; at += seenAtOnce) parts.push(ids.slice(at, at + seenAtOnce))
    const answers: readonly Seen<Found>[] =
      ids.length === 1 ? [null] : (await inParallel(parts, (some) => ask(() => ofDevice(some)))).flat()
    const unheard = ids.filter((_, i) => answers[i] === null)
    const late = (await inParallel(unheard, (id) => ask(() => itself(id)))).values()
    return answers.flatMap((answer) => (answer === null ? late.next().value : answer) ?? [])
  }
}

/** An index may be outdated, so each indexed conversation is read until the page is full. */
async function paged<One extends Indexed, From extends Pick<Indexed, "id">, Found>(of: {
  size: number
  from: From | null
  /** The next ids; fewer than requested at the end. */
  next: (from: From | One | null, count: number) => Promise<readonly One[]>
  see: (ids: readonly ConversationId[]) => Promise<readonly Found[]>
}): Promise<readonly Found[]> {
  const seen: Found[] = []
  let from: From | One | null = of.from
  while (seen.length < of.size) {
    const count = of.size - seen.length
    const page: readonly One[] = await of.next(from, count)
    seen.push(...(await of.see(page.map(({ id }) => id))))
    from = page.at(-1) ?? null
    if (page.length < count) break
  }
  return seen
}

const distinct = (all: readonly Indexed[]): readonly Indexed[] => [...new Map(all.map((one) => [one.id, one])).values()]

const byId = (a: Pick<Indexed, "id">, b: Pick<Indexed, "id">): number => (a.id < b.id ? -1 : Number(a.id > b.id))

const newestFirst = (a: Indexed, b: Indexed): number => b.createdAtMs - a.createdAtMs || byId(b, a)
