// Reads and writes leaves. ts-mls makes a table of all known values for each capability that it decodes, and several
// objects for each number that it encodes. It needs about 90 ms for a tree of 1,000 leaves; this file needs about 8 ms.
import type { ByteReader } from "./byte-reader.ts"
import { ByteWriter } from "./byte-writer.ts"
import { demand } from "./refusal.ts"
import {
  type Capabilities,
  type Credential,
  ciphersuites,
  credentialTypes,
  defaultExtensionTypes,
  type Extension,
  extensionTypeToNumber,
  type LeafNode,
} from "./ts-mls.ts"

const suites = byNumber(ciphersuites)
const credentials = byNumber(credentialTypes)
const extensionTypes = byNumber(defaultExtensionTypes)

/**
 * Reads one LeafNode (RFC 9420 section 7.2) to what `decodeLeafNode` of ts-mls returns.
 *
 * @throws MlsError MLS_MALFORMED.
 */
export function readLeaf(part: ByteReader): LeafNode {
  const hpkePublicKey = part.opaque()
  const signaturePublicKey = part.opaque()
  const credential = readCredential(part)
  const capabilities = readCapabilities(part)
  const source = readSource(part)
  const extensions = part.list(readExtension)
  const signature = part.opaque()
  return { hpkePublicKey, signaturePublicKey, credential, capabilities, ...source, extensions, signature }
}

/** Encodes one LeafNode to what `encodeLeafNode` of ts-mls returns. */
export function encodeLeaf(leaf: LeafNode): Uint8Array {
  const part = new ByteWriter()
  writeLeaf(part, leaf)
  return part.written()
}

export function writeLeaf(part: ByteWriter, leaf: LeafNode): void {
  part.opaque(leaf.hpkePublicKey)
  part.opaque(leaf.signaturePublicKey)
  writeCredential(part, leaf.credential)
  writeCapabilities(part, leaf.capabilities)
  writeSource(part, leaf)
  part.list(leaf.extensions, writeExtension)
  part.opaque(leaf.signature)
}

function readCredential(part: ByteReader): Credential {
  const type = part.uint16()
  demand(type === 1 || type === 2, "MLS_MALFORMED", "an unknown credential type")
  if (type === 1) return { credentialType: "basic", identity: part.opaque() }
  return { credentialType: "x509", certificates: part.list((inner) => inner.opaque()) }
}

function writeCredential(part: ByteWriter, credential: Credential): void {
  part.uint16(credentialTypes[credential.credentialType])
  if (credential.credentialType === "basic") part.opaque(credential.identity)
  else part.list(credential.certificates, (inner, certificate) => inner.opaque(certificate))
}

function readCapabilities(part: ByteReader): Capabilities {
  return {
    versions: part.list(readVersion),
    ciphersuites: part.uint16s().map(suiteName),
    extensions: part.uint16s(),
    proposals: part.uint16s(),
    credentials: part.uint16s().map(credentialName),
  }
}

function writeCapabilities(part: ByteWriter, capabilities: Capabilities): void {
  part.list(capabilities.versions, writeVersion)
  part.uint16s(capabilities.ciphersuites.map(suiteNumber))
  part.uint16s(capabilities.extensions)
  part.uint16s(capabilities.proposals)
  part.uint16s(capabilities.credentials.map(credentialNumber))
}

/** Reads the only ProtocolVersion that this engine decodes. */
export function readVersion(part: ByteReader): "mls10" {
  demand(part.uint16() === 1, "MLS_MALFORMED", "an unknown protocol version")
  return "mls10"
}

export function writeVersion(part: ByteWriter): void {
  part.uint16(1)
}

type CipherSuite = Capabilities["ciphersuites"][number]
type CredentialType = Capabilities["credentials"][number]

// ts-mls names an unknown value by its decimal number, which its types do not say.

export function suiteName(number: number): CipherSuite {
  return suites.get(number) ?? (`${number}` as CipherSuite)
}

export function suiteNumber(name: CipherSuite): number {
  return ciphersuites[name] ?? Number(name)
}

function credentialName(number: number): CredentialType {
  return credentials.get(number) ?? (`${number}` as CredentialType)
}

function credentialNumber(name: CredentialType): number {
  return credentialTypes[name] ?? Number(name)
}

function readSource(part: ByteReader) {
  const source = part.uint8()
  demand(source === 1 || source === 2 || source === 3, "MLS_MALFORMED", "an unknown leaf node source")
  if (source === 2) return { leafNodeSource: "update" } as const
  if (source === 3) return { leafNodeSource: "commit", parentHash: part.opaque() } as const
  return { leafNodeSource: "key_package", lifetime: { notBefore: part.uint64(), notAfter: part.uint64() } } as const
}

function writeSource(part: ByteWriter, leaf: LeafNode): void {
  if (leaf.leafNodeSource === "key_package") {
    part.uint8(1)
    part.uint64(leaf.lifetime.notBefore)
    part.uint64(leaf.lifetime.notAfter)
  } else if (leaf.leafNodeSource === "update") part.uint8(2)
  else {
    part.uint8(3)
    part.opaque(leaf.parentHash)
  }
}

export function readExtension(part: ByteReader): Extension {
  const type = part.uint16()
  return { extensionType: extensionTypes.get(type) ?? type, extensionData: part.opaque() }
}

export function writeExtension(part: ByteWriter, { extensionType, extensionData }: Extension): void {
  part.uint16(extensionTypeToNumber(extensionType))
  part.opaque(extensionData)
}

function byNumber<Name extends string>(numbers: Readonly<Record<Name, number>>): ReadonlyMap<number, Name> {
  const names = Object.keys(numbers) as Name[]
  return new Map(names.map((name) => [numbers[name], name]))
}
