// The parts of a device: its key, its credential, and the issuer that it trusts.
import { decode } from "@signet/canonical/canonical"
import { issueDeviceRequest } from "@signet/canonical/device-request"
import type { SyncSigner } from "@signet/canonical/ed25519"
import { seedSigner } from "@signet/canonical/ed25519"
import { hash, issuerIdOf } from "@signet/canonical/hash"
import type { IssuerKeys } from "@signet/canonical/issuer-keys"
import { parseSigned } from "@signet/canonical/signed"
import { idBytes, parseId } from "@signet/kernel/ids"
import { DeviceCredentialBodyV1Schema } from "@signet/proto/credential/v1/device_credential"
import { StorageClass } from "@signet/proto/credential/v1/device_request"
import { IssuerKeySetBodyV1Schema } from "@signet/proto/credential/v1/issuer_key_set"
import { type Engine, uncheckedEngine } from "../../../clients/core/messaging/mls.ts"
import { makeNodeSuite } from "../../../clients/node/crypto/suite.ts"

export const suite = makeNodeSuite()
export const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex")
export const randomBytes = (length: number): Uint8Array => suite.random(length)
export const nowSeconds = (): number => Math.floor(Date.now() / 1_000)

/** The device id in a credential: 16 bytes in hexadecimal. */
export function deviceIn(credential: Uint8Array): string {
  const schema = DeviceCredentialBodyV1Schema
  return hexOf(decode(schema, parseSigned(schema, credential).body).deviceId)
}

export const engine: Engine = uncheckedEngine({ suite, nowSeconds, deviceOf: deviceIn })

/** Node's verifier, which is faster than the portable one. */
export function verify(key: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  return suite.verify(key, message, signature) === true
}

/** A device's signature key. */
export interface LeafKey {
  readonly seed: Uint8Array
  readonly publicKey: Uint8Array
  readonly signer: SyncSigner
}

export function newLeafKey(): LeafKey {
  const seed = randomBytes(32)
  const { publicKey } = seedSigner(seed)
  const sign = (message: Uint8Array) => {
    const signature = suite.sign(seed, message)
    if (signature instanceof Promise) throw new Error("the Node suite signs at once")
    return signature
  }
  return { seed, publicKey, signer: { publicKey, sign } }
}

/** The caller's scope, from the access token. */
export interface Place {
  readonly issuer: string
  readonly appId: Uint8Array
  readonly tenantId: Uint8Array | undefined
}

export function placeOf(token: string): Place {
  const claims: unknown = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString())
  if (typeof claims !== "object" || claims === null) throw new Error("no claims")
  const told: Record<string, unknown> = { ...claims }
  const appId = parseId("app", String(told.app_id))
  const tenantId = parseId("ten", String(told.tenant_id))
  if (appId === undefined) throw new Error(`the token names no app: ${Object.keys(told)}`)
  return { issuer: String(told.iss), appId: idBytes(appId), tenantId: tenantId && idBytes(tenantId) }
}

/** A device's request for a credential, with changes. */
export function deviceRequest(
  key: LeafKey,
  place: Place,
  userId: string,
  change: { issuedAt?: bigint; platform?: string } = {},
): Promise<Uint8Array> {
  return issueDeviceRequest(
    {
      issuerId: issuerIdOf(place.issuer),
      ...(place.tenantId ? { tenantId: place.tenantId } : {}),
      appId: place.appId,
      userId: bytesOf("prn", userId),
      nonce: randomBytes(16),
      platform: "node-linux",
      storageClass: StorageClass.MEMORY,
      issuedAt: BigInt(nowSeconds()),
      ...change,
    },
    key.signer,
  )
}

/** The 16 bytes of an id. @throws Error if the text is not an id of that kind. */
export function bytesOf(kind: "prn" | "dev" | "cnv" | "clm" | "att" | "app", text: string): Uint8Array {
  const id = parseId(kind, text)
  if (id === undefined) throw new Error(`no ${kind}_ id: ${text}`)
  return idBytes(id)
}

/**
 * The keys of a key set without verification of the root's signature: a suite that only knows a URL has no root to pin.
 * For tests only.
 */
export function unpinnedKeys(signedSet: Uint8Array): IssuerKeys {
  const body = decode(IssuerKeySetBodyV1Schema, parseSigned(IssuerKeySetBodyV1Schema, signedSet).body)
  const { issuerId, setVersion: version, keys } = body
  return {
    issuerId,
    version,
    hash: hash("issuer-keys", signedSet),
    keys: new Map(keys.map((key) => [hexOf(key.keyId), key])),
  }
}
