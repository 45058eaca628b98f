// A messenger in Node, over ports that answer as a host completes the effects of a core.
import { Code, ConnectError, type Transport } from "@connectrpc/connect"
import { createMessengerWith } from "../../../clients/core/messaging/create-messenger.ts"
import { openEngine } from "../../../clients/core/messaging/mls.ts"
import type { MessagingStore } from "../../../clients/core/messaging/store/store.ts"
import type { Clock } from "../../../clients/core/ports.ts"
import type { SecretBox, SecretScope } from "../../../clients/core/secret-box.ts"
import { createTimers } from "../../../clients/native/core/timers.ts"
import { type Arrivals, createArrivals } from "../stream-line.ts"
import { verifyOnce } from "../verdicts.ts"
import { baseUrl, type Core, type Hosting, keyPackages, platform } from "./core.ts"
import type { Lane } from "./turns.ts"

export const nodeCore: Core = {
  isWatched: true,
  open(hosting) {
    const { lane, random, session, rootKey, suite, token } = hosting
    const accessToken = () => lane.soon(async () => token())
    return createMessengerWith(
      {
        messaging: { baseUrl, issuerRootKeys: [rootKey] },
        session: { ...session, tenantId: undefined, accessToken, renewToken: accessToken },
        transport: transportIn(hosting),
        store: storeIn(hosting),
        secretBox: boxIn(hosting),
        clock: clockIn(hosting),
        random,
        platform,
      },
      {
        suite,
        verify: verifyOnce,
        async openEngine(options) {
          // Its self-test draws from the seed, as in a core.
          await openEngine(options)
          return hosting.watched(options)
        },
        keyPackageTarget: keyPackages,
      },
    )
  },
}

function clockIn({ lane, schedule, history, device }: Hosting): Clock {
  let cancel = () => {}
  const { clock, tick } = createTimers({
    nowMs: schedule.nowMs,
    monotonicMs: schedule.nowMs,
    wakeAt(atMs) {
      cancel()
      if (atMs > 0) history.add(device, `wakes at ${Math.max(atMs, schedule.nowMs())}`)
      cancel = atMs > 0 ? schedule.after(atMs - schedule.nowMs(), () => lane.turn(tick)) : () => {}
    },
  })
  return clock
}

function storeIn({ lane, store }: Hosting): MessagingStore {
  return {
    durability: store.durability,
    read: (...args) => lane.soon(() => store.read(...args)),
    list: (...args) => lane.soon(() => store.list(...args)),
    spaces: () => lane.soon(() => store.spaces()),
    transact: (...args) => lane.soon(() => store.transact(...args)),
    close: async () => undefined,
  }
}

function transportIn({ lane, transport }: Hosting): Transport {
  return {
    unary: (method, signal, ...rest) =>
      Promise.race([lane.later(() => transport.unary(method, undefined, ...rest)), canceled(signal)]),
    async stream(method, signal, ...rest) {
      const leaving = new AbortController()
      const ends = AbortSignal.any([leaving.signal, lane.ended, ...(signal === undefined ? [] : [signal])])
      const opened = lane.later(() => transport.stream(method, ends, ...rest))
      const answer = await Promise.race([opened, canceled(signal)])
      const arriving = createArrivals<typeof answer.message extends AsyncIterable<infer Item> ? Item : never>()
      canceled(signal).catch(arriving.fail)
      void inTurns(answer.message, lane, arriving)
      return { ...answer, message: arriving.read(() => leaving.abort()) }
    },
  }
}

function canceled(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    const cancel = () => reject(new ConnectError("the call was canceled", Code.Canceled))
    if (signal?.aborted) cancel()
    else signal?.addEventListener("abort", cancel, { once: true })
  })
}

async function inTurns<Item>(messages: AsyncIterable<Item>, lane: Lane, arriving: Arrivals<Item>): Promise<void> {
  try {
    for await (const message of messages) lane.turn(() => arriving.put(message))
    lane.turn(arriving.end)
  } catch (error) {
    lane.turn(() => arriving.fail(error))
  }
}

/** The keys of a device are held from their first use, as by a core. */
function boxIn({ lane, box }: Hosting): SecretBox {
  let held: Promise<void> | undefined
  const hold = (scope: SecretScope, create: boolean) => {
    held ??= lane.soon(async () => {
      if (create) await box.createKey(scope)
    })
    return held
  }
  return {
    describe: () => box.describe(),
    createKey: (scope) => hold(scope, true),
    async seal(scope, ...args) {
      await hold(scope, false)
      return lane.soon(() => box.seal(scope, ...args))
    },
    async open(scope, ...args) {
      await hold(scope, false)
      return lane.soon(() => box.open(scope, ...args))
    },
    rotate: (scope) => lane.soon(() => box.rotate(scope)),
    destroy: (scope) => lane.soon(() => box.destroy(scope)),
  }
}
