// A platform in memory. Several clients on one platform act as tabs or processes of one user.
import { randomBytes } from "node:crypto"
import { setImmediate as soon } from "node:timers/promises"
import type { Platform } from "../client.ts"
import type { ByteStorage, Channel, Clock, Lock, Random, StoredBytes, Wire } from "../ports.ts"
import type { SecretBox } from "../secret-box.ts"

export const random: Random = { bytes: (length) => new Uint8Array(randomBytes(length)) }

/** A clock that a test sets; due timers run in order. */
export interface TestClock extends Clock {
  /** Advances the time, and awaits the due work. */
  pass(ms: number): Promise<void>
  /** Sets the machine's clock without elapsed time. */
  jump(ms: number): void
}

export function testClock(startMs = 1_800_000_000_000): TestClock {
  let passedMs = 0
  let offsetMs = startMs
  let due: { atMs: number; run: () => void }[] = []
  return {
    nowMs: () => offsetMs + passedMs,
    after(ms, run) {
      const entry = { atMs: passedMs + ms, run }
      due.push(entry)
      return () => {
        due = due.filter((each) => each !== entry)
      }
    },
    jump(ms) {
      offsetMs += ms
    },
    async pass(ms) {
      const untilMs = passedMs + ms
      for (;;) {
        await settled()
        const [next] = due.filter(({ atMs }) => atMs <= untilMs).sort((a, b) => a.atMs - b.atMs)
        if (next === undefined) break
        passedMs = Math.max(passedMs, next.atMs)
        due = due.filter((each) => each !== next)
        next.run()
      }
      passedMs = untilMs
      await settled()
    },
  }
}

/** Resolves after all work that needs no time. */
export const settled = async (): Promise<void> => {
  for (let i = 0; i < 5; i++) await soon()
}

export function memoryStorage(): ByteStorage & { readonly all: Map<string, StoredBytes> } {
  const all = new Map<string, StoredBytes>()
  let writes = 0
  return {
    all,
    async read(name) {
      return all.get(name)
    },
    async write(name, bytes, expected) {
      if (expected !== "any" && all.get(name)?.revision !== expected) return undefined
      const revision = `r${++writes}`
      all.set(name, { revision, bytes: bytes.slice() })
      return revision
    },
    async remove(name, expected) {
      const found = all.get(name)
      if (found !== undefined && expected !== "any" && found.revision !== expected) return false
      all.delete(name)
      return true
    },
  }
}

export function memoryLock(): Lock {
  let last: Promise<unknown> = Promise.resolve()
  return {
    run(work) {
      const turn = last.then(work)
      last = turn.catch(() => undefined)
      return turn
    },
  }
}

/** Each call creates one tab's end of the channel. */
export function memoryChannels(): () => Channel {
  const ends = new Set<Set<(message: unknown) => void>>()
  return () => {
    const own = new Set<(message: unknown) => void>()
    ends.add(own)
    const resume = () => void ends.add(own)
    return {
      post(message) {
        const copy = structuredClone(message)
        const others = [...ends].filter((end) => end !== own)
        queueMicrotask(() => {
          for (const listener of others.flatMap((end) => [...end])) listener(copy)
        })
      },
      subscribe(listener) {
        own.add(listener)
        return () => {
          own.delete(listener)
        }
      },
      suspend() {
        ends.delete(own)
      },
      resume,
    }
  }
}

/** Encrypts nothing, but opens only bytes that it has sealed for the same purpose. */
export function memoryBox(): SecretBox {
  const given = new Map<string, { purpose: string; plaintext: Uint8Array }>()
  return {
    describe: () => ({ backend: "memory", version: 1, hardware: false, deviceBound: true, persistent: false }),
    createKey: async () => undefined,
    async seal(_, purpose, plaintext) {
      const name = randomBytes(16)
      given.set(name.toString("hex"), { purpose, plaintext: plaintext.slice() })
      return new Uint8Array(name)
    },
    async open(_, purpose, sealed) {
      const found = given.get(Buffer.from(sealed).toString("hex"))
      if (found?.purpose !== purpose) throw new Error("not sealed here")
      return found.plaintext
    },
    rotate: async () => undefined,
    destroy: async () => given.clear(),
  }
}

export interface MemoryPlatforms {
  readonly storage: ReturnType<typeof memoryStorage>
  readonly lock: Lock
  /** The platform of one tab, with the given changes. */
  tab(change?: Partial<Platform>): Platform
}

export function memoryPlatforms(of: { clock: Clock; wire: Wire }): MemoryPlatforms {
  const storage = memoryStorage()
  const lock = memoryLock()
  const channel = memoryChannels()
  const box = memoryBox()
  return {
    storage,
    lock,
    tab: (change) => ({
      ...{ clock: of.clock, wire: of.wire, random, storage, lock, channel: channel() },
      refreshToken: { in: "box", box },
      ...change,
    }),
  }
}
