// A service that has turned: it holds its own keys, and says what it likes to whom it likes. What it answers is bent on
// its way; what it keeps is the truth.
import { clone, create, isMessage, type Message } from "@bufbuild/protobuf"
import { hash } from "@signet/canonical/hash"
import type { PrincipalId } from "@signet/kernel/ids"
import {
  Archive_Status,
  ListArchivesResponseSchema,
  ReadChunkResponseSchema,
} from "@signet/proto/messaging/v1/archive_service"
import { DownloadPartResponseSchema } from "@signet/proto/messaging/v1/attachment_service"
import {
  AuthorizeMembershipResponseSchema,
  CreateConversationResponseSchema,
  GetGroupInfoResponseSchema,
  GetTreeResponseSchema,
  ListMessagesResponseSchema,
} from "@signet/proto/messaging/v1/conversation_service"
import { type Authorization, type Envelope, Envelope_Kind } from "@signet/proto/messaging/v1/records"
import { ConsumeWelcomeResponseSchema } from "@signet/proto/messaging/v1/welcome_service"
import { otherReceipt, withGhost } from "./forgeries.ts"
import type { Answering } from "./network.ts"
import type { Seeded } from "./seeded.ts"
import type { SimulatedService } from "./service/service.ts"
import type { Witness } from "./watched.ts"

const all = [
  "ghost member",
  "dropped commit",
  "equivocation",
  "replay",
  "late messages",
  "old group info",
  "bent parts",
  "bent history",
] as const
/** What a service does that has turned. */
export type Hostility = (typeof all)[number]
export const hostilities: readonly Hostility[] = all
export const isHostility = (text: string): text is Hostility => all.some((one) => one === text)

export interface Hostile {
  answering(device: string): Answering
  /** A commit is on its way: the service keeps it, taken or not. */
  sent(conversationId: string, epoch: bigint, commit: Uint8Array): void
  begin(): void
  end(): void
  /** How often something else than the truth was said. */
  readonly lies: number
}

interface Turned {
  readonly random: Seeded
  readonly service: SimulatedService
  readonly witness: Witness
  /** Somebody whom nobody asked for. */
  readonly ghost: PrincipalId
  /** Commits that were sent, by conversation and epoch. */
  readonly commits: Map<string, Uint8Array[]>
  /** What was answered before, by method and conversation. */
  readonly before: Map<string, Message>
  /** Whether what a device was shown of a group, by device and conversation, was ever what there is. */
  readonly shown: Map<string, boolean>
  /** Parts of files that were handed out. */
  readonly parts: Uint8Array[]
}

/** What becomes of an answer; undefined for the truth. */
type Bend = (turned: Turned, conversationId: string, truth: Message) => Promise<Message | undefined>

export function hostileService(
  hostility: Hostility | undefined,
  turned: Omit<Turned, "commits" | "before" | "shown" | "parts">,
): Hostile {
  const known: Turned = { ...turned, commits: new Map(), before: new Map(), shown: new Map(), parts: [] }
  let isTurned = false
  let lies = 0
  const lie = async (conversationId: string, truth: Message) => {
    remember(known, conversationId, truth)
    if (hostility === undefined || !isTurned || !turned.random.chance(0.6)) return undefined
    const bent = await bends[hostility](known, conversationId, truth)
    if (bent !== undefined) lies++
    return bent
  }
  return {
    get lies() {
      return lies
    },
    sent(conversationId, epoch, commit) {
      const place = `${conversationId} ${epoch}`
      known.commits.set(place, [...(known.commits.get(place) ?? []), commit])
    },
    answering: (device) => async (_, request, truth) => {
      const told = (await lie(conversationIn(request), truth)) ?? truth
      watchJoining(known, device, conversationIn(request), truth, told)
      return told
    },
    begin() {
      isTurned = true
    },
    end() {
      isTurned = false
    },
  }
}

