// A network between a device and the service: it delays, and so reorders; it drops, duplicates and parts.
import { create, isMessage, type Message } from "@bufbuild/protobuf"
import { Code, ConnectError, type Transport } from "@connectrpc/connect"
import { type AppendMessageRequest, AppendMessageRequestSchema } from "@signet/proto/messaging/v1/conversation_service"
import type { Schedule } from "./schedule.ts"
import type { Seeded } from "./seeded.ts"

/** What the service answers in the end: the truth, or what a hostile one makes of it. */
export type Answering = (method: string, request: unknown, truth: Message) => Promise<Message>

export interface Network {
  /** How likely each is, per call. */
  faults: { readonly drops: number; readonly duplicates: number }
  /** Devices that reach nobody now. */
  readonly parted: Set<string>
  /** The service cannot be reached by anybody. */
  isDown?: boolean
}

export interface Line {
  readonly device: string
  /** A process that has ended sends nothing. */
  readonly isDead: () => boolean
  readonly network: Network
  readonly schedule: Schedule
  readonly random: Seeded
  /** An append is on its way to the service. */
  readonly sent: (request: AppendMessageRequest) => void
  readonly answering: Answering
  /** Whether a call that is lost is lost without a word, so that it ends with its deadline. Default: never. */
  readonly isSilent?: () => boolean
  /** Default: none is opened. */
  readonly stream?: Transport["stream"]
}

type Unary = Transport["unary"]

export function lineTo(service: Transport, line: Line): Transport {
  const { device, network, schedule, random } = line
  const lost = (why: string) => new ConnectError(why, Code.Unavailable)
  const unary: Unary = async (method, signal, timeoutMs, header, input, values) => {
    // The deadline is the line's, whose time it is.
    const call = () => schedule.outside(() => service.unary(method, signal, undefined, header, input, values))
    const lose = async (why: string): Promise<never> => {
      if (line.isSilent?.() !== true) throw lost(why)
      if (timeoutMs === undefined) await new Promise<never>(() => {})
      await schedule.wait(timeoutMs ?? 0)
      throw new ConnectError(why, Code.DeadlineExceeded)
    }
    const { drops, duplicates } = network.faults
    // Drawn at once, whatever becomes of the call.
    const [there, back, again] = [1 + random.below(40), 1 + random.below(40), 1 + random.below(400)]
    const [isLostThere, isLostBack, isTwice] = [random.chance(drops), random.chance(drops), random.chance(duplicates)]
    if (line.isDead()) throw lost("the process has ended")
    const message = create(method.input, input)
    if (isMessage(message, AppendMessageRequestSchema)) line.sent(message)
    await schedule.wait(there)
    if (isLostThere || network.isDown || network.parted.has(device)) return lose("lost on its way there")
    if (isTwice) schedule.after(again, () => void call().catch(() => undefined))
    const answer = await call().catch(async (error: unknown) => {
      await schedule.wait(back)
      throw error
    })
    const told = await line.answering(method.name, input, answer.message)
    await schedule.wait(back)
    if (isLostBack || network.parted.has(device)) return lose("lost on its way back")
    return Object.assign({}, answer, { message: told })
  }
  const noStream: Transport["stream"] = () => Promise.reject(lost("no stream is opened"))
  return { unary, stream: line.stream ?? noStream }
}
