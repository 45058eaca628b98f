// Requests and grants of a transfer: built, signed and verified. See proto/signet/client/v1/history.proto.
import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf"
import { expand, extract } from "@noble/hashes/hkdf.js"
import { hmac } from "@noble/hashes/hmac.js"
import { sha256 } from "@noble/hashes/sha2.js"
import { concat, equalBytes, utf8 } from "@signet/canonical/bytes"
import {
  type HistoryGrantV1,
  HistoryGrantV1Schema,
  type HistoryRequestV1,
  HistoryRequestV1Schema,
  SignedHistoryV1Schema,
} from "@signet/proto/client/v1/history"
import type { Context } from "../context.ts"
import { makeHpke } from "../crypto/hpke.ts"
import { nowSeconds } from "../deps.ts"
import { MessagingError } from "../errors.ts"
import { bytesOfId, idOf } from "../ids.ts"
import type { DeviceKey } from "../verification/noticing.ts"
import { keyOf } from "./own-keys.ts"

const requestLabel = "signet history request v1"
const grantLabel = "signet history grant v1"
/** A request is granted for this time, in seconds. */
const requestSeconds = 600n
/** The clock of the new device may be ahead by this time, in seconds. */
const aheadSeconds = 300n
const version = 1

const inputOf = (label: string, body: Uint8Array): Uint8Array => concat(utf8(label), Uint8Array.of(0), body)

async function sign<Desc extends DescMessage>(
  { device }: Pick<Context, "device">,
  label: string,
  schema: Desc,
  message: MessageInitShape<Desc>,
): Promise<Uint8Array> {
  const caller = device.caller()
  if (caller === undefined) throw new MessagingError("DEVICE_ENDED", "this store has no registered device")
  const body = toBinary(schema, create(schema, message))
  const signature = await caller.signer.sign(inputOf(label, body))
  return toBinary(SignedHistoryV1Schema, create(SignedHistoryV1Schema, { body, signature }))
}

/** Decodes signed bytes. Nothing is verified yet. */
function parse<Desc extends DescMessage>(schema: Desc, bytes: Uint8Array) {
  try {
    const signed = fromBinary(SignedHistoryV1Schema, bytes)
    const { body, signature } = signed
    // The decoder accepts other encodings, and the hash of these bytes is part of the protocol.
    if (!equalBytes(toBinary(SignedHistoryV1Schema, signed), bytes)) throw refused("it has another encoding")
    return { body, signature, message: fromBinary(schema, body) satisfies MessageShape<Desc> }
  } catch (cause) {
    throw refused("it does not decode", cause)
  }
}

interface NewRequest {
  readonly transferId: Uint8Array
  readonly hpkeKey: Uint8Array
  /** Undefined if the user compares digits. */
  readonly secret: Uint8Array | undefined
}

export function signRequest(context: Context, { transferId, hpkeKey, secret }: NewRequest): Promise<Uint8Array> {
  return sign(context, requestLabel, HistoryRequestV1Schema, {
    ...{ version, transferId, hpkeKey, userId: context.owner.user, issuedAt: BigInt(nowSeconds(context)) },
    deviceId: bytesOfId("dev", context.device.id ?? ""),
    secretHash: secret === undefined ? new Uint8Array() : sha256(secret),
  })
}

export interface VerifiedRequest {
  readonly bytes: Uint8Array
  readonly request: HistoryRequestV1
  /** The new device. */
  readonly from: DeviceKey
}

/**
 * Verifies the request of another device of this user.
 *
 * @param transferId The archive that the service returned the request for.
 * @throws MessagingError HISTORY_REFUSED
 */
export function verifyRequest(
  context: Context,
  keys: readonly DeviceKey[],
  transferId: Uint8Array,
  bytes: Uint8Array,
): VerifiedRequest {
  const { body, signature, message: request } = parse(HistoryRequestV1Schema, bytes)
  if (request.version !== version) throw refused("it has another version")
  const isWhole =
    request.deviceId.length === 16 &&
    request.hpkeKey.length === 32 &&
    (request.secretHash.length === 0 || request.secretHash.length === 32)
  if (!isWhole) throw refused("a field has the wrong length")
  if (!equalBytes(request.transferId, transferId)) throw refused("it belongs to another transfer")
  if (!equalBytes(request.userId, context.owner.user)) throw refused("it belongs to another user")
  const from = keyOf(keys, idOf("dev", request.deviceId))
  if (from.deviceId === context.device.id) throw refused("this device signed it")
  if (!context.verify(from.key, inputOf(requestLabel, body), signature)) throw refused("its signature does not verify")
  const now = BigInt(nowSeconds(context))
  if (request.issuedAt > now + aheadSeconds) throw refused("it is from the future")
  if (now >= request.issuedAt + requestSeconds) throw refused("it has expired: request the history again")
  return { bytes, request, from }
}

