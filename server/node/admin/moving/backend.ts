// One of the two backends of a move, called over RPC.

import { setTimeout as sleep } from "node:timers/promises"
import { type Client, ConnectError, createClient, type Transport } from "@connectrpc/connect"
import { Refused } from "@signet/kernel/errors"
import type { Place } from "@signet/kernel/messaging/records"
import type { Record } from "@signet/proto/transfer/v1/records"
import { PlaceState, Step, TransferService } from "@signet/proto/transfer/v1/transfer_service"
import { reasonOf } from "../../../serving/errors.ts"

export interface StatusSeen {
  readonly state: keyof typeof PlaceState
  readonly transferId: Uint8Array
  readonly isEmpty: boolean
}

interface PageSeen {
  readonly records: readonly Record[]
  /** Empty on the last page. */
  readonly nextCursor: string
  readonly sum: bigint
  readonly counts: ReadonlyMap<string, bigint>
}

export interface Backend {
  status(): Promise<StatusSeen>
  change(transferId: Uint8Array, step: Exclude<keyof typeof Step, "STEP_UNSPECIFIED">): Promise<StatusSeen>
  page(transferId: Uint8Array, cursor: string, digestOnly: boolean): Promise<PageSeen>
  put(transferId: Uint8Array, records: readonly Record[]): Promise<void>
}

const tries = 8
/** For one call. A hold waits for running writes. */
const timeoutMs = 60_000

/** Retries a call while the backend does not answer. Every call is idempotent. */
async function persistent<T>(call: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call()
    } catch (error) {
      if (!(error instanceof ConnectError)) throw error
      const reason = reasonOf(error)
      const isAgain = reason === undefined || reason === "UNAVAILABLE" || reason === "RATE_LIMITED"
      if (!isAgain || attempt === tries) throw error
      await sleep(100 * 2 ** attempt)
    }
  }
}

/** @param bearer Returns a current access token with the scope `messaging.transfer`. */
export function backendOver(transport: Transport, place: Place, bearer: () => Promise<string>): Backend {
  const client: Client<typeof TransferService> = createClient(TransferService, transport)
  const at = { appId: place.appId, tenantId: place.tenantId ?? "" }
  const options = async () => ({ headers: { authorization: `Bearer ${await bearer()}` }, timeoutMs })
  return {
    status: () => persistent(async () => seen((await client.getPlace({ place: at }, await options())).status)),
    change: (transferId, step) =>
      persistent(async () =>
        seen((await client.changePlace({ place: at, transferId, step: Step[step] }, await options())).status),
      ),
    page: (transferId, cursor, digestOnly) =>
      persistent(async () => {
        const page = await client.exportPage({ place: at, transferId, cursor, digestOnly }, await options())
        const counts = new Map((page.digest?.counts ?? []).map(({ kind, count }) => [kind, count]))
        return { records: page.records, nextCursor: page.nextCursor, sum: numberOf(page.digest?.sum), counts }
      }),
    put: (transferId, records) =>
      persistent(async () => {
        await client.importPage({ place: at, transferId, records: [...records] }, await options())
      }),
  }
}

function seen(status: { state: PlaceState; transferId: Uint8Array; isEmpty: boolean } | undefined): StatusSeen {
  const names = ["OPEN", "HOLDING", "HELD", "GIVEN", "RECEIVING", "MOVED"] as const
  const state = names.find((name) => PlaceState[name] === status?.state)
  if (status === undefined || state === undefined)
    throw new Refused("INTERNAL", { message: "the backend's response has no status" })
  return { state, transferId: status.transferId, isEmpty: status.isEmpty }
}

const numberOf = (bytes: Uint8Array = new Uint8Array()): bigint => BigInt(`0x0${Buffer.from(bytes).toString("hex")}`)
