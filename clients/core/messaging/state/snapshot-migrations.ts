import { create } from "@bufbuild/protobuf"
import { decode, encode } from "@signet/canonical/canonical"
import { StateSnapshotV1Schema } from "@signet/proto/client/v1/state_snapshot"
import { MessagingError } from "../errors.ts"

/** Converts a snapshot to the next format. */
type Migration = (plaintext: Uint8Array) => Uint8Array

/** The format of new snapshots. */
export const currentFormat = 2

/** From this format on, the record of a state must name the state's generation. */
export const firstBindingFormat = 2

/** By source format. Each former format has a fixture in `testing/snapshots`. */
const registered: ReadonlyMap<number, Migration> = new Map([
  // The fields are unchanged: only the record differs.
  [1, (plaintext) => withFormat(2, plaintext)],
])

function withFormat(formatVersion: number, plaintext: Uint8Array): Uint8Array {
  const snapshot = decode(StateSnapshotV1Schema, plaintext)
  return encode(StateSnapshotV1Schema, create(StateSnapshotV1Schema, { ...snapshot, formatVersion }))
}

/**
 * Migrates a snapshot step by step from its format to another.
 *
 * @throws MessagingError STATE_TAMPERED for an unknown format.
 */
export function migrate(
  from: number,
  plaintext: Uint8Array,
  { to = currentFormat, migrations = registered }: { to?: number; migrations?: ReadonlyMap<number, Migration> } = {},
): Uint8Array {
  let current = plaintext
  for (let format = from; format < to; format++) {
    const migration = migrations.get(format)
    if (migration === undefined) throw new MessagingError("STATE_TAMPERED", `no format ${format} was ever written`)
    current = migration(current)
  }
  return current
}