const sealInfo = (requestHash: Uint8Array): Uint8Array => concat(utf8(grantLabel), requestHash)

function macOf(
  { requestHash, fromDeviceId, enc, sealedKey }: Omit<HistoryGrantV1, "mac" | "version" | "$typeName">,
  { transferId, key, secret }: { transferId: Uint8Array; key: Uint8Array; secret: Uint8Array },
): Uint8Array {
  const prk = extract(sha256, concat(key, secret), transferId)
  const macKey = expand(sha256, prk, utf8("signet history mac v1"), 32)
  return hmac(sha256, macKey, concat(requestHash, fromDeviceId, enc, sealedKey))
}

/** Grants a verified request: seals the key of the transfer to the new device. @param secret Of a scanned QR code. */
export async function signGrant(
  context: Context,
  { bytes, request }: VerifiedRequest,
  key: Uint8Array,
  secret: Uint8Array | undefined,
): Promise<Uint8Array> {
  const requestHash = sha256(bytes)
  const { enc, ciphertext } = await makeHpke(context.suite).seal(request.hpkeKey, sealInfo(requestHash), key)
  const fromDeviceId = bytesOfId("dev", context.device.id ?? "")
  const fields = { requestHash, fromDeviceId, enc, sealedKey: ciphertext }
  const { transferId } = request
  const mac = secret === undefined ? new Uint8Array() : macOf(fields, { transferId, key, secret })
  return sign(context, grantLabel, HistoryGrantV1Schema, { version, ...fields, mac })
}

export interface OpenRequest {
  readonly transferId: Uint8Array
  /** The signed request. */
  readonly request: Uint8Array
  readonly hpkePrivateKey: Uint8Array
  /** The secret of the QR code, which requires a MAC; undefined if the user compared digits. */
  readonly secret: Uint8Array | undefined
  /** The old device whose digits were compared: `dev_…`. Undefined in a transfer by QR code. */
  readonly fromDeviceId: string | undefined
}

/**
 * Verifies the grant of this device's request, and opens the key of the transfer.
 *
 * @throws MessagingError HISTORY_REFUSED
 */
export async function openGrant(
  context: Context,
  keys: readonly DeviceKey[],
  open: OpenRequest,
  bytes: Uint8Array,
): Promise<Uint8Array> {
  const { body, signature, message: grant } = parse(HistoryGrantV1Schema, bytes)
  if (grant.version !== version || grant.fromDeviceId.length !== 16) throw refused("it has another version")
  const requestHash = sha256(open.request)
  if (!equalBytes(grant.requestHash, requestHash)) throw refused("it grants another request")
  const from = keyOf(keys, idOf("dev", grant.fromDeviceId))
  if (!context.verify(from.key, inputOf(grantLabel, body), signature)) throw refused("its signature does not verify")
  const { secret, transferId } = open
  if (secret === undefined && from.deviceId !== open.fromDeviceId) {
    throw refused("it comes from another device than the compared one")
  }
  const message = { enc: grant.enc, ciphertext: grant.sealedKey }
  const key = await makeHpke(context.suite)
    .open(open.hpkePrivateKey, sealInfo(requestHash), message)
    .catch((cause: unknown) => {
      throw refused("its key does not open", cause)
    })
  if (key.length !== 32) throw refused("its key has the wrong length")
  const isMade = secret === undefined || equalBytes(macOf(grant, { transferId, key, secret }), grant.mac)
  if (!isMade) throw refused("the device that made it has not scanned this device's QR code")
  return key
}

const refused = (rule: string, cause?: unknown): MessagingError =>
  new MessagingError("HISTORY_REFUSED", `the request or grant of the history is refused: ${rule}`, { cause })
