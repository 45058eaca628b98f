import { createConnectTransport } from "@connectrpc/connect-web"
import type { MessagingSession, MessengerOptions } from "@signet/client/messaging"
import { boundedFetch } from "./bounded.ts"

type Owner = Pick<MessagingSession, "appId" | "tenantId" | "userId">

/** The name of the database of a user of this browser. */
export const storeNameOf = ({ appId, tenantId = "", userId }: Owner): string =>
  ["signet-messages", appId, tenantId, userId].join(" ")

/**
 * The database of the core in a Worker. Its device is another one than the direct core's, because a core cannot use the
 * other's signing keys.
 */
export const coreStoreNameOf = (owner: Owner): string => `${storeNameOf(owner)} core`

/** Connect, without cookies. */
export function connectTo(baseUrl: string): MessengerOptions["transport"] {
  const withoutCookies: typeof fetch = (input, init) => fetch(input, { ...init, credentials: "omit" })
  return createConnectTransport({ baseUrl, useBinaryFormat: true, fetch: boundedFetch(withoutCookies) })
}
