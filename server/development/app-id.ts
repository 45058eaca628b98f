// The id of the development app. Production loads this file and no other of the folder.
import { newId } from "@signet/kernel/ids"
import type { Store } from "@signet/kernel/ports"

export const madeAtMs = Date.UTC(2026, 0, 1)
/** Constant on every machine and start, so that examples can contain the ids. */
export const fixed = (last: number | "p" | "i") => new TextEncoder().encode(`signetdev${last}`)

export const developmentAppId = newId("app", madeAtMs, fixed(0))

/**
 * @throws Error if the database contains the development profile's app, into which any process on a loopback port can
 * sign users in.
 */
export async function refuseDevelopmentData(store: Store): Promise<void> {
  const app = await store.transaction((tx) => tx.apps.findApp(developmentAppId))
  if (app !== undefined)
    throw new Error("the database holds the development profile's app: production needs another one")
}
