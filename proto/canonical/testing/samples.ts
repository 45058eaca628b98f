// At least one message of each kind, for vectors and property tests.
import { create, type DescMessage, type Message } from "@bufbuild/protobuf"
import type { GenMessage } from "@bufbuild/protobuf/codegenv2"
import { ClaimTicketBodyV1Schema } from "@signet/proto/credential/v1/claim_ticket"
import { CommitReceiptBodyV1Schema } from "@signet/proto/credential/v1/commit_receipt"
import { DeviceCredentialBodyV1Schema } from "@signet/proto/credential/v1/device_credential"
import { DeviceListBodyV1Schema, DeviceListEntryV1Schema } from "@signet/proto/credential/v1/device_list"
import {
  DeviceProofBodyV1Schema,
  DeviceRequestBodyV1Schema,
  StorageClass,
} from "@signet/proto/credential/v1/device_request"
import {
  ConversationBindingV1Schema,
  ConversationKind,
  EnvelopeAadV1Schema,
  EnvelopeKind,
} from "@signet/proto/credential/v1/envelope_aad"
import { IssuerKeySetBodyV1Schema, IssuerKeyV1Schema } from "@signet/proto/credential/v1/issuer_key_set"
import {
  MembershipOp,
  MembershipProofBodyV1Schema,
  MembershipSubjectV1Schema,
} from "@signet/proto/credential/v1/policy_proof"
import {
  DeviceFingerprintV1Schema,
  SafetyQrV1Schema,
  UserKeySetV1Schema,
  UserKeyV1Schema,
} from "@signet/proto/credential/v1/safety_qr"
import { SignatureScheme, SignedBytesV1Schema } from "@signet/proto/credential/v1/signed"
import { decode, encode } from "../canonical.ts"
import type { SyncSigner } from "../ed25519.ts"
import { type HashLabel, hash, keyIdOf } from "../hash.ts"
import * as world from "./world.ts"

/** A named message with its canonical encoding, its signer and its hash label, if any. */
export interface Sample {
  /** The vector file that it belongs to. */
  readonly file: string
  readonly name: string
  readonly schema: DescMessage
  readonly message: Message
  readonly bytes: Uint8Array
  readonly signer: SyncSigner | undefined
  readonly hashLabel: HashLabel | undefined
}

type Init<Body extends Message> = Partial<Omit<Body, keyof Message>>

function sample<Body extends Message>(
  file: string,
  name: string,
  schema: GenMessage<Body>,
  init: Init<Body>,
  signer?: SyncSigner,
  hashLabel?: HashLabel,
): Sample {
  const message = Object.assign(create(schema), init)
  return { file, name, schema, message, bytes: encode(schema, message), signer, hashLabel }
}

const { credentialFields, proofFields, receiptFields, listFields, keySetFields, now, id, bytes32 } = world
const ed25519 = SignatureScheme.ED25519
const none = new Uint8Array(0)

const keys = keySetFields.keys.map((key) => create(IssuerKeyV1Schema, { ...key, keyId: keyIdOf(key.key) }))
const credential = { ...credentialFields, version: 1, leafSignatureScheme: ed25519 }
const proof = {
  ...proofFields,
  version: 1,
  added: proofFields.added.map((subject) => create(MembershipSubjectV1Schema, subject)),
  expiresAt: proofFields.issuedAt + 300n,
}
const list = {
  ...listFields,
  version: 1,
  entries: listFields.entries.map((entry) => create(DeviceListEntryV1Schema, entry)),
}
const request = {
  version: 1,
  issuerId: world.issuerId,
  tenantId: world.tenantId,
  appId: world.appId,
  userId: world.alice,
  leafSignatureScheme: ed25519,
  leafSignatureKey: world.leaf.publicKey,
  nonce: id(0xf1),
  platform: "node-linux",
  storageClass: StorageClass.PLATFORM,
  issuedAt: now,
}
const fingerprint = {
  tenantId: world.tenantId,
  appId: world.appId,
  userId: world.alice,
  deviceId: world.phone,
  scheme: ed25519,
  key: world.leaf.publicKey,
}
const userKey = { deviceId: world.phone, scheme: ed25519, key: world.leaf.publicKey }
const otherKey = { deviceId: id(0x60), scheme: ed25519, key: world.otherLeaf.publicKey }

/** The maximum number of leaves that a proof can name. */
const manySubjects = Array.from({ length: 256 }, (_, at) =>
  create(MembershipSubjectV1Schema, {
    credentialHash: hash("content", Uint8Array.of(at)),
    keyPackageRef: hash("content", Uint8Array.of(at, 1)),
  }),
)

const credentialOf = (name: string, change: object) =>
  sample(
    "device-credential",
    name,
    DeviceCredentialBodyV1Schema,
    { ...credential, ...change },
    world.credentialKey,
    "device-credential",
  )
