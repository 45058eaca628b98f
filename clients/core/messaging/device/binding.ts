import type { Context } from "../context.ts"
import { boundDeviceIn } from "../session.ts"

/** Registers with the key that there is, or a new one. */
export async function becomeDevice(context: Context): Promise<void> {
  await context.issuer.refresh()
  await context.device.register(context)
}

/** After the user has signed in anew, the session is nobody's until it is bound to this device. */
export async function keepBound(context: Context): Promise<void> {
  const bound = boundDeviceIn(await context.session.accessToken())
  if (bound !== undefined && bound === context.device.id) return
  await becomeDevice(context)
}
