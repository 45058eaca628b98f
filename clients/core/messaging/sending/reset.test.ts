// When a waiting device replaces the group of a direct conversation, and what it needs of the service's authorization.
import { hash } from "@signet/canonical/hash"
import { issueMembershipProof } from "@signet/canonical/membership-proof"
import { ConversationRecord_Status as Status } from "@signet/proto/client/v1/records"
import { MembershipOp } from "@signet/proto/credential/v1/policy_proof"
import { expect, test } from "vitest"
import * as world from "../../../../proto/canonical/testing/world.ts"
import type { FailureReason } from "../../errors.ts"
import { idOf } from "../ids.ts"
import { applyEnvelopes } from "../receiving/apply.ts"
import { expiredKeySet, nextKeySet } from "../testing/key-sets.ts"
import { refusedAs, type Scripted, scripted } from "../testing/scripted.ts"
import { signedEngine, signedIdentity, signedLifetime } from "../testing/signed-group.ts"
import { isWanted, resetIfAllowed } from "./reset.ts"

const away = {
  ...{ isDirect: true, directUserIds: [idOf("prn", world.bob)], status: Status.WAITING },
  ...{ mlsGroupId: world.mlsGroupId, joinedSeq: 4n },
}
const newGroupId = Uint8Array.of(...world.conversationId, ...world.id(0x79))
const bobsIdentity = await signedIdentity({ userId: world.bob, deviceId: world.id(0x68) })
const day = Number(world.day)
const expired = { notBefore: signedLifetime.notBefore - 9 * day, notAfter: signedLifetime.notAfter - 9 * day }

interface Answer {
  readonly mlsGroupId?: Uint8Array
  readonly baseEpoch?: bigint
  readonly lifetime?: typeof signedLifetime
  /** The service refuses the authorization. */
  readonly reason?: FailureReason
  /** This device has applied a commit of Bob. */
  readonly isAhead?: boolean
  readonly meanwhile?: (opened: Scripted) => Promise<unknown>
  readonly keySets?: readonly Uint8Array[]
}

/** A device that waits for a group, and whose reset the service authorizes and then gives to another device. */
async function waiting({ mlsGroupId = newGroupId, baseEpoch = 2n, lifetime = signedLifetime, ...more }: Answer = {}) {
  let sent = 0
  const { keyPackage, reference } = await signedEngine.newKeyPackage(bobsIdentity, lifetime)
  const opened: Scripted = await scripted({
    ...(more.keySets && { keySets: more.keySets }),
    service: {
      async authorizeMembership() {
        if (more.reason !== undefined) throw refusedAs(more.reason)
        await more.meanwhile?.(opened)
        const { credential } = opened.conversation.device.identity()
        const proof = await issueMembershipProof(
          {
            ...{ ...world.proofFields, mlsGroupId, baseEpoch, op: MembershipOp.RESET },
            requester: hash("device-credential", credential),
            added: [{ credentialHash: hash("device-credential", bobsIdentity.credential), keyPackageRef: reference }],
          },
          world.proofKey,
        )
        const claimed = { keyPackage, keyPackageRef: reference, deviceId: idOf("dev", world.id(0x68)) }
        const claim = { keyPackages: [claimed], ticket: world.ticketBytes }
        return { authorization: { proof, mlsGroupId, keyPackageRefs: [reference], claim } }
      },
      appendMessage() {
        sent++
        throw refusedAs("NOT_MEMBER")
      },
      listMessages: () => ({ headSeq: 4n }),
    },
  })
  await opened.write()
  const { conversation, bobsCommit } = opened
  if (more.isAhead) await applyEnvelopes(conversation, [await bobsCommit({ seq: 5n })], "log", true)
  const { local } = await conversation.stored()
  await opened.write(away, { local })
  return {
    sent: () => sent,
    reset: () => resetIfAllowed(conversation),
    status: async () => (await conversation.stored()).record?.status,
  }
}

test("a device begins a new group, and waits again if another device's reset was first", async () => {
  const { reset, sent, status } = await waiting()
  await reset()
  expect([sent(), await status()]).toEqual([1, Status.WAITING])
})

test("a device begins a new group with a fresh key set if the stored one has expired while the program ran", async () => {
  const { reset, sent } = await waiting({ keySets: [expiredKeySet, await nextKeySet()] })
  await reset()
  expect(sent()).toBe(1)
})

test.each<[string, Answer, Status?]>([
  ["the claimed key packages have expired", { lifetime: expired }],
  ["a member can add this device", { reason: "RESET_NOT_NEEDED" }],
  ["another tab has joined meanwhile", { meanwhile: ({ write }) => write({ isDirect: true }) }, Status.ACTIVE],
])("a device begins no group if %s", async (_, answer, expected = Status.WAITING) => {
  const { reset, sent, status } = await waiting(answer)
  await reset()
  expect([sent(), await status()]).toEqual([0, expected])
})

test.each<[string, Answer]>([
  ["the present group", { mlsGroupId: world.mlsGroupId }],
  ["a group of another conversation", { mlsGroupId: Uint8Array.of(...world.id(1), ...world.id(0x79)) }],
  ["an epoch before that of this device", { baseEpoch: 1n, isAhead: true }],
])("a reset to %s is rejected", async (_, answer) => {
  const { reset, sent } = await waiting(answer)
  await expect(reset()).rejects.toMatchObject({ reason: "ANSWER_REFUSED" })
  expect(sent()).toBe(0)
})

test("another refusal of the authorization is thrown", async () => {
  await expect((await waiting({ reason: "RATE_LIMITED" })).reset()).rejects.toThrow("RATE_LIMITED")
})

test.each<[string, Parameters<Scripted["write"]>[0], boolean]>([
  ["waits", {}, false],
  ["is stranded", { status: Status.STRANDED }, true],
  ["has never joined", { joinedSeq: 0n }, true],
  ["was reset by another device", { resetSeq: 3n }, true],
  ["was reset, in a group", { resetSeq: 3n, isDirect: false }, false],
  ["was reset, as a member", { resetSeq: 3n, status: Status.ACTIVE }, false],
  ["was reset, while it is created", { resetSeq: 3n, creationId: "waiting" }, false],
])("a device that %s wants a reset: %s", async (_, fields, expected) => {
  const { write } = await scripted()
  expect(isWanted({ record: await write({ ...away, ...fields }) })).toBe(expected)
})
