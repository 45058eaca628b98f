import { create } from "@bufbuild/protobuf"
import { decode, encode } from "@signet/canonical/canonical"
import { StateSnapshotV1Schema } from "@signet/proto/client/v1/state_snapshot"
import { MessagingError } from "../errors.ts"

/** Makes the bytes of the next format from those of the one before. */
export type Migration = (plaintext: Uint8Array) => Uint8Array

/** The format that is written. */
export const currentFormat = 2

/** From this one on, the record beside a state is of the state's own generation. */
export const firstBindingFormat = 2

/** By the format that they start from. Each was the current one once, and has a fixture in `testing/snapshots`. */
const registered: ReadonlyMap<number, Migration> = new Map([
  // The fields are the same: what changed is what lies beside it.
  [1, (plaintext) => withFormat(2, plaintext)],
])

function withFormat(formatVersion: number, plaintext: Uint8Array): Uint8Array {
  const snapshot = decode(StateSnapshotV1Schema, plaintext)
  return encode(StateSnapshotV1Schema, create(StateSnapshotV1Schema, { ...snapshot, formatVersion }))
}

/**
 * Brings a snapshot from its format to another, one after the other.
 *
 * @throws MessagingError STATE_TAMPERED for a format that never was.
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
