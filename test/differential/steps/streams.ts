// What a stream tells: when it opens, and while something happens. Hints may come twice or in one; what they say in the
// end is compared.
import { ConnectError } from "@connectrpc/connect"
import type { SubscribeResponse } from "@signet/proto/messaging/v1/conversation_service"
import { callsOver } from "../../support/messaging/calls.ts"
import type { TestDevice } from "../../support/messaging/device.ts"
import { type Seen, sorted } from "../seen.ts"
import { type Act, membersOf, type Step } from "../side.ts"
import { append } from "./conversations.ts"

type Event = SubscribeResponse["event"]

const isAgain: ReadonlySet<string> = new Set(["heartbeat", "deviceListChanged", "directiveIssued"])

/** No event for so long, and a stream has said what it had to say. */
const quietMs = 400

class Heard {
  readonly heads = new Map<string, bigint>()
  readonly #others = new Map<string, Event>()
  #lastMs = performance.now()
  #isBegun = false

  add(event: Event): void {
    this.#isBegun = true
    // A change of a moment ago may be told again when a stream opens, or not: who listens knows the version.
    if (event.case === undefined || isAgain.has(event.case)) return
    this.#lastMs = performance.now()
    if (event.case === "envelopeAvailable") {
      const { conversationId, headSeq } = event.value
      const before = this.heads.get(conversationId) ?? 0n
      if (headSeq > before) this.heads.set(conversationId, headSeq)
      return
    }
    // Of what is told again only the newest counts.
    this.#others.set(keyOf(event), event)
  }

  get isBegun(): boolean {
    return this.#isBegun
  }

  get welcomes(): number {
    return [...this.#others.values()].filter((event) => event.case === "welcomeAvailable").length
  }

  async quiet(): Promise<void> {
    for (;;) {
      const leftMs = quietMs - (performance.now() - this.#lastMs)
      if (leftMs <= 0) return
      await new Promise((resolve) => setTimeout(resolve, leftMs))
    }
  }

  /** Waits until it is so, or for too long. */
  async until(isSo: () => boolean): Promise<void> {
    for (let waitedMs = 0; !isSo() && waitedMs < 5_000; waitedMs += 10) {
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }

  seen(act: Act): Seen {
    const { seer } = act.side
    const heads = [...this.heads].map(([id, head]) => seer.value({ id, head }))
    const others = [...this.#others.values()].map((event) => seer.value({ case: event.case, value: event.value }))
    return { heads: sorted(heads), others: sorted(others) }
  }
}

const keyOf = (event: Event): string => (event.case === "welcomeAvailable" ? event.value.welcomeId : String(event.case))

/** How much a stream has to say when it opens. */
async function expected({ calls }: TestDevice): Promise<{ welcomes: number; behind: number }> {
  try {
    const { welcomes } = await calls.welcomes.listWelcomes({})
    const { conversations } = await calls.conversations.listConversations({ pageSize: 200 })
    const behind = conversations.filter(({ headSeq, cursor }) => headSeq > (cursor?.processedSeq ?? 0n))
    return { welcomes: welcomes.length, behind: behind.length }
  } catch {
    return { welcomes: 0, behind: 0 }
  }
}

async function listening(act: Act, device: TestDevice, during: (heard: Heard) => Promise<void>): Promise<void> {
  const stop = new AbortController()
  const heard = new Heard()
  const includeEnvelopes = act.rng.chance(0.5)
  const { conversations } = callsOver(act.side.streaming, device.credentials)
  const events = conversations.subscribe({ includeEnvelopes }, { signal: stop.signal })
  let end: unknown
  const reading = (async () => {
    for await (const { event } of events) heard.add(event)
  })().catch((error: unknown) => {
    end = error
  })
  // Nearly every device has too few key packages, and is told so; of the rest it is known what is to come.
  const { welcomes, behind } = await expected(device)
  const isAll = () => heard.isBegun && heard.welcomes >= welcomes && heard.heads.size >= behind
  await heard.until(() => isAll() || end !== undefined)
  await heard.quiet()
  act.write("subscribe, opened", heard.seen(act))
  if (end === undefined) await during(heard)
  const ended = end
  stop.abort()
  await reading
  act.write("subscribe, ended", ended instanceof ConnectError ? act.side.seer.error(ended) : ended === undefined)
}

const stream: Step = async (act) => {
  const { side, rng } = act
  const device = rng.pick(side.devices)
  await listening(act, device, async (heard) => {
    const [id] = [...device.rooms.keys()].filter((one) => device.rooms.get(one)?.isMember)
    const writer = id === undefined ? undefined : rng.pick(membersOf(side, id))
    if (id === undefined || writer === undefined) return
    await writer.device.sync(writer.room).catch(() => undefined)
    if (!writer.room.isMember) return
    const said = await writer.device.stageText(writer.room, "heard")
    const before = heard.heads.get(id) ?? 0n
    if (await append(act, "appendMessage, text", writer.device, said)) {
      await heard.until(() => (heard.heads.get(id) ?? 0n) > before)
    }
    await heard.quiet()
    act.write("subscribe, heard", heard.seen(act))
  })
}

export const streams: Readonly<Record<string, readonly [number, Step]>> = {
  stream: [1, stream],
}
