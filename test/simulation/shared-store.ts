// One store under the tabs of a device: who writes tells the others, late or not at all, and turns are taken as in a
// browser (clients/web/messaging): a lock that goes with its tab, and a patience after which everybody works all the same.
import type { MessagingStore, Space } from "../../clients/core/messaging/store/store.ts"
import type { Clock } from "../../clients/core/ports.ts"
import type { Network } from "./network.ts"
import type { Seeded } from "./seeded.ts"

const patienceMs = 2_000

export interface SharedStore {
  /** @param store as this tab has it. */
  tab(store: MessagingStore, of: Tab): MessagingStore
}

interface Tab {
  /** Stands still with it. */
  readonly clock: Clock
  readonly isDead: () => boolean
}

export function shareStore(clock: Clock, network: Pick<Network, "faults">, random: Seeded): SharedStore {
  const listeners = new Map<object, (space: Space) => void>()
  const request = createLocks()
  return {
    tab(store, of) {
      const tab: MessagingStore = {
        ...store,
        async transact(space, ...rest) {
          const done = await store.transact(space, ...rest)
          if (done !== "ok") return done
          for (const [other, listener] of listeners) {
            const [isMissed, ms] = [random.chance(network.faults.drops), 1 + random.below(50)]
            if (other !== tab && !isMissed) clock.after(ms, () => listener(space))
          }
          return done
        },
        watch(listener) {
          listeners.set(tab, (space) => {
            // One that stands still hears it when it wakes.
            if (of.isDead()) listeners.delete(tab)
            else of.clock.after(0, () => listener(space))
          })
        },
        inTurn: (space, work) => inTurn(request, space, of.clock, work),
      }
      return tab
    },
  }
}

/** Asks for a lock. @param granted Holds it until what it returns has settled. @returns Asks no more. */
type Request = (name: string, granted: () => Promise<unknown>) => () => void

function createLocks(): Request {
  const waiting = new Map<string, (() => Promise<unknown>)[]>()
  const next = (name: string): void => {
    const [first] = waiting.get(name) ?? []
    if (first === undefined) return void waiting.delete(name)
    const release = () => {
      waiting.get(name)?.shift()
      next(name)
    }
    first().then(release, release)
  }
  return (name, granted) => {
    const queue = waiting.get(name) ?? []
    waiting.set(name, queue)
    if (queue.push(granted) === 1) next(name)
    return () => {
      const at = queue.indexOf(granted)
      // The first one holds it.
      if (at > 0) queue.splice(at, 1)
    }
  }
}

/** As `inTurn` of clients/web/messaging/turns.ts, which has the browser's locks and timers. */
async function inTurn<T>(request: Request, name: string, clock: Clock, work: () => Promise<T>): Promise<T> {
  let turn: Promise<T> | undefined
  const start = () => {
    turn ??= work()
    return turn
  }
  await new Promise<void>((resolve) => {
    let isOff = false
    const withdraw = request(name, async () => {
      if (isOff) return
      resolve()
      await start().catch(() => undefined)
    })
    clock.after(patienceMs, () => {
      isOff = true
      withdraw()
      resolve()
    })
  })
  return start()
}
