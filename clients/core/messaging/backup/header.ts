import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf"
import { sha256 } from "@noble/hashes/sha2.js"
import { equalBytes, utf8 } from "@signet/canonical/bytes"
import {
  type BackupHeaderV1,
  type BackupHeaderV1_PassphraseDerivation,
  type BackupHeaderV1_PassphraseDerivationSchema,
  BackupHeaderV1Schema,
} from "@signet/proto/client/v1/backup"
import { wrongArgon2Parameter } from "../../passphrase-key.ts"
import { concat } from "../crypto/bytes.ts"
import { MessagingError } from "../errors.ts"
import type { Owner } from "../session.ts"

const version = 1
export const backupIdBytes = 16
export const keyCheckBytes = 16
const hashBytes = 32

export function ownerHashOf({ appId, tenantId = "", userId }: Owner): Uint8Array {
  return sha256(utf8(`signet backup owner v1 ${appId} ${tenantId} ${userId}`))
}

type HeaderFields = Pick<BackupHeaderV1, "backupId" | "ownerHash" | "keyCheck"> & {
  /** Default: 0n, for a file. */
  readonly sequence?: bigint
  readonly passphrase: MessageInitShape<typeof BackupHeaderV1_PassphraseDerivationSchema> | undefined
}

/** Encodes the header. The hash distinguishes a damaged file from a wrong key; it protects from no attack. */
export function formatHeader(header: HeaderFields): Uint8Array {
  const { passphrase, ...fields } = header
  const message = create(BackupHeaderV1Schema, { ...fields, version, ...(passphrase && { passphrase }) })
  const bytes = toBinary(BackupHeaderV1Schema, message)
  return concat(bytes, sha256(bytes))
}

/** The bytes of the header in its frame: the associated data of the chunks. */
export const headerIn = (frame: Uint8Array): Uint8Array => frame.subarray(0, -hashBytes)

/**
 * Decodes the first frame of a backup, before the key is known.
 *
 * @throws MessagingError BACKUP_TAMPERED, STATE_NEWER_VERSION, WRONG_USER, BACKUP_PARAMETERS_REFUSED
 */
export function parseHeader(frame: Uint8Array, owner: Owner): BackupHeaderV1 {
  const bytes = headerIn(frame)
  const isWhole = frame.length > hashBytes && equalBytes(sha256(bytes), frame.subarray(-hashBytes))
  if (!isWhole) throw damaged("its header is damaged")
  const header = decodeHeader(bytes)
  if (header.version > version) {
    throw new MessagingError("STATE_NEWER_VERSION", "a later version of this program wrote the backup")
  }
  const isOurs =
    header.version === version &&
    header.backupId.length === backupIdBytes &&
    header.keyCheck.length === keyCheckBytes &&
    header.ownerHash.length === hashBytes
  if (!isOurs) throw damaged("its header has no version 1")
  if (!equalBytes(header.ownerHash, ownerHashOf(owner))) {
    throw new MessagingError("WRONG_USER", "the backup belongs to another user, app or tenant")
  }
  if (header.passphrase !== undefined) checkDerivation(header.passphrase)
  return header
}

function decodeHeader(bytes: Uint8Array): BackupHeaderV1 {
  try {
    return fromBinary(BackupHeaderV1Schema, bytes)
  } catch (cause) {
    throw damaged("its header does not decode", cause)
  }
}

/** Weaker parameters would ease guessing the passphrase, and larger ones stall the machine. */
function checkDerivation({ memoryKib: memoryKiB, passes, lanes, salt }: BackupHeaderV1_PassphraseDerivation): void {
  const wrong = wrongArgon2Parameter({ memoryKiB, passes, lanes }) ?? (salt.length === 16 ? undefined : "salt")
  if (wrong === undefined) return
  throw new MessagingError(
    "BACKUP_PARAMETERS_REFUSED",
    `${wrong} of the passphrase derivation is not within its limits`,
  )
}

export const damaged = (rule: string, cause?: unknown): MessagingError =>
  new MessagingError("BACKUP_TAMPERED", `the backup was changed or damaged: ${rule}`, { cause })
