import type { Context } from "../context.ts"
import { boundDeviceIn } from "../session.ts"

/** Registers this device with its stored key, or with a new one. */
export async function becomeDevice(context: Context): Promise<void> {
  await context.issuer.refresh()
  await context.device.register(context)
}

/** Binds a new session to this device: after another sign-in, the session has no device yet. */
export async function keepBound(context: Context): Promise<void> {
  const bound = boundDeviceIn(await context.session.accessToken())
  // Neither has an id if a new sign-in follows an interrupted replacement of a revoked device.
  if (bound !== undefined && bound === context.device.id) return
  await becomeDevice(context)
}