const bends: Record<Hostility, Bend> = {
  async "ghost member"({ service, ghost }, _, truth) {
    if (isMessage(truth, CreateConversationResponseSchema)) {
      const bent = clone(CreateConversationResponseSchema, truth)
      return (await addGhost(service, bent.authorization, ghost)) ? bent : undefined
    }
    if (!isMessage(truth, AuthorizeMembershipResponseSchema)) return undefined
    const bent = clone(AuthorizeMembershipResponseSchema, truth)
    return (await addGhost(service, bent.authorization, ghost)) ? bent : undefined
  },

  async "dropped commit"(_, __, truth) {
    return bentLog(truth, (envelopes) => {
      const at = envelopes.findIndex(({ kind }) => kind === Envelope_Kind.COMMIT)
      if (at < 0) return undefined
      // The places of what follows are the service's word, too.
      for (const one of envelopes.slice(at + 1)) one.seq -= 1n
      return envelopes.toSpliced(at, 1)
    })
  },

  async replay({ random, service }, conversationId, truth) {
    const kept = [...service.conversations.all.values()].find(({ conversation }) => conversation.id === conversationId)
    return bentLog(truth, (envelopes) => {
      const [at] = envelopes
      const earlier = kept?.log.filter(({ seq, kind }) => kind === "APPLICATION" && at !== undefined && seq < at.seq)
      if (at === undefined || earlier === undefined || earlier.length === 0) return undefined
      const { message, contentHash, epoch, senderDeviceId } = random.pick(earlier)
      const again = { ...at, message, contentHash, epoch, senderDeviceId, kind: Envelope_Kind.APPLICATION }
      for (const one of envelopes) one.seq += 1n
      return [again, ...envelopes]
    })
  },

  async "late messages"({ random }, _, truth) {
    return bentLog(truth, (envelopes) => {
      const isMessage = (one: Envelope | undefined) => one?.kind === Envelope_Kind.APPLICATION
      const pairs = [...envelopes.keys()].filter((i) => isMessage(envelopes[i]) && isMessage(envelopes[i + 1]))
      if (pairs.length === 0) return undefined
      const at = random.pick(pairs)
      const [one, other] = envelopes.slice(at, at + 2)
      if (one === undefined || other === undefined) return undefined
      return envelopes.toSpliced(at, 2, { ...other, seq: one.seq }, { ...one, seq: other.seq })
    })
  },

  async equivocation({ service, witness, commits }, conversationId, truth) {
    return bentLog(truth, (envelopes) => {
      for (const [i, one] of envelopes.entries()) {
        if (one.kind !== Envelope_Kind.COMMIT) continue
        const others = commits.get(`${conversationId} ${one.epoch}`) ?? []
        const other = others.find((commit) => !Buffer.from(commit).equals(one.message))
        const receipt = other && otherReceipt(service, witness, one, other)
        if (other === undefined || receipt === undefined) continue
        const told = { ...one, message: other, contentHash: hash("commit", other), receipt }
        return [...envelopes.slice(0, i), told]
      }
      return undefined
    })
  },

  async "old group info"({ before }, conversationId, truth) {
    const old = before.get(`${truth.$typeName} ${conversationId}`)
    return old === truth ? undefined : old
  },

  async "bent parts"({ random, parts }, _, truth) {
    if (!isMessage(truth, DownloadPartResponseSchema)) return undefined
    const data = bentPart(random, truth.data, parts)
    parts.push(truth.data)
    return data && create(DownloadPartResponseSchema, { data })
  },

  async "bent history"({ random, parts }, _, truth) {
    if (isMessage(truth, ReadChunkResponseSchema)) {
      const data = bentPart(random, truth.data, parts)
      parts.push(truth.data)
      return data && create(ReadChunkResponseSchema, { data })
    }
    if (!isMessage(truth, ListArchivesResponseSchema)) return undefined
    const bent = clone(ListArchivesResponseSchema, truth)
    const one = bent.archives.find(({ chunkCount }) => chunkCount > 0)
    if (one === undefined) return undefined
    // It ends before its last chunk, or was granted by nobody.
    one.chunkCount = random.below(one.chunkCount)
    one.status = Archive_Status.COMPLETE
    one.grant = one.grant.map((byte, i) => (i === random.below(one.grant.length) ? byte ^ 1 : byte))
    return bent
  },
}

/** Cut, longer, another one of the same length, one half twice, or a byte changed. */
function bentPart(random: Seeded, data: Uint8Array, others: readonly Uint8Array[]): Uint8Array | undefined {
  const half = data.length >> 1
  const bent = Uint8Array.from(data)
  switch (random.below(5)) {
    case 0:
      return bent.subarray(0, random.below(data.length))
    case 1:
      return Buffer.concat([data, random.bytes(16)])
    case 2:
      return others.findLast((one) => one.length === data.length && !Buffer.from(one).equals(data))
    case 3:
      bent.set(data.subarray(0, half), half)
      return bent
    default:
      bent.set(random.bytes(1), random.below(data.length))
      return bent
  }
}

/** The first GroupInfo and tree of each conversation that were told. */
function remember({ before }: Turned, conversationId: string, truth: Message): void {
  const isKept = isMessage(truth, GetGroupInfoResponseSchema) || isMessage(truth, GetTreeResponseSchema)
  const name = `${truth.$typeName} ${conversationId}`
  if (isKept && !before.has(name)) before.set(name, truth)
}

/** Whoever has joined was shown the group that it is in: nothing else is followed. */
function watchJoining(
  { shown, witness }: Turned,
  device: string,
  conversationId: string,
  truth: Message,
  told: Message,
): void {
  if (isMessage(truth, GetGroupInfoResponseSchema) && isMessage(told, GetGroupInfoResponseSchema)) {
    const name = `${device} ${conversationId}`
    shown.set(name, shown.get(name) === true || told.epoch === truth.epoch)
  }
  if (!isMessage(truth, ConsumeWelcomeResponseSchema)) return
  const name = `${device} ${truth.welcome?.conversationId}`
  if (shown.get(name) === false) witness.violations.push(`${device} joins by what a group was before`)
  shown.delete(name)
}

function bentLog(truth: Message, bend: (envelopes: Envelope[]) => Envelope[] | undefined): Message | undefined {
  if (!isMessage(truth, ListMessagesResponseSchema)) return undefined
  const envelopes = bend(clone(ListMessagesResponseSchema, truth).envelopes)
  if (envelopes === undefined) return undefined
  const headSeq = envelopes.at(-1)?.seq ?? truth.headSeq
  return create(ListMessagesResponseSchema, { envelopes, headSeq })
}

async function addGhost(service: SimulatedService, authorization: Authorization | undefined, ghost: PrincipalId) {
  return authorization !== undefined && (await withGhost(service, authorization, ghost))
}

function conversationIn(request: unknown): string {
  const isOfOne = typeof request === "object" && request !== null && "conversationId" in request
  return isOfOne && typeof request.conversationId === "string" ? request.conversationId : ""
}
