// The tickets and the Welcome of a commit that adds members.
import { randomBytes } from "node:crypto"
import { concat } from "@signet/canonical/bytes"
import { nodeVerify } from "@signet/canonical/node/ed25519"
import { Refused } from "@signet/kernel/errors"
import { idOf } from "@signet/kernel/ids"
import { maxBytes } from "@signet/kernel/messaging/limits"
import { bytes, conversation, device, messagingDevice, nowMs, user } from "@signet/kernel/messaging/testing/records"
import { beforeAll, expect, test } from "vitest"
import { parseCommit } from "../../../../framing/commit.ts"
import { keyPackageRef } from "../../../../framing/key-package.ts"
import { recordSmall } from "../../../../framing/testing/recording.ts"
import { parseWelcome } from "../../../../framing/welcome.ts"
import { vectorBytes } from "../../../../framing/writer.ts"
import { createTicketSigner } from "../../../../keys/authority.ts"
import { detailsOf } from "../../../../serving/call/detailed.ts"
import { issuer, newTestIssuer } from "../../testing/test-issuer.ts"
import type { AddedLeaf } from "./change.ts"
import type { CallJudge } from "./judge.ts"
import { checkTickets, welcomesFor } from "./welcomes.ts"

let judge: CallJudge
let signTicket: ReturnType<typeof createTicketSigner>
let added: AddedLeaf
/** The Welcome of a commit that adds one leaf. */
let welcome: Uint8Array
beforeAll(async () => {
  const keys = await newTestIssuer({ bytes: (length) => new Uint8Array(randomBytes(length)) }, nowMs)
  signTicket = createTicketSigner(keys, issuer)
  judge = {
    ...{ conversation, begins: null, device: messagingDevice(10), issuerKeys: keys.issuerKeys },
    ...{ verify: nodeVerify, nowMs, tree: undefined, newWelcomeId: () => idOf("wel", bytes(1, 16)) },
  }
  const last = (await recordSmall()).commits.at(-1)
  const [keyPackage] = last === undefined ? [] : parseCommit(last.staged.commit).adds
  if (last?.staged.welcome === undefined || keyPackage === undefined) return expect.fail("nobody is added")
  welcome = last.staged.welcome
  const leaf = { deviceId: device(30), userId: user(3), credentialHash: bytes(30) }
  added = { ...leaf, keyPackage, keyPackageRef: keyPackageRef(keyPackage) }
})

function refusal(check: () => unknown): Refused {
  try {
    check()
  } catch (error) {
    if (error instanceof Refused) return error
    throw error
  }
  return expect.fail("not refused")
}

const ticketFor = (change: Partial<Pick<AddedLeaf, "deviceId" | "credentialHash" | "keyPackageRef">>) =>
  signTicket({
    ...{ place: conversation, conversationId: conversation.id, requesterDeviceId: device(10), issuedAtMs: nowMs },
    ...{ claimId: idOf("clm", bytes(1, 16)), packages: [{ ...added, ...change }] },
  })

test("a ticket names the added leaf's key package, device and credential", () => {
  checkTickets(judge, [added], [ticketFor({})])
  checkTickets(judge, [], [])
  for (const change of [{ deviceId: device(31) }, { credentialHash: bytes(31) }, { keyPackageRef: bytes(31) }]) {
    expect(refusal(() => checkTickets(judge, [added], [ticketFor(change)])).reason).toBe("KEY_PACKAGE_NOT_CLAIMED")
  }
  expect(refusal(() => checkTickets(judge, [added], [])).reason).toBe("KEY_PACKAGE_NOT_CLAIMED")
})

test("each added device gets its part of the Welcome", () => {
  expect(welcomesFor(judge, [added], welcome)).toMatchObject([{ deviceId: added.deviceId, welcome }])
  expect(welcomesFor(judge, [], new Uint8Array())).toEqual([])
  for (const [leaves, given] of [
    [[added], new Uint8Array()],
    [[], welcome],
    [[{ ...added, keyPackageRef: bytes(31) }], welcome],
    [[added, { ...added, keyPackageRef: bytes(31) }], welcome],
  ] as const) {
    expect(refusal(() => welcomesFor(judge, leaves, given)).reason).toBe("WELCOME_RECIPIENT_MISMATCH")
  }
})

test("a Welcome that is too large, whole or for one device, is refused with the limit that it exceeds", () => {
  const { head, secrets } = parseWelcome(welcome)
  const parts = secrets.map((one) => one.bytes)
  const withInfo = (length: number) => concat(head, vectorBytes(...parts), vectorBytes(new Uint8Array(length)))
  const limits = [maxBytes.welcomeRecipient, maxBytes.welcome].map((length) =>
    detailsOf(refusal(() => welcomesFor(judge, [added], withInfo(length)))).map(({ value }) => value),
  )
  expect(limits).toMatchObject([
    [{ limit: "welcome_recipient_bytes", max: BigInt(maxBytes.welcomeRecipient) }],
    [{ limit: "welcome_bytes", max: BigInt(maxBytes.welcome) }],
  ])
})
