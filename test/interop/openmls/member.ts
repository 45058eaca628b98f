// A device whose engine is OpenMLS. Its credential, proofs and calls are those of any client that is generated from the contract.
import type { Transport } from "@connectrpc/connect"
import { decode } from "@signet/canonical/canonical"
import { hash, stateTagOf } from "@signet/canonical/hash"
import { parseSigned } from "@signet/canonical/signed"
import { CommitReceiptBodyV1Schema } from "@signet/proto/credential/v1/commit_receipt"
import { EnvelopeKind } from "@signet/proto/credential/v1/envelope_aad"
import { type Authorization, type Envelope, Envelope_Kind } from "@signet/proto/messaging/v1/records"
import { type Append, newClaimId } from "../../support/messaging/committing.ts"
import { newDevice, type TestDevice } from "../../support/messaging/device.ts"
import { hexOf, randomBytes } from "../../support/messaging/device-parts.ts"
import { aadOf } from "../../support/messaging/room.ts"
import type { SignedIn } from "../../support/messaging/world.ts"
import { withoutExternalPub } from "./group-info.ts"
import type { Answer, At, OpenMlsProgram } from "./program.ts"

export interface OpenMlsMember {
  readonly device: TestDevice
  /** What it read, in order. */
  readonly texts: readonly string[]
  /** In the group, as OpenMLS has it. */
  at(): At
  upload(count: number): Promise<void>
  /** Joins by the one welcome that waits. @returns The conversation's id. */
  join(): Promise<string>
  /** Follows the log to its end, comparing each epoch with its receipt. */
  follow(): Promise<void>
  send(text: string): Promise<void>
  update(): Promise<void>
  add(userId: string): Promise<void>
  remove(userId: string, credential: Uint8Array): Promise<void>
}

const bytesOf = (told: unknown) => new Uint8Array(Buffer.from(String(told), "hex"))

export async function openMlsMember(
  transport: Transport,
  person: SignedIn,
  openMls: OpenMlsProgram,
): Promise<OpenMlsMember> {
  const device = await newDevice(transport, person)
  await device.register()
  const { calls, key } = device
  await openMls.call("open", { seed: key.seed, publicKey: key.publicKey, credential: device.identity.credential })

  const texts: string[] = []
  let id = ""
  let seq = 0n
  let receipt: Uint8Array = new Uint8Array()
  let here: At | undefined
  let ownCommit = ""

  const at = (): At => {
    if (here === undefined) throw new Error("in no group")
    return here
  }
  const aad = (kind: EnvelopeKind, proof?: Uint8Array) =>
    aadOf({ id, receipt: { hash: hash("commit-receipt", receipt), acceptedAtMs: 0n } }, kind, proof)

  /** Where the group is now, which has to be where the receipt says. */
  function arrive(answer: Answer, signed: Uint8Array): void {
    if (answer.at === undefined) throw new Error("OpenMLS does not say where it is")
    here = answer.at
    receipt = signed
    if (!here.isMember) return
    const { body } = parseSigned(CommitReceiptBodyV1Schema, signed)
    const { resultingStateTag } = decode(CommitReceiptBodyV1Schema, body)
    if (hexOf(stateTagOf(bytesOf(here.confirmationTag))) !== hexOf(resultingStateTag)) {
      throw new Error("OpenMLS is in another epoch than the receipt says")
    }
  }

  async function take({ kind, message, receipt: signed, senderDeviceId }: Envelope): Promise<void> {
    if (kind === Envelope_Kind.COMMIT) {
      const isOwn = hexOf(message) === ownCommit
      arrive(await (isOwn ? openMls.call("accept") : openMls.call("process", { message })), signed)
    } else if (senderDeviceId !== device.id) {
      const { plaintext } = await openMls.call("process", { message })
      texts.push(Buffer.from(bytesOf(plaintext)).toString())
    }
  }

  async function follow(): Promise<void> {
    const { envelopes } = await calls.conversations.listMessages({ conversationId: id, afterSeq: seq, limit: 200 })
    for (const envelope of envelopes) {
      seq = envelope.seq
      if (at().isMember) await take(envelope)
    }
  }

  async function commit(made: Answer, authorization?: Authorization): Promise<void> {
    ownCommit = String(made.commit)
    const welcome = bytesOf(made.welcome)
    const value = {
      commit: bytesOf(made.commit),
      groupInfo: await withoutExternalPub(bytesOf(made.groupInfo), key.seed),
      ...(welcome.length > 0 ? { welcome, tree: bytesOf(made.tree) } : {}),
      claimTickets: authorization?.claim ? [authorization.claim.ticket] : [],
    }
    await append({ case: "commit", value })
    await follow()
  }

  async function append(payload: Append["payload"]): Promise<void> {
    const expectedEpoch = BigInt(at().epoch)
    await device.append({ conversationId: id, idempotencyKey: randomBytes(16), expectedEpoch, payload })
  }

  async function authorized(change: Parameters<typeof device.authorize>[1]): Promise<Authorization> {
    const base = { conversationId: id, baseEpoch: BigInt(at().epoch) }
    const baseStateTag = stateTagOf(bytesOf(at().confirmationTag))
    const { authorization } = await calls.conversations.authorizeMembership({ ...base, baseStateTag, change })
    if (authorization === undefined) throw new Error("no authorization in the answer")
    return authorization
  }

  return {
    device,
    texts,
    at,
    async upload(count) {
      const packages: { keyPackage: Uint8Array }[] = []
      for (let i = 0; i < count; i++)
        packages.push({ keyPackage: bytesOf((await openMls.call("keyPackage")).keyPackage) })
      await calls.keyPackages.uploadKeyPackages({ packages })
    },
    async join() {
      const [welcome] = await device.welcomes()
      if (welcome === undefined) throw new Error("no welcome")
      const tree = await device.treeOf(welcome)
      const joined = await openMls.call("join", { welcome: welcome.welcome, tree })
      if (joined.proof !== hexOf(welcome.proof)) throw new Error("the proof is another one")
      arrive(joined, welcome.receipt)
      id = welcome.conversationId
      seq = welcome.commitSeq
      await calls.welcomes.consumeWelcome({ welcomeId: welcome.id, idempotencyKey: randomBytes(16) })
      return id
    },
    follow,
    async send(text) {
      const input = { plaintext: new TextEncoder().encode(text), aad: aad(EnvelopeKind.APPLICATION) }
      await append({ case: "application", value: bytesOf((await openMls.call("encrypt", input)).message) })
    },
    update: async () => commit(await openMls.call("update", { aad: aad(EnvelopeKind.COMMIT) })),
    async add(userId) {
      const authorization = await authorized({ case: "add", value: { userIds: [userId], claimId: newClaimId() } })
      const { proof, claim } = authorization
      const keyPackage = claim?.keyPackages[0]?.keyPackage ?? new Uint8Array()
      await commit(
        await openMls.call("add", { keyPackage, proof, aad: aad(EnvelopeKind.COMMIT, proof) }),
        authorization,
      )
    },
    async remove(userId, credential) {
      const authorization = await authorized({ case: "remove", value: { userIds: [userId] } })
      const { proof } = authorization
      await commit(
        await openMls.call("remove", { credential, proof, aad: aad(EnvelopeKind.COMMIT, proof) }),
        authorization,
      )
    },
  }
}
