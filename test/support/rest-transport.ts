import type { Transport } from "@connectrpc/connect"
import { rest } from "@signet/client"

/**
 * A Connect transport that speaks REST by google.api.http, so that one story runs over the REST paths too.
 *
 * @param baseUrl Without a slash at the end.
 */
export const createRestTransport = (baseUrl: string): Transport => rest({ baseUrl })
