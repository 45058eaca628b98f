// The setup for attacks on the messaging service: its users, a conversation that no test changes, and altered commits.
import { ConnectError } from "@connectrpc/connect"
import { buildEnvelopeAad } from "@signet/canonical/envelope-aad"
import { EnvelopeKind } from "@signet/proto/credential/v1/envelope_aad"
import { ErrorInfoSchema } from "@signet/proto/google/rpc/error_details"
import { createContentCommitSignature } from "ts-mls/framedContent.js"
import type { LeafNodeCommit } from "ts-mls/leafNode.js"
import { encodeMlsMessage } from "ts-mls/message.js"
import { protectPublicMessage } from "ts-mls/messageProtectionPublic.js"
import { expect } from "vitest"
import { opened } from "../../clients/core/messaging/engine/state.ts"
import type { StagedCommit } from "../../clients/core/messaging/mls.ts"
import { testKit } from "../../clients/core/messaging/testing/forge.ts"
import { theirs } from "../../server/framing/testing/bent.ts"
import { protocols } from "../support/clients.ts"
import type { CommitPayload, StagedAppend } from "../support/messaging/committing.ts"
import { newDevice, type TestDevice } from "../support/messaging/device.ts"
import { bytesOf, randomBytes, suite } from "../support/messaging/device-parts.ts"
import { aadOf, type Room } from "../support/messaging/room.ts"
import { type MessagingServer, startMessagingServer } from "../support/messaging/test-server.ts"
import type { SignedIn } from "../support/messaging/world.ts"
import { storyStore } from "../support/postgres.ts"

export let server: MessagingServer
export let alice: TestDevice
export let bob: TestDevice
export let carol: TestDevice
export let dave: TestDevice
/** A group of Alice and Bob that no test changes. */
export let room: Room
export let bobs: Room
/** Another group of Alice and Bob. */
export let elsewhere: Room

export const overGrpc = () => protocols.gRPC?.(server.url) ?? expect.fail("no such protocol")

export async function registered(of?: SignedIn, packages = 12): Promise<TestDevice> {
  const session = of === undefined ? await server.person(crypto.randomUUID()) : await of.again()
  const device = await newDevice(overGrpc(), session)
  await device.register()
  if (packages > 0) await device.upload(packages)
  return device
}

export async function openScene(): Promise<void> {
  server = await startMessagingServer({ store: storyStore })
  alice = await registered()
  bob = await registered()
  carol = await registered(undefined, 40)
  dave = await registered()
  room = await alice.createGroup([bob.userId])
  bobs = (await bob.join())[0] ?? expect.fail("bob has no welcome")
  elsewhere = await alice.createGroup([bob.userId])
}

/** Returns "REASON", followed by the code in the error's metadata if there is one; "taken" if the call succeeds. */
export async function refusal(call: Promise<unknown>): Promise<string> {
  const error = await errorOf(call)
  if (error === undefined) return "taken"
  const [info] = error.findDetails(ErrorInfoSchema)
  const { reason = error.message, metadata = {} } = info ?? {}
  return metadata.code === undefined || metadata.code === reason ? reason : `${reason} ${metadata.code}`
}

export async function errorOf(call: Promise<unknown>): Promise<ConnectError | undefined> {
  try {
    await call
    return undefined
  } catch (error) {
    if (error instanceof ConnectError) return error
    throw error
  }
}

/** Sends Alice's commit that adds Carol, with a change. */
export async function adding(change: (value: CommitPayload, staged: StagedAppend) => Partial<CommitPayload>) {
  const staged = await alice.stageChange(room, await alice.authorizeAdd(room, { userIds: [carol.userId] }))
  return sending(staged, change(staged.request.payload.value, staged))
}

export function sending({ request }: StagedAppend, change: Partial<CommitPayload>, by = alice) {
  const payload = { case: "commit", value: { ...request.payload.value, ...change } } as const
  return by.append({ ...request, idempotencyKey: randomBytes(16), payload })
}

export const committed = ({ commit, groupInfo, welcome, tree }: StagedCommit, claimTickets: Uint8Array[] = []) => ({
  commit,
  groupInfo,
  ...(welcome ? { welcome, tree: tree() } : {}),
  claimTickets,
})

/** The options of a commit by this device that carries the proof. */
export const carrying = (proof: Uint8Array, of: Room = room) => ({ aad: aadOf(of, EnvelopeKind.COMMIT, proof), proof })

export async function packageOf(device: TestDevice): Promise<Uint8Array> {
  const [made] = await device.newKeyPackages(1)
  return made?.keyPackage ?? expect.fail("no key package")
}

/**
 * Replaces the leaf in the commit's path, and possibly its removals, and signs the commit again with the committer's
 * key.
 */
export async function pathCommit(
  commit: Uint8Array,
  by: TestDevice,
  bend: (leaf: LeafNodeCommit) => LeafNodeCommit | Promise<LeafNodeCommit>,
  removed: readonly number[] = [],
): Promise<Uint8Array> {
  const { content } = theirs(commit, "mls_public_message").publicMessage
  const path = content.contentType === "commit" ? content.commit.path : undefined
  if (path === undefined || content.sender.senderType !== "member") return expect.fail("no path")
  const { cs } = testKit(suite)
  const { context, epochSecrets } = opened(room.state)
  const changed = { ...path, leafNode: await bend(path.leafNode) }
  const proposals = removed.map((leaf) => ({
    proposalOrRefType: "proposal" as const,
    proposal: { proposalType: "remove" as const, remove: { removed: leaf } },
  }))
  const { framedContent, signature } = await createContentCommitSignature(
    context,
    "mls_public_message",
    { proposals, path: changed },
    content.sender,
    content.authenticatedData,
    by.key.seed,
    cs.signature,
  )
  const auth = { contentType: "commit", signature, confirmationTag: randomBytes(32) } as const
  const whole = { wireformat: "mls_public_message", content: framedContent, auth } as const
  const publicMessage = await protectPublicMessage(epochSecrets.membership, context, whole, cs)
  return encodeMlsMessage({ version: "mls10", wireformat: "mls_public_message", publicMessage })
}

/** Returns an AAD frame that names another receipt than the newest. */
export const withReceipt = (kind: EnvelopeKind, lastReceiptHash: Uint8Array) =>
  buildEnvelopeAad({ conversationId: bytesOf("cnv", room.id), kind, lastReceiptHash })

export const flipped = (bytes: Uint8Array, at: number) =>
  bytes.with(at < 0 ? bytes.length + at : at, (bytes.at(at) ?? 0) ^ 1)