const proofOf = (name: string, change: object) =>
  sample(
    "membership-proof",
    name,
    MembershipProofBodyV1Schema,
    { ...proof, ...change },
    world.proofKey,
    "membership-proof",
  )
const receiptOf = (name: string, change: object) =>
  sample(
    "commit-receipt",
    name,
    CommitReceiptBodyV1Schema,
    { ...receiptFields, version: 1, ...change },
    world.receiptKey,
    "commit-receipt",
  )

const ticketOf = (name: string, change: object) =>
  sample(
    "claim-ticket",
    name,
    ClaimTicketBodyV1Schema,
    { ...decode(ClaimTicketBodyV1Schema, decode(SignedBytesV1Schema, world.ticketBytes).body), ...change },
    world.receiptKey,
  )

export const samples: readonly Sample[] = [
  ticketOf("two packages that Alice's phone claimed", {}),
  ticketOf("outside any tenant", { tenantId: none }),
  sample("signed", "the credential of Alice's phone", SignedBytesV1Schema, {
    ...decode(SignedBytesV1Schema, world.credentialBytes),
  }),
  credentialOf("Alice's phone", {}),
  credentialOf("outside any tenant, without flags", { tenantId: none, flags: 0 }),
  credentialOf("the largest there is", {
    serial: 4294967295n,
    notBefore: 34359738367n - 1n,
    notAfter: 34359738367n,
    flags: 7,
  }),
  proofOf("adds two leaves, given in descending order", { added: proof.added.toReversed() }),
  proofOf("creates a conversation at epoch 0, which is absent", {
    op: MembershipOp.CREATE,
    baseEpoch: 0n,
    baseStateTag: none,
    policyVersion: 0n,
  }),
  proofOf("removes a leaf by directive, so anybody may commit", {
    op: MembershipOp.REMOVE,
    added: [],
    removed: [create(MembershipSubjectV1Schema, { credentialHash: bytes32(0xa9) })],
    requester: none,
  }),
  proofOf("adds 256 leaves, with the largest numbers", {
    added: manySubjects,
    baseEpoch: 18446744073709551615n,
    policyVersion: 18446744073709551615n,
  }),
  receiptOf("of a commit that adds", {}),
  receiptOf("the first, of a commit without proof or tree", {
    epoch: 0n,
    seq: 1n,
    proofHash: none,
    treeBlobHash: none,
    previousReceiptHash: none,
  }),
  sample("device-list", "version 3", DeviceListBodyV1Schema, list, world.listKey, "device-list"),
  sample(
    "device-list",
    "the first",
    DeviceListBodyV1Schema,
    { ...list, listVersion: 1n, previousHash: none, tenantId: none },
    world.listKey,
    "device-list",
  ),
  sample(
    "issuer-key-set",
    "version 7",
    IssuerKeySetBodyV1Schema,
    { ...keySetFields, version: 1, keys: keys },
    world.root,
    "issuer-keys",
  ),
  sample("device-request", "of Alice's phone", DeviceRequestBodyV1Schema, request, world.leaf),
  sample(
    "device-proof",
    "of a claim",
    DeviceProofBodyV1Schema,
    {
      version: 1,
      deviceId: world.phone,
      methodHash: bytes32(0x11),
      bodyHash: bytes32(0x12),
      issuedAt: now,
      nonce: id(0xf2),
    },
    world.leaf,
  ),
  sample("envelope-aad", "of an application message, before any receipt", EnvelopeAadV1Schema, {
    version: 1,
    conversationId: world.conversationId,
    kind: EnvelopeKind.APPLICATION,
  }),
  sample("envelope-aad", "of a commit with its proof", EnvelopeAadV1Schema, {
    version: 1,
    conversationId: world.conversationId,
    kind: EnvelopeKind.COMMIT,
    membershipProof: world.proofBytes,
    lastReceiptHash: hash("commit-receipt", world.receiptBytes),
  }),
  sample("conversation-binding", "of a group", ConversationBindingV1Schema, {
    version: 1,
    tenantId: world.tenantId,
    appId: world.appId,
    conversationId: world.conversationId,
    kind: ConversationKind.GROUP,
  }),
  sample("safety", "a device to hash", DeviceFingerprintV1Schema, fingerprint),
  sample("safety", "no devices", UserKeySetV1Schema, { version: 1, appId: world.appId, userId: world.alice }),
  sample("safety", "two devices", UserKeySetV1Schema, {
    version: 1,
    tenantId: world.tenantId,
    appId: world.appId,
    userId: world.alice,
    keys: [userKey, otherKey].map((key) => create(UserKeyV1Schema, key)),
  }),
  sample("safety", "a QR code", SafetyQrV1Schema, {
    version: 1,
    tenantId: world.tenantId,
    appId: world.appId,
    localUserId: world.alice,
    localFingerprint: bytes32(0x21),
    remoteUserId: world.bob,
    remoteFingerprint: bytes32(0x22),
    localListVersion: 3n,
    remoteListVersion: 1n,
  }),
]
