// Typed details of refusals that a client acts on: they travel beside google.rpc.ErrorInfo, on every transport.
import type { DescMessage, MessageInitShape } from "@bufbuild/protobuf"
import type { ConnectError } from "@connectrpc/connect"
import type { Refused } from "@signet/kernel/errors"

/** One detail, as an error carries it on its way out. */
export type Detail = ConnectError["details"][number]

const known = new WeakMap<Refused, readonly Detail[]>()

/** The refusal, with details that go where it goes. */
export function detailed(refused: Refused, ...details: readonly Detail[]): Refused {
  known.set(refused, [...detailsOf(refused), ...details])
  return refused
}

export const detail = <Desc extends DescMessage>(desc: Desc, value: MessageInitShape<Desc>): Detail => ({ desc, value })

export const detailsOf = (refused: Refused): readonly Detail[] => known.get(refused) ?? []
