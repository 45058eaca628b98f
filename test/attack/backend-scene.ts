// The setup for attacks by messaging backends: a service account with the backend's scope, two users with devices, and
// valid requests that tests alter.
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { type Client, ConnectError, createClient } from "@connectrpc/connect"
import { createConnectTransport } from "@connectrpc/connect-node"
import { hash } from "@signet/canonical/hash"
import { newId } from "@signet/kernel/ids"
import {
  AuthorityService,
  ListedDevice_Status,
  IssueProofRequest_Op as Op,
} from "@signet/proto/authority/v1/authority_service"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { type BackendElsewhere, startBackendElsewhere } from "../support/messaging/backend-elsewhere.ts"
import { newDevice, type TestDevice } from "../support/messaging/device.ts"
import { deviceRequest, newLeafKey, randomBytes } from "../support/messaging/device-parts.ts"
import { type MessagingServer, startMessagingServer } from "../support/messaging/test-server.ts"
import type { SignedIn } from "../support/messaging/world.ts"
import { claimsOf } from "../support/people.ts"
import { storyStore } from "../support/postgres.ts"

export let server: MessagingServer
export let backend: BackendElsewhere
export let authority: Client<typeof AuthorityService>
/** The headers of the backend's calls. */
export let own: { headers: Record<string, string> }
export let alice: TestDevice
export let bob: TestDevice
/** Alice's second device. */
export let phone: TestDevice

export async function openScene(): Promise<void> {
  server = await startMessagingServer({ store: storyStore })
  backend = await startBackendElsewhere(server)
  authority = createClient(AuthorityService, createConnectTransport({ baseUrl: server.url, httpVersion: "1.1" }))
  own = await backend.ownHeaders()
  const registered = async (of?: SignedIn) => {
    const session = of ?? (await server.person(crypto.randomUUID()))
    const device = await newDevice(backend.transport, session)
    await device.register()
    return device
  }
  alice = await registered()
  bob = await registered()
  phone = await registered(await alice.session.again())
}

/**
 * Returns "REASON", followed by `caller_reason`, `code` or `field` if the error has one; "taken" if the call succeeds.
 */
export async function why(call: Promise<unknown>): Promise<string> {
  try {
    await call
    return "taken"
  } catch (error) {
    const [info] = ConnectError.from(error).findDetails(ErrorInfoSchema)
    const { caller_reason, code, field } = info?.metadata ?? {}
    return [info?.reason ?? String(error), caller_reason ?? code ?? field ?? []].flat().join(" ")
  }
}
export const now = () => server.deps.clock.nowMs()
export const at = (ms = 0) => timestampFromMs(now() + ms)
export const place = () => ({ appId: server.app.id, tenantId: "" })
export const tokenOf = (device: TestDevice) => device.session.accessToken

/** Signs the device's token again with other claims and the issuer's key. */
export const forged = (device: TestDevice, change: object) =>
  server.keys.sign("at+jwt", { ...claimsOf(tokenOf(device)), ...change })

export async function credentialFor(of: TestDevice, change: object = {}) {
  return {
    callerToken: tokenOf(of),
    place: place(),
    userId: of.userId,
    deviceId: of.id,
    deviceRequest: await deviceRequest(newLeafKey(), of.place, of.userId),
    serial: 2n,
    notBefore: at(-300_000),
    notAfter: at(30 * 86_400_000),
    ...change,
  }
}

export function listOf(of: TestDevice, change: object = {}, status: ListedDevice_Status = ListedDevice_Status.ACTIVE) {
  const entries = [{ deviceId: of.id, credentialHash: randomBytes(32), status, changedAt: at() }]
  return {
    callerToken: tokenOf(of),
    place: place(),
    userId: of.userId,
    version: 7n,
    previousHash: randomBytes(32),
    entries,
    issuedAt: at(),
    ...change,
  }
}

export const credentialHash = (device: TestDevice) => hash("device-credential", device.identity.credential)
export const evidenceOf = (device: TestDevice) => ({
  case: "requesterCredential" as const,
  value: device.identity.credential,
})

export function proofFor(of: TestDevice, change: object = {}) {
  return {
    callerToken: tokenOf(of),
    place: place(),
    conversationId: newId("cnv", now(), randomBytes(10)),
    mlsGroupId: randomBytes(32),
    op: Op.ADD,
    baseEpoch: 3n,
    baseStateTag: randomBytes(32),
    added: [{ credentialHash: randomBytes(32), keyPackageRef: randomBytes(32) }],
    removed: [],
    requester: credentialHash(of),
    requesterPaper: evidenceOf(of),
    decisionId: newId("dcn", now(), randomBytes(10)),
    issuedAt: at(),
    policyVersion: BigInt(Number(claimsOf(tokenOf(of)).perm_ver)),
    ...change,
  }
}
