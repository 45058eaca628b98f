// Files: sent in parts, stopped anywhere and gone on with, and read whole or in a range from a store that may lie.
import { parseId } from "@signet/kernel/ids"
import { isGone } from "@signet/kernel/messaging/attachment"
import type { AttachmentOptions, Messenger } from "../../clients/core/messaging/index.ts"
import { attempt, type Cast } from "./actions.ts"
import type { SimulatedDevice } from "./device.ts"
import type { Playing } from "./features.ts"
import { reasonOf } from "./reason-of.ts"
import type { Seeded } from "./seeded.ts"
import { leaves, watchWebCrypto } from "./web-crypto.ts"

/** Around the size of a chunk, and of a part of the store's. */
const sizes = [0, 1, 49_999, 65_536, 65_537, 131_073, 180_000, 200_000]

interface File {
  /** Its name: with it, whoever reads it is known to read the right bytes. */
  readonly name: string
  readonly bytes: Uint8Array<ArrayBuffer>
}

export function playAttachments(cast: Cast, random: Seeded): Playing {
  const { schedule } = cast
  /** What must never be, in words. */
  const wrong: string[] = []
  watchWebCrypto(schedule, wrong)
  cast.service.hearParts.add(leaves)
  const files = new Map<string, File>()
  const doings: readonly (readonly [number, (device: SimulatedDevice, messenger: Messenger) => Promise<void>])[] = [
    [4, sendOne],
    [4, goOn],
    [0.5, cancelOne],
    [3, readOne],
  ]

  async function sendOne(device: SimulatedDevice, messenger: Messenger) {
    const id = await conversationOf(messenger)
    if (id === undefined) return
    const name = `file ${files.size} of ${device.name}`
    const file = { name, bytes: bytesFor(random, random.pick(sizes)) }
    files.set(name, file)
    await attempt(cast, device, `sends ${name}, ${file.bytes.length} bytes`, () =>
      stoppable((options) => messenger.sendAttachment(id, sourceOf(file.bytes), { ...options, fileName: name })),
    )
  }

  /** With the same file; or with one that somebody has changed meanwhile. */
  async function goOn(device: SimulatedDevice, messenger: Messenger) {
    const id = await conversationOf(messenger)
    const uploads = id === undefined ? [] : await messenger.uploads(id).catch(() => [])
    if (id === undefined || uploads.length === 0) return
    const { id: resume, fileName } = random.pick(uploads)
    const bytes = Uint8Array.from(files.get(fileName)?.bytes ?? [])
    const isChanged = random.chance(0.3) && bytes.length > 0
    if (isChanged) bytes.set([random.below(256)], random.below(bytes.length))
    await attempt(cast, device, `goes on with ${fileName}${isChanged ? ", changed" : ""}`, () =>
      stoppable((options) => messenger.sendAttachment(id, sourceOf(bytes), { ...options, resume })),
    )
  }

  /** Somebody may stop it between two parts. */
  async function stoppable(send: (options: AttachmentOptions) => Promise<unknown>): Promise<void> {
    const stopping = new AbortController()
    const isStopped = random.chance(0.4)
    const onProgress = (done: number) => {
      if (isStopped && done > 0) stopping.abort()
    }
    await send({ signal: stopping.signal, onProgress }).catch((error: unknown) => {
      if (!stopping.signal.aborted) throw error
    })
  }

  async function cancelOne(device: SimulatedDevice, messenger: Messenger) {
    const id = await conversationOf(messenger)
    const [one] = id === undefined ? [] : await messenger.uploads(id).catch(() => [])
    if (id === undefined || one === undefined) return
    await attempt(cast, device, `cancels ${one.fileName}`, () => messenger.cancelUpload(id, one.id))
  }

  async function readOne(device: SimulatedDevice, messenger: Messenger) {
    const id = await conversationOf(messenger)
    const all = id === undefined ? [] : await attachmentsIn(messenger, id).catch(() => [])
    if (id === undefined || all.length === 0) return
    const { seq, fileName, size } = random.pick(all)
    const [one, other] = [random.below(size + 1), random.below(size + 1)]
    const range = random.chance(0.5) ? undefined : ([Math.min(one, other), Math.max(one, other)] as const)
    await attempt(cast, device, `reads ${fileName}${range === undefined ? "" : ` from ${range.join(" to ")}`}`, () =>
      read(device, messenger, id, seq, fileName, range),
    )
  }

  const conversationOf = async (messenger: Messenger): Promise<string | undefined> => {
    const all = await messenger.conversations().catch(() => [])
    return all.length === 0 ? undefined : random.pick(all).id
  }

  /** Reads, and looks at each byte that is given out, also where it stops. */
  async function read(
    { name }: SimulatedDevice,
    messenger: Messenger,
    conversationId: string,
    seq: bigint,
    fileName: string,
    range: readonly [number, number] | undefined,
  ): Promise<void> {
    const file = files.get(fileName)
    const opened = await messenger.openAttachment(conversationId, seq)
    const [from, to] = range ?? [0, opened.size]
    if (file?.bytes.length !== opened.size) wrong.push(`${name} is shown another ${fileName}`)
    let at = from
    for await (const piece of opened.stream({ from, to })) {
      const isSent = Buffer.from(piece).equals(file?.bytes.subarray(at, at + piece.length) ?? new Uint8Array())
      if (!isSent) wrong.push(`${name} reads what was not sent, from byte ${at} of ${fileName} on`)
      at += piece.length
    }
    if (at !== to) wrong.push(`${name} reads ${at} of ${to} of ${fileName}, and is told that that is all`)
  }

  return {
    async act() {
      if (!random.chance(0.4)) return
      const device = random.pick(cast.devices)
      const { messenger } = device
      if (messenger === undefined) return
      const total = doings.reduce((sum, [weight]) => sum + weight, 0)
      let drawn = (random.below(1_000) / 1_000) * total
      for (const [weight, doing] of doings) {
        drawn -= weight
        if (drawn < 0) return doing(device, messenger)
      }
    },
    /** In peace, whoever is in reads all that it was shown, whole. */
    async violations() {
      const found: string[] = []
      for (const device of cast.devices) {
        const { messenger } = device
        if (messenger === undefined) continue
        for (const kept of cast.service.conversations.all.values()) {
          const { id, roster } = kept.conversation
          if (!roster.some(({ deviceId }) => deviceId === messenger.deviceId)) continue
          if (await isRevoked(messenger)) continue
          for (const { seq, fileName } of await attachmentsIn(messenger, id)) {
            try {
              await read(device, messenger, id, seq, fileName, undefined)
            } catch (error) {
              if (reasonOf(error) === "ATTACHMENT_GONE" && isAnyGone()) continue
              found.push(`${device.name} cannot read ${fileName}: ${reasonOf(error)}`)
            }
          }
        }
      }
      return [...found, ...wrong]
    },
  }

  /** Whether the service has forgotten any by now: it keeps them for three months. */
  function isAnyGone(): boolean {
    const nowMs = schedule.nowMs()
    return [...cast.service.attachments.values()].some((one) => isGone(one, nowMs))
  }

  async function isRevoked({ deviceId }: Messenger): Promise<boolean> {
    const id = parseId("dev", deviceId)
    return id !== undefined && (await cast.service.deps.store.devices.find(id))?.status === "REVOKED"
  }
}

async function attachmentsIn(messenger: Messenger, conversationId: string) {
  const entries = await messenger.timeline(conversationId, { limit: 10_000 })
  return entries.flatMap((entry) => (entry.is === "attachment" ? [entry] : []))
}

/** The same for the same draw, and different all along. */
function bytesFor(random: Seeded, size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size)
  let state = random.below(2 ** 31) | 1
  for (let i = 0; i < size; i++) {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    bytes[i] = state
  }
  return bytes
}

const sourceOf = (bytes: Uint8Array<ArrayBuffer>) => ({
  size: bytes.length,
  slice: (from: number, to: number) => ({ arrayBuffer: async () => bytes.slice(from, to).buffer }),
})
