// Builds the vector files from the samples and tables of ../testing. Deterministic: uses no clock and no randomness.
import type { DescMessage } from "@bufbuild/protobuf"
import { SignedBytesV1Schema } from "@signet/proto/credential/v1/signed"
import { toHex, utf8 } from "../bytes.ts"
import { decode } from "../canonical.ts"
import type { SyncSigner } from "../ed25519.ts"
import { type HashLabel, hash, issuerIdOf, keyIdOf } from "../hash.ts"
import { deviceFingerprint, safetyNumber, userFingerprint } from "../safety-number.ts"
import { buildSafetyQr } from "../safety-qr.ts"
import { signatureInput, signNow } from "../signed.ts"
import { signatureCases } from "../testing/ed25519-cases.ts"
import { malformedVariants } from "../testing/malformed.ts"
import { refusals } from "../testing/refusals/all.ts"
import { type Sample, samples } from "../testing/samples.ts"
import * as world from "../testing/world.ts"
import { plain, plainMessage } from "./plain.ts"
import { schemaJson } from "./schema.ts"

/** The content of each file, by name without ".json". */
export function buildVectors(): Record<string, unknown> {
  const byFile = Map.groupBy(samples, ({ file }) => file)
  return {
    schema: schemaJson([SignedBytesV1Schema, ...samples.map(({ schema }) => schema)]),
    keys: keysJson(),
    hashes: hashesJson(),
    ed25519: signatureCases.map(plain),
    ...Object.fromEntries([...byFile].map(([file, group]) => [file, group.map(sampleJson)])),
    "safety-numbers": safetyJson(),
    malformed: malformedJson(),
    refusals: refusals.map(({ kind, name, bytes, given, code }) => ({
      kind,
      name,
      given: plain(given),
      bytes: toHex(bytes),
      code,
    })),
  }
}

function sampleJson({ name, schema, message, bytes, signer, hashLabel }: Sample): object {
  const unsigned = {
    name,
    message: schema.name,
    fields: plainMessage(schema, decode(schema, bytes)),
    bytes: toHex(bytes),
  }
  if (signer === undefined) return unsigned
  const signed = signNow(schema, message, signer)
  return {
    ...unsigned,
    signer: nameOf(signer),
    signature_input: toHex(signatureInput(schema, bytes)),
    signature: toHex(decode(SignedBytesV1Schema, signed).signature),
    signed: toHex(signed),
    ...(hashLabel && { hash_label: hashLabel, hash: toHex(hash(hashLabel, signed)) }),
  }
}

const seeds: Record<string, number> = {
  root: 1,
  credential: 2,
  proof: 3,
  receipt: 4,
  list: 5,
  retired: 6,
  stranger: 7,
  leaf: 8,
  other_leaf: 9,
}

function nameOf(signer: SyncSigner): string {
  const key = toHex(signer.publicKey)
  const found = Object.entries(seeds).find(([, seed]) => toHex(world.signerOf(seed).publicKey) === key)
  if (found === undefined) throw new Error("a sample is signed by a key without a name")
  return found[0]
}

function keysJson(): object {
  const keys = Object.entries(seeds).map(([name, seed]) => {
    const { publicKey } = world.signerOf(seed)
    return { name, seed: toHex(world.bytes32(seed)), public_key: toHex(publicKey), key_id: toHex(keyIdOf(publicKey)) }
  })
  return { issuer_url: world.issuerUrl, issuer_id: toHex(world.issuerId), keys, key_set: toHex(world.keySetBytes) }
}

function hashesJson(): object[] {
  const inputs: [HashLabel, string][] = [
    ["issuer", world.issuerUrl],
    ["issuer", ""],
    ["commit", "a commit"],
    ["content", "a commit"],
    ["confirmation-tag", "a tag"],
    ["method", "/signet.messaging.v1.KeyPackageService/Claim"],
  ]
  const hashes = inputs.map(([label, input]) => {
    const bytes = utf8(input)
    return { label, input: toHex(bytes), hash: toHex(hash(label, bytes)) }
  })
  const url = "https://auth.example/a"
  return [
    ...hashes,
    {
      label: "issuer",
      input: toHex(utf8(url)),
      hash: toHex(hash("issuer", utf8(url))),
      issuer_id: toHex(issuerIdOf(url)),
    },
  ]
}

function safetyJson(): object {
  const alice = { tenantId: world.tenantId, appId: world.appId, userId: world.alice }
  const bob = { ...alice, userId: world.bob }
  const phone = { deviceId: world.phone, leafKey: world.leaf.publicKey }
  const tablet = { deviceId: world.id(0x60), leafKey: world.otherLeaf.publicKey }
  const desk = { deviceId: world.id(0x61), leafKey: world.strangerKey.publicKey }
  const users = [
    { ...alice, devices: [phone, tablet] },
    { ...bob, devices: [desk] },
    { ...alice, tenantId: undefined, devices: [phone] },
    { ...bob, devices: [] },
  ].map((user) => ({ ...user, fingerprint: userFingerprint(user, user.devices) }))
  const [one, other] = users
  if (one === undefined || other === undefined) throw new Error("two users are compared")
  const local = { userId: alice.userId, fingerprint: one.fingerprint, listVersion: 3n }
  const remote = { userId: bob.userId, fingerprint: other.fingerprint, listVersion: 1n }
  return {
    device: { ...Object(plain(alice)), ...Object(plain(phone)), fingerprint: toHex(deviceFingerprint(alice, phone)) },
    users: plain(users),
    number: {
      one: toHex(one.fingerprint),
      other: toHex(other.fingerprint),
      digits: safetyNumber(one.fingerprint, other.fingerprint),
    },
    qr: {
      ...Object(plain({ ...alice, userId: undefined, local, remote })),
      text: buildSafetyQr({ ...alice, local, remote }),
    },
  }
}

function malformedJson(): object[] {
  // The longest short sample of each message, which has the most fields.
  const byMessage = Map.groupBy(
    samples.filter(({ bytes }) => bytes.length < 1000),
    ({ schema }): DescMessage => schema,
  )
  const longest = [...byMessage.values()].map((group) =>
    group.reduce((a, b) => (b.bytes.length > a.bytes.length ? b : a)),
  )
  return longest
    .flatMap(malformedVariants)
    .filter(({ bytes }) => bytes.length < 1000)
    .map(({ name, schema, bytes, code }) => ({ message: schema.name, name, bytes: toHex(bytes), code }))
}
