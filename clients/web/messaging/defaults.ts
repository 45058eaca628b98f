import type { MessagingSession } from "@signet/client/messaging"
import { databaseExists } from "./database.ts"

type Owner = Pick<MessagingSession, "appId" | "tenantId" | "userId">

/** The name of the database of a user of this browser. Both cores use it. */
export const storeNameOf = ({ appId, tenantId = "", userId }: Owner): string =>
  ["signet-messages", appId, tenantId, userId].join(" ")

/** The name of the database that an earlier version's core in a Worker created for a device of its own. */
const formerCoreNameOf = (owner: Owner): string => `${storeNameOf(owner)} core`

/**
 * Finds the database of a user. An app that has chosen a core keeps the device of that core; another app keeps the device
 * that earlier versions opened by default.
 */
export async function findStoreName(owner: Owner, core?: "direct" | "wasm"): Promise<string> {
  const [usual, former] = [storeNameOf(owner), formerCoreNameOf(owner)]
  if (!(await databaseExists(former))) return usual
  return core === "wasm" || !(await databaseExists(usual)) ? former : usual
}
