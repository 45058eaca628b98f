import { create } from "@bufbuild/protobuf"
import { decode, encode } from "@signet/canonical/canonical"
import { CanonicalError } from "@signet/canonical/errors"
import {
  SealedStateV1Schema,
  type StateSnapshotV1,
  StateSnapshotV1Schema,
} from "@signet/proto/client/v1/state_snapshot"
import { MessagingError } from "../errors.ts"
import type { SealedRows } from "../store/sealed-rows.ts"
import { currentFormat, firstBindingFormat, migrate } from "./snapshot-migrations.ts"

interface OpenedSnapshot {
  readonly snapshot: StateSnapshotV1
  /** True if its record must name the same generation. */
  readonly bindsRecord: boolean
}

/** The user, device and conversation that a snapshot is sealed for. */
export interface SnapshotPlace {
  /** `app_…` */
  readonly appId: string
  /** `ten_…`; undefined outside any tenant, which is authenticated as well. */
  readonly tenantId: string | undefined
  /** `prn_…` */
  readonly userId: string
  /** `dev_…` */
  readonly deviceId: string
  /** `cnv_…` */
  readonly conversationId: string
}

function purposeOf(place: SnapshotPlace, formatVersion: number, generation: bigint): string {
  const { tenantId = "-", appId, userId, deviceId, conversationId } = place
  return `state-snapshot/v${formatVersion} ${tenantId} ${appId} ${userId} ${deviceId} ${conversationId} ${generation}`
}

/** Encodes a snapshot. Equal snapshots have equal bytes. */
export function encodeSnapshot(snapshot: StateSnapshotV1): Uint8Array {
  return encode(StateSnapshotV1Schema, snapshot)
}

export async function sealSnapshot(
  rows: SealedRows,
  place: SnapshotPlace,
  snapshot: StateSnapshotV1,
): Promise<Uint8Array> {
  const { formatVersion, generation } = snapshot
  const sealed = await rows.seal(purposeOf(place, formatVersion, generation), encodeSnapshot(snapshot))
  return encode(SealedStateV1Schema, create(SealedStateV1Schema, { formatVersion, generation, sealed }))
}

/**
 * Opens a snapshot, and migrates it to the current format in memory.
 *
 * @param generation The store's generation. A snapshot of another generation was restored.
 * @throws MessagingError STATE_NEWER_VERSION, STATE_TAMPERED
 * @throws SecretBoxError for a snapshot of another user, app, device or conversation.
 */
export async function openSnapshot(
  rows: SealedRows,
  place: SnapshotPlace,
  generation: bigint,
  bytes: Uint8Array,
): Promise<OpenedSnapshot> {
  const envelope = reading(() => decode(SealedStateV1Schema, bytes))
  if (envelope.formatVersion > currentFormat) {
    throw new MessagingError("STATE_NEWER_VERSION", "a later version of this program wrote this state")
  }
  if (envelope.generation !== generation) {
    throw new MessagingError("STATE_TAMPERED", "the state is of another generation than its store")
  }
  const plaintext = await rows.open(purposeOf(place, envelope.formatVersion, generation), envelope.sealed)
  const snapshot = reading(() => decode(StateSnapshotV1Schema, migrate(envelope.formatVersion, plaintext)))
  if (snapshot.generation !== generation) {
    throw new MessagingError("STATE_TAMPERED", "the state names another generation than its envelope")
  }
  const { externalPsks, resumptionPsks, cachedUpdates } = snapshot
  if (externalPsks.length + resumptionPsks.length + cachedUpdates.length > 0) {
    throw new MessagingError("STATE_TAMPERED", "the state has pre-shared keys or proposals, which no version writes")
  }
  return { snapshot, bindsRecord: envelope.formatVersion >= firstBindingFormat }
}

function reading<T>(work: () => T): T {
  try {
    return work()
  } catch (cause) {
    if (!(cause instanceof CanonicalError)) throw cause
    throw new MessagingError("STATE_TAMPERED", "the stored state is not canonical", { cause })
  }
}
