import type { Context } from "../context.ts"
import { boundDeviceIn } from "../session.ts"

/** Registers this device with its stored key, or with a new one. */
export async function becomeDevice(context: Context): Promise<void> {
  await context.issuer.refresh()
  await context.device.register(context)
}

/** Binds a new session to this device: after another sign-in, the session has no device yet. */
export async function keepBound(context: Context): Promise<void> {
  if (boundDeviceIn(await context.session.accessToken()) === context.device.id) return
  await becomeDevice(context)
}
