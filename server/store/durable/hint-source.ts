import type { DeviceId } from "@signet/kernel/ids"
import type { Hint } from "@signet/kernel/messaging/wakeups"
import type { DurableEnv } from "./env.ts"
import { createListeners, type Listeners, listenerSteps } from "./listeners.ts"
import type { Parts } from "./migrate.ts"
import { StoredObject } from "./object.ts"

/** An object to which devices with open streams subscribe: a conversation or a user. */
export abstract class HintSourceObject<Ask extends { readonly deviceId: DeviceId }> extends StoredObject {
  readonly #listeners: Listeners

  constructor(ctx: DurableObjectState, env: DurableEnv, parts: Parts) {
    super(ctx, env, { listeners: listenerSteps, ...parts })
    this.#listeners = createListeners({
      sql: this.sql,
      nowMs: () => Date.now(),
      devices: env.DEVICES,
      waitUntil: (work) => ctx.waitUntil(work),
    })
  }

  /** The hints for a device that may not subscribe; undefined for one that may. */
  protected refusing(_ask: Ask): readonly Hint[] | undefined {
    return undefined
  }

  /** The hints that the device lacks. */
  protected abstract newsFor(ask: Ask): readonly Hint[]

  /** Subscribes the device's object. @returns The hints that it may have missed. */
  listen(ask: Ask): readonly Hint[] {
    if (this.isBlank()) return []
    const refused = this.refusing(ask)
    if (refused !== undefined) {
      this.#listeners.forget(ask.deviceId)
      return refused
    }
    this.#listeners.listen(ask.deviceId)
    return this.newsFor(ask)
  }

  /** Sends hints to the subscribers in the background. */
  sendHints(hints: readonly Hint[]): void {
    if (!this.isBlank()) this.#listeners.sendHints(hints)
  }
}
