import type { Transport } from "@connectrpc/connect"
import { rest } from "@signet/client"

/**
 * A Connect transport that speaks REST by google.api.http, so that stories also run over the REST paths.
 *
 * @param baseUrl Without a trailing slash.
 */
export const createRestTransport = (baseUrl: string): Transport => rest({ baseUrl })
