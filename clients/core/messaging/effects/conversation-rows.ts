// The rows of one conversation, and the writes of its transactions before they are sealed.
import type { StateSnapshotV1 } from "@signet/proto/client/v1/state_snapshot"
import { MessagingError } from "../errors.ts"
import type { Place } from "../store/sealed-rows.ts"
import type { Named, Space } from "../store/store.ts"

/** The names of rows of which each conversation has one. They are part of the stored format. */
export const named = {
  record: { table: "conversation", key: "record" },
  state: { table: "state", key: "snapshot" },
  tree: { table: "tree", key: "current" },
  members: { table: "tree", key: "members" },
  staged: { table: "staged", key: "commit" },
} as const satisfies Record<string, Named>

/** The list of members is sealed for the generation of its write: the record names that generation. */
export const membersPlace = (space: Space, generation: bigint): Place => ({ space, ...named.members, generation })

export type RowWrite =
  | { readonly is: "put"; readonly place: Place; readonly bytes: Uint8Array }
  | { readonly is: "remove"; readonly row: Named }
  | { readonly is: "snapshot"; readonly snapshot: StateSnapshotV1 }

export const tampered = (message: string): MessagingError => new MessagingError("STATE_TAMPERED", message)
