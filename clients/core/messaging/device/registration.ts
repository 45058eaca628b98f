// Registers a device and renews its credential. Each key is stored before its request, so both can be interrupted at
// any point and repeated.
import { issueDeviceRequest } from "@signet/canonical/device-request"
import type { Signer as CanonicalSigner } from "@signet/canonical/ed25519"
import { issuerIdOf } from "@signet/canonical/hash"
import type { IdentityKey } from "@signet/proto/client/v1/records"
import type { StorageClass } from "@signet/proto/credential/v1/device_request"
import type { Device } from "@signet/proto/messaging/v1/records"
import { failureOf, isFailure } from "../../errors.ts"
import type { Calls } from "../calls.ts"
import { credentialIn, realmOf, verifyFresh } from "../checks/credential.ts"
import { hex } from "../crypto/bytes.ts"
import type { Suite } from "../crypto/suite.ts"
import { type Ambient, nowSeconds, type Trust } from "../deps.ts"
import { MessagingError } from "../errors.ts"
import { answeredId, bytesOfId } from "../ids.ts"
import { rethrowAs } from "../rethrow.ts"
import { decideRegistration, isSameKey, withCredential, withKey, withNextKey } from "./device-record.ts"
import type { StoredDevice } from "./stored-device.ts"

/** The claims of a registration about its device. */
export interface DeviceTraits {
  /** The issuer's URL. */
  readonly issuer: string
  /** The platform, for the user's list of devices: [a-z0-9._:/-]. */
  readonly platform: string
  readonly storageClass: StorageClass
}

/** The service that registers a device, the keys that verify its response, and the owner, clock and random source. */
export type Enrollment = Ambient & Trust & { readonly calls: Pick<Calls, "devices"> }

export interface RegistrationDeps {
  readonly stored: StoredDevice
  readonly suite: Suite
  readonly traits: DeviceTraits
  readonly renewToken: () => Promise<string>
  /** Signs calls with a key in place of the record's current one, while `work` runs. */
  withProofKey<T>(key: IdentityKey, work: () => Promise<T>): Promise<T>
}

/**
 * Registers this device for the current session: as a new device, or again after another sign-in. Renews an expired
 * credential. If the service has a different device for the stored key, the stored device is dropped and a new one is
 * registered, once.
 *
 * @throws MessagingError DEVICE_ENDED, ANSWER_REFUSED
 */
export async function register(deps: RegistrationDeps, enrollment: Enrollment, isSecondTry = false): Promise<void> {
  const { stored } = deps
  await stored.load()
  const key = stored.record?.key ?? (await stored.newKey())
  if (stored.record?.key === undefined) {
    // The key is stored before it is registered, because a registered device without its key would be unusable.
    const written = await stored.change((before) => withKey(before, key))
    // Another tab has stored its key first.
    if (!isSameKey(written.key ?? key, key)) return register(deps, enrollment, isSecondTry)
  }
  const deviceRequest = await requestFor(deps, enrollment, key)
  const { device, mustRefresh } = await enrollment.calls.devices.registerDevice({ deviceRequest }).catch(throwIfEnded)
  const isUsable = device === undefined || (await isUsableHere(deps, enrollment, device.credential))
  switch (decideRegistration(stored.record, { deviceId: device?.id ?? "", isUsable }, isSecondTry)) {
    case "accept":
      await accept(deps, enrollment, device, key)
      if (mustRefresh) await deps.renewToken()
      return
    case "renew":
      if (mustRefresh) await deps.renewToken()
      return renew(deps, enrollment)
    case "replace":
      await stored.drop()
      return register(deps, enrollment, true)
    case "refuse":
      throw new MessagingError("ANSWER_REFUSED", "the credential is of another device or key")
  }
}

/**
 * Requests a credential for a new key. A retry uses the same key.
 *
 * @throws MessagingError DEVICE_ENDED, ANSWER_REFUSED
 */
