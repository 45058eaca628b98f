// The app of a device: it calls a messenger in turns, and records its calls, their answers and events.
import { create } from "@bufbuild/protobuf"
import { ClientFailureSchema } from "@signet/proto/client/v1/identity_service"
import { createEvents, type MessengerEvent } from "../../../clients/core/messaging/events.ts"
import type { Messenger } from "../../../clients/core/messaging/messenger.ts"
import { errorOf } from "../../../clients/core/messaging/remote/errors.ts"
import { clientFailureFrom } from "../../../clients/core/messaging/remote/failure.ts"
import type { Core, Hosting } from "./core.ts"
import { textOf } from "./history.ts"
import type { Lane } from "./turns.ts"

/** Opens the messenger of a process. */
export async function openInTurns(core: Core, hosting: Hosting): Promise<Messenger> {
  const { lane, device, history } = hosting
  const events = createEvents()
  events.subscribe((event) => history.add(device, `event ${textOf(event)}`))
  const messenger = await lane.call(async () => {
    const opened = await core.open(hosting).catch(throwAcross)
    opened.subscribe((event) => lane.report(() => events.emit(eventAcross(event))))
    return opened
  })
  const call = (name: string, args: readonly unknown[], work: () => Promise<unknown>) => {
    history.add(device, `calls ${name} ${textOf(args)}`)
    const record = (answer: unknown) => history.add(device, `answer of ${name} ${textOf(answer)}`)
    const answered = lane.call(() => work().catch(throwAcross))
    answered.then(record, record)
    return answered
  }
  const own: Pick<Messenger, "subscribe" | "run"> = {
    subscribe: events.subscribe,
    async run(signal) {
      await call("run", [], () => messenger.run(inTurns(signal, lane)))
    },
  }
  return new Proxy(messenger, {
    get(target, name, receiver) {
      if (name in own) return Reflect.get(own, name)
      const value = Reflect.get(target, name, receiver)
      if (typeof value !== "function") return value
      return (...args: unknown[]) => call(String(name), args, async () => value.apply(target, args))
    },
  })
}

/** The facts of an error that the contract of a core carries. */
function errorAcross(error: unknown): unknown {
  const facts = clientFailureFrom(error)
  return facts === undefined ? error : errorOf(create(ClientFailureSchema, facts))
}

function throwAcross(error: unknown): never {
  throw errorAcross(error)
}

const eventAcross = (event: MessengerEvent): MessengerEvent =>
  event.is === "failed" || event.is === "unsent" ? { ...event, error: errorAcross(event.error) } : event

function inTurns(signal: AbortSignal, lane: Lane): AbortSignal {
  const inner = new AbortController()
  const abort = () => lane.turn(() => inner.abort())
  if (signal.aborted) abort()
  else signal.addEventListener("abort", abort, { once: true })
  return inner.signal
}
