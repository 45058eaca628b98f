// Typed details of refusals, for clients to act on. Every transport sends them beside google.rpc.ErrorInfo.
import type { DescMessage, MessageInitShape } from "@bufbuild/protobuf"
import type { ConnectError } from "@connectrpc/connect"
import type { Refused } from "@signet/kernel/errors"

/** One detail in the form of an error. */
type Detail = ConnectError["details"][number]

const known = new WeakMap<Refused, readonly Detail[]>()

/** Adds details to the refusal. @returns The refusal. */
export function detailed(refused: Refused, ...details: readonly Detail[]): Refused {
  known.set(refused, [...detailsOf(refused), ...details])
  return refused
}

export const detail = <Desc extends DescMessage>(desc: Desc, value: MessageInitShape<Desc>): Detail => ({ desc, value })

export const detailsOf = (refused: Refused): readonly Detail[] => known.get(refused) ?? []
