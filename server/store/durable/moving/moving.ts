// Transfers a place (an app, or one tenant of it) into or out of Durable Objects. The place's own object stores its
// state and the index of its objects. This code, in the Worker, notifies those objects: no object waits for others.
import { Refused } from "@signet/kernel/errors"
import type { PlaceMoves } from "@signet/kernel/messaging/moving"
import type { Place } from "@signet/kernel/messaging/records"
import { ask } from "../asking.ts"
import type { DurableEnv } from "../env.ts"
import { placeName } from "../names.ts"
import { erase } from "./erase.ts"
import { exportPage, listAttachments, listBackups } from "./export.ts"
import { importPage } from "./import.ts"
import { notifyObjects } from "./notify.ts"

/** How long one call notifies objects, in milliseconds; the next call continues. */
const notifyMs = 20_000

export function durableMoving(env: DurableEnv, clock: { readonly nowMs: () => number }): PlaceMoves {
  const object = (place: Place) => env.PLACES.getByName(placeName(place))
  const status = (place: Place) => ask(() => object(place).status())
  return {
    status,

    async step({ place, ...request }) {
      if (!(await ask(() => object(place).beginStep(request)))) throw new Refused("STATE_CONFLICT")
      const { transferId } = request
      const isDone = await notifyObjects(env, { place, transferId }, { ...clock, untilMs: clock.nowMs() + notifyMs })
      if (!isDone)
        throw new Refused("UNAVAILABLE", { message: "some objects of the scope are not in the new state: call again" })
      return status(place)
    },

    erase: erase(env),
    exportPage: exportPage(env),
    importPage: importPage(env),
    ...listAttachments(env),
    ...listBackups(env),
  }
}
