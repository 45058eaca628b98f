// A store and a transport whose operations wait for a step, and refusals of commits.
import { create, isMessage } from "@bufbuild/protobuf"
import { Code, ConnectError, type Transport } from "@connectrpc/connect"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { type AppendMessageRequest, AppendMessageRequestSchema } from "@signet/proto/messaging/v1/conversation_service"
import type { MessagingStore } from "../../clients/core/messaging/store/store.ts"
import { hexOf } from "./watched.ts"

/** Lets a tab make so many steps, and stops it before the next one. */
export function createStepper() {
  let left = Number.POSITIVE_INFINITY
  let taken = 0
  let wake = () => {}
  let stopped = Promise.withResolvers<void>()
  return {
    get taken() {
      return taken
    },
    async pass(): Promise<void> {
      while (left === 0) {
        stopped.resolve()
        const { promise, resolve } = Promise.withResolvers<void>()
        const before = wake
        wake = () => {
          before()
          resolve()
        }
        await promise
      }
      left--
      taken++
    },
    /** @returns Settles when the tab stops before a further step. */
    allow(steps: number): Promise<void> {
      left = steps
      stopped = Promise.withResolvers<void>()
      const waiting = wake
      wake = () => {}
      waiting()
      return stopped.promise
    },
  }
}
export type Stepper = ReturnType<typeof createStepper>

export const steppedStore = ({ pass }: Stepper, store: MessagingStore): MessagingStore => ({
  durability: store.durability,
  read: (...args) => pass().then(() => store.read(...args)),
  list: (...args) => pass().then(() => store.list(...args)),
  spaces: () => pass().then(() => store.spaces()),
  transact: (...args) => pass().then(() => store.transact(...args)),
  close: () => store.close(),
})

const refusal = (reason: string) =>
  new ConnectError(reason, Code.FailedPrecondition, undefined, [
    { desc: ErrorInfoSchema, value: { domain: "signet", reason } },
  ])

/**
 * Commits that the service refuses, as a service does: a refused one stays refused, and an accepted one accepted. Also
 * messages that it accepts, and whose answers are lost.
 */
export function createRefusals() {
  const reasons: string[] = []
  let lost = 0
  const refused = new Map<string, string>()
  const accepted = new Set<string>()
  return {
    /** Refuses the next new commit for this reason. */
    add: (reason: string) => reasons.push(reason),
    /** Loses the answers to the next so many messages. */
    lose(count: number) {
      lost = count
    },
    async around<T>({ idempotencyKey, payload }: AppendMessageRequest, call: () => Promise<T>): Promise<T> {
      const key = hexOf(idempotencyKey)
      if (payload.case === "commit" && !accepted.has(key) && !refused.has(key)) {
        const reason = reasons.shift()
        if (reason !== undefined) refused.set(key, reason)
      }
      const reason = refused.get(key)
      if (reason !== undefined) throw refusal(reason)
      const answer = await call()
      if (payload.case === "application" && !accepted.has(key) && lost > 0) {
        lost--
        accepted.add(key)
        throw new ConnectError("the answer is lost", Code.Unavailable)
      }
      accepted.add(key)
      return answer
    },
  }
}
export type Refusals = ReturnType<typeof createRefusals>

export const steppedTransport = ({ pass }: Stepper, transport: Transport, refusals: Refusals): Transport => ({
  async unary(...call) {
    await pass()
    const message = create(call[0].input, call[4])
    if (!isMessage(message, AppendMessageRequestSchema)) return transport.unary(...call)
    return refusals.around(message, () => transport.unary(...call))
  },
  stream: (...call) => transport.stream(...call),
})