export async function renew(deps: RegistrationDeps, enrollment: Enrollment): Promise<void> {
  const { stored } = deps
  const candidate = stored.registered().record.nextKey ?? (await stored.newKey())
  // Stored before the request: the service may replace the key from then on. Another tab may have stored its key first.
  const written = await stored.change((before) => withNextKey(before, candidate))
  const key = written.nextKey ?? candidate
  const request = async () => {
    const deviceRequest = await requestFor(deps, enrollment, key)
    return enrollment.calls.devices.renewCredential({ deviceId: written.deviceId, deviceRequest })
  }
  const { device } = await request()
    // If the service renewed the credential but its response was lost, it accepts only the new key.
    .catch((error: unknown) =>
      isKeyRefused(error) ? deps.withProofKey(key, request).catch(throwIfReplaced) : throwIt(error),
    )
    .catch(throwIfEnded)
  await accept(deps, enrollment, device, key)
}

function requestFor(
  { suite, traits }: RegistrationDeps,
  { owner, random, clock }: Enrollment,
  key: IdentityKey,
): Promise<Uint8Array> {
  const request = {
    issuerId: issuerIdOf(traits.issuer),
    ...(owner.tenant === undefined ? {} : { tenantId: owner.tenant }),
    appId: owner.app,
    userId: owner.user,
    nonce: random.bytes(16),
    platform: traits.platform,
    storageClass: traits.storageClass,
    issuedAt: BigInt(nowSeconds({ clock })),
  }
  return issueDeviceRequest(request, signerFor(suite, key))
}

export const signerFor = (suite: Suite, { publicKey, seed }: IdentityKey): CanonicalSigner => ({
  publicKey,
  sign: (message) => suite.sign(seed, message),
})

/** True if the credential states a stored key and has not expired. `accept` verifies its signature. */
async function isUsableHere(
  { stored: { record } }: RegistrationDeps,
  enrollment: Enrollment,
  credential: Uint8Array,
): Promise<boolean> {
  const { leafSignatureKey: publicKey, notAfter } = await rethrowAs("ANSWER_REFUSED", async () =>
    credentialIn(credential),
  )
  const isStored = isSameKey(record?.key, { publicKey }) || isSameKey(record?.nextKey, { publicKey })
  return isStored && nowSeconds(enrollment) < Number(notAfter)
}

/** Verifies the response, and stores its credential. @throws MessagingError ANSWER_REFUSED */
async function accept(
  { stored }: RegistrationDeps,
  enrollment: Enrollment,
  device: Device | undefined,
  requested: IdentityKey,
): Promise<void> {
  if (device === undefined) throw new MessagingError("ANSWER_REFUSED", "the response has no device")
  const { owner } = enrollment
  const { id: deviceId, credential } = device
  const publicKey = await rethrowAs("ANSWER_REFUSED", async () => credentialIn(credential).leafSignatureKey)
  // A renewal whose response was lost: the service has issued the credential of the next key.
  const key = isSameKey(stored.record?.nextKey, { publicKey }) ? { publicKey } : requested
  const { body } = await rethrowAs("ANSWER_REFUSED", async () =>
    verifyFresh(realmOf(enrollment), { credential, signatureKey: key.publicKey }, nowSeconds(enrollment)),
  )
  const isOurs =
    hex(body.userId) === hex(owner.user) && hex(body.deviceId) === hex(bytesOfId("dev", answeredId("dev", deviceId)))
  if (!isOurs) throw new MessagingError("ANSWER_REFUSED", "the credential is another user's or device's")
  const { notBefore, notAfter } = body
  await stored.change((before) => withCredential(before, { deviceId, credential, notBefore, notAfter }, key))
}

/**
 * True if the service refuses the key, and not the time or another part of the proof. A missing code counts as the key.
 */
function isKeyRefused(error: unknown): boolean {
  const { reason, metadata } = failureOf(error) ?? {}
  return reason === "DEVICE_PROOF_INVALID" && (metadata?.code ?? keyMismatch) === keyMismatch
}
const keyMismatch = "DEVICE_PROOF_KEY_MISMATCH"

function throwIfReplaced(cause: unknown): never {
  if (!isKeyRefused(cause)) throw cause
  throw new MessagingError("DEVICE_ENDED", "the service stores another key for this device", { cause })
}

function throwIfEnded(cause: unknown): never {
  if (!isFailure(cause, "DEVICE_REVOKED", "DEVICE_KEY_TAKEN")) throw cause
  throw new MessagingError("DEVICE_ENDED", "this device, or its key, was revoked", { cause })
}

function throwIt(error: unknown): never {
  throw error
}
