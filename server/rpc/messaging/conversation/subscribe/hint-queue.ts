import type { Hint } from "@signet/kernel/messaging/wakeups"

/** A hint for a stream, or the signal to send a heartbeat, with its time in milliseconds since 1970. */
export type Notice = Hint | { readonly is: "heartbeat"; readonly atMs: number }

/** The pending hints of one reader. */
interface HintQueue {
  /** Adds the notice, or merges it with a pending one of the same object. False when the capacity is reached. */
  push(notice: Notice): boolean
  /** The oldest notice; waits for one. Undefined once the queue is closed. */
  next(): Promise<Notice | undefined>
  /** Discards the pending notices. */
  close(): void
  readonly size: number
  readonly isClosed: boolean
  /** True while the reader waits for a notice and the queue is not held. */
  readonly isAwaited: boolean
  /** Keeps all notices until `release`. */
  hold(): void
  /** @param first The reader takes it before the kept notices. */
  release(first?: Notice): void
}

const mostHints = 256

/**
 * Only the newest hint of each kind and object is kept, because the reader then reads the state. A slow reader costs a
 * few bytes.
 */
export const createHintQueue = (most = mostHints): HintQueue => new Hints(most)

/** An idle stream keeps its queue, so the queue is small while it is empty. */
class Hints implements HintQueue {
  readonly #most: number
  #waiting: Map<string, Notice> | undefined
  #isClosed = false
  #isHeld = false
  #wake: (() => void) | undefined

  constructor(most: number) {
    this.#most = most
  }

  push(notice: Notice): boolean {
    if (this.#isClosed) return true
    this.#waiting ??= new Map()
    const name = nameOf(notice)
    if (!this.#waiting.has(name) && this.#waiting.size >= this.#most) return false
    this.#waiting.set(name, newer(this.#waiting.get(name), notice))
    if (!this.#isHeld) this.#stir()
    return true
  }

  async next(): Promise<Notice | undefined> {
    while ((this.#waiting === undefined || this.#isHeld) && !this.#isClosed) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    const [first] = this.#waiting ?? []
    if (first === undefined) return undefined
    this.#waiting?.delete(first[0])
    if (this.#waiting?.size === 0) this.#waiting = undefined
    return first[1]
  }

  close(): void {
    this.#isClosed = true
    this.#waiting = undefined
    this.#stir()
  }

  get size(): number {
    return this.#waiting?.size ?? 0
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  get isAwaited(): boolean {
    return this.#wake !== undefined && !this.#isHeld
  }

  hold(): void {
    this.#isHeld = true
  }

  release(first?: Notice): void {
    this.#isHeld = false
    if (this.#isClosed) return
    if (first !== undefined) {
      const kept = this.#waiting ?? new Map<string, Notice>()
      const name = nameOf(first)
      this.#waiting = new Map([[name, newer(kept.get(name), first)]])
      kept.delete(name)
      for (const [other, notice] of kept) this.#waiting.set(other, notice)
    }
    if (this.#waiting !== undefined) this.#stir()
  }

  #stir(): void {
    this.#wake?.()
    this.#wake = undefined
  }
}

function nameOf(notice: Notice): string {
  switch (notice.is) {
    case "envelopes":
      return `envelopes ${notice.conversationId}`
    case "welcome":
      return `welcome ${notice.welcomeId}`
    case "deviceList":
      return `deviceList ${notice.userId}`
    case "directive":
      return `directive ${notice.directiveId}`
    case "member":
      return `member ${notice.conversationId ?? ""}`
    default:
      return notice.is
  }
}

/** Hints may arrive in any order: the reported sequence number never decreases. */
function newer(waiting: Notice | undefined, notice: Notice): Notice {
  if (waiting?.is === "envelopes" && notice.is === "envelopes" && waiting.headSeq > notice.headSeq) return waiting
  if (waiting?.is === "deviceList" && notice.is === "deviceList" && waiting.version > notice.version) return waiting
  return notice
}
