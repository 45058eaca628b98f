// A member device that holds the lease of a directive and never commits it.
import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt"
import { failureOf } from "../../../clients/core/errors.ts"
import type { TestDevice } from "./device.ts"

interface Lease {
  /** When the service answered. */
  readonly answeredMs: number
  readonly expiresMs: number
}

interface HeldLease {
  /** Resolves when the device has the lease. */
  readonly held: Promise<void>
  /** Resolves when the directive is done. */
  readonly ended: Promise<void>
  /** The first lease and what each renewal returned. Unix milliseconds. */
  readonly leases: readonly Lease[]
}

/**
 * Leases the first directive of a conversation as soon as it is issued, and again without pause until it is done.
 *
 * @param between Called after each lease.
 */
export function holdLease(
  { calls: { conversations } }: TestDevice,
  conversationId: string,
  between: () => Promise<unknown> = async () => undefined,
): HeldLease {
  const held = Promise.withResolvers<void>()
  const leases: Lease[] = []
  const find = async () => (await conversations.listDirectives({ conversationId })).directives[0]
  async function hold(): Promise<void> {
    let found = await find()
    while (found === undefined) found = await find()
    for (const directiveId = found.id; ; ) {
      const { directive } = await conversations.leaseDirective({ conversationId, directiveId })
      leases.push({ answeredMs: Date.now(), expiresMs: msOf(directive?.leasedUntil) })
      held.resolve()
      await between()
    }
  }
  const ended = hold().catch((error: unknown) => {
    held.reject(error)
    if (failureOf(error)?.reason !== "NOT_FOUND") throw error
  })
  // Their callers await them later.
  for (const one of [held.promise, ended]) one.catch(() => undefined)
  return { held: held.promise, ended, leases }
}

export function msOf(time: Timestamp | undefined): number {
  if (time === undefined) throw new Error("the answer has no time")
  return timestampMs(time)
}
