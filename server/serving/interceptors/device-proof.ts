// Checks calls that require a device: the token's device must be ACTIVE and, where the contract demands it, have signed
// this call. Runs after guard and validation, so that unauthenticated calls cost no look-up.
import { type DescMessage, type DescMethod, type Message, toBinary } from "@bufbuild/protobuf"
import type { Interceptor } from "@connectrpc/connect"
import { verifyDeviceProof } from "@signet/canonical/device-proof"
import type { Verify } from "@signet/canonical/ed25519"
import { CanonicalError } from "@signet/canonical/errors"
import { kAuth } from "@signet/guard/connect"
import { decodeBase64url } from "@signet/guard/strict-json"
import type { AuthContext } from "@signet/kernel/authz/context"
import { checksIn, type Requirement } from "@signet/kernel/authz/requirement"
import { Refused } from "@signet/kernel/errors"
import { idBytes } from "@signet/kernel/ids"
import { proofKeys } from "@signet/kernel/messaging/device"
import { lifetimeMs } from "@signet/kernel/messaging/limits"
import type { Devices, ProofNonces } from "@signet/kernel/messaging/ports"
import type { MessagingDevice } from "@signet/kernel/messaging/records"
import type { Clock } from "@signet/kernel/ports"
import { kDevice } from "../call/calling-device.ts"

/** A SignedBytesV1 of a DeviceProofBodyV1, in base64url without padding. */
export const proofHeader = "signet-device-proof"
const maxProofCharacters = 512

interface DeviceProofOptions {
  readonly devices: Pick<Devices, "find">
  readonly proofNonces: ProofNonces
  readonly clock: Clock
  readonly verify: Verify
  /** The requirements of all served methods. */
  readonly requirements: ReadonlyMap<DescMethod, Requirement>
}

/** @throws Error for a client-streaming method that requires a proof: it has no single request to sign. */
export function deviceProof(options: DeviceProofOptions): Interceptor {
  const checks = new Map(
    [...options.requirements].map(([method, requirement]) => [method, checkOf(method, requirement)]),
  )
  return (next) => async (req) => {
    const check = checks.get(req.method)
    if (check === undefined) return next(req)
    const device = await activeDevice(options.devices, req.contextValues.get(kAuth))
    if (check.proof) {
      if (req.stream) throw new Refused("INTERNAL")
      await checkProof(options, device, req.method, req.message, req.header.get(proofHeader))
    }
    req.contextValues.set(kDevice, device)
    return next(req)
  }
}

function checkOf(method: DescMethod, requirement: Requirement) {
  const check = checksIn(requirement).find((one) => one.is === "device")
  if (check?.proof && method.methodKind !== "unary") throw new Error(`${method.name}: a stream cannot be signed`)
  return check
}

/** A token outlives a revoked device by minutes, so the device is read on every call. */
async function activeDevice(devices: Pick<Devices, "find">, caller: AuthContext | undefined): Promise<MessagingDevice> {
  if (caller?.deviceId == null) throw new Refused("DEVICE_REQUIRED")
  const { appId, tenantId } = caller
  const device = await devices.find(caller.deviceId, appId === null ? undefined : { appId, tenantId })
  const isCallers =
    device?.userId === caller.principal.id && device.appId === caller.appId && device.tenantId === caller.tenantId
  if (device === undefined || !isCallers) throw new Refused("DEVICE_REQUIRED")
  if (device.status === "REVOKED") throw new Refused("DEVICE_REVOKED")
  return device
}

async function checkProof(
  { proofNonces, clock, verify }: DeviceProofOptions,
  device: MessagingDevice,
  method: DescMethod,
  message: Message,
  header: string | null,
): Promise<void> {
  if (header === null) throw new Refused("PROOF_OF_POSSESSION_REQUIRED")
  const bytes = header.length > maxProofCharacters ? undefined : decodeBase64url(header)
  if (bytes === undefined) throw invalid("DEVICE_PROOF_MALFORMED")
  const nowMs = clock.nowMs()
  const call = {
    deviceId: idBytes(device.id),
    method: `/${method.parent.typeName}/${method.name}`,
    request: requestBytes(method.input, message),
    atSeconds: BigInt(Math.floor(nowMs / 1_000)),
    verify,
  }
  const { nonce, issuedAt } = underAnyOf(proofKeys(device, nowMs), (leafKey) =>
    verifyDeviceProof(bytes, { ...call, leafKey }),
  )
  // After the verification: an invalid proof must not use up a nonce.
  const isNew = await proofNonces.use(device.id, nonce, Number(issuedAt) * 1_000 + 2 * lifetimeMs.deviceProof)
  if (!isNew) throw invalid("DEVICE_PROOF_REPLAYED")
}

/** The signed bytes: the message in binary form, without unknown fields. */
const requestBytes = (schema: DescMessage, message: Message): Uint8Array =>
  toBinary(schema, message, { writeUnknownFields: false })

/**
 * A device that has just renewed has two valid keys. @throws Refused DEVICE_PROOF_INVALID, with the last key's code.
 */
function underAnyOf<T>(keys: readonly Uint8Array[], verify: (key: Uint8Array) => T): T {
  const [key, ...rest] = keys
  if (key === undefined) throw new Refused("DEVICE_REVOKED")
  try {
    return verify(key)
  } catch (error) {
    if (!(error instanceof CanonicalError)) throw error
    if (error.code === "DEVICE_PROOF_KEY_MISMATCH" && rest.length > 0) return underAnyOf(rest, verify)
    throw invalid(error.code)
  }
}

const invalid = (code: string): Refused => new Refused("DEVICE_PROOF_INVALID", { metadata: { code } })
