import type { DeviceId } from "@signet/kernel/ids"
import type { Hint } from "@signet/kernel/messaging/wakeups"
import type { DurableEnv } from "./env.ts"
import { createListeners, type Listeners, listenerSteps } from "./listeners.ts"
import type { Parts } from "./migrate.ts"
import { StoredObject } from "./object.ts"

/** An object that devices listen to while they stream: a conversation, a user. */
export abstract class TellingObject<Ask extends { readonly deviceId: DeviceId }> extends StoredObject {
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

  /** What a device hears that may not listen; undefined for who may. */
  protected refusing(_ask: Ask): readonly Hint[] | undefined {
    return undefined
  }

  /** What the device does not know yet, as far as this object tells of it. */
  protected abstract newsFor(ask: Ask): readonly Hint[]

  /** The device's object wants to be told from now on. @returns what it may have missed. */
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

  /** Tells whoever listens; does not wait for it. */
  tell(hints: readonly Hint[]): void {
    if (!this.isBlank()) this.#listeners.tell(hints)
  }
}
