// Reads the leaves of an untrusted tree. ts-mls makes a table of all known values for each capability that it decodes: a
// tree of 1,000 leaves takes it more than 100 ms. `decodeStrictly` encodes each leaf by ts-mls and compares the bytes.
import { demand } from "./refusal.ts"
import {
  type Capabilities,
  type Credential,
  ciphersuites,
  credentialTypes,
  type Decoder,
  decodeVarLenData,
  defaultExtensionTypes,
  type Extension,
  type LeafNode,
} from "./ts-mls.ts"

const suites = byNumber(ciphersuites)
const credentials = byNumber(credentialTypes)
const extensionTypes = byNumber(defaultExtensionTypes)

/**
 * Decodes one LeafNode (RFC 9420 section 7.2) to what `decodeLeafNode` of ts-mls returns.
 *
 * @throws For malformed bytes.
 */
export const decodeLeaf: Decoder<LeafNode> = (bytes, offset) => {
  const part = reader(bytes, offset)
  const hpkePublicKey = part.opaque()
  const signaturePublicKey = part.opaque()
  const credential = readCredential(part)
  const capabilities = readCapabilities(part)
  const source = readSource(part)
  const extensions = part.list(readExtension)
  const leaf = { hpkePublicKey, signaturePublicKey, credential, capabilities, ...source, extensions }
  return [{ ...leaf, signature: part.opaque() }, part.at - offset]
}

function readCredential(part: Reader): Credential {
  const type = part.uint(2)
  demand(type === 1 || type === 2, "MLS_MALFORMED", "an unknown credential type")
  if (type === 1) return { credentialType: "basic", identity: part.opaque() }
  return { credentialType: "x509", certificates: part.list((inner) => inner.opaque()) }
}

function readCapabilities(part: Reader): Capabilities {
  const number = (inner: Reader) => inner.uint(2)
  return {
    versions: part.list(readVersion),
    ciphersuites: part.list((inner) => openName(suites, inner.uint(2))),
    extensions: part.list(number),
    proposals: part.list(number),
    credentials: part.list((inner) => openName(credentials, inner.uint(2))),
  }
}

function readVersion(part: Reader): "mls10" {
  demand(part.uint(2) === 1, "MLS_MALFORMED", "an unknown protocol version")
  return "mls10"
}

function readSource(part: Reader) {
  const source = part.uint(1)
  demand(source === 1 || source === 2 || source === 3, "MLS_MALFORMED", "an unknown leaf node source")
  if (source === 2) return { leafNodeSource: "update" } as const
  if (source === 3) return { leafNodeSource: "commit", parentHash: part.opaque() } as const
  return { leafNodeSource: "key_package", lifetime: { notBefore: part.uint64(), notAfter: part.uint64() } } as const
}

function readExtension(part: Reader): Extension {
  const type = part.uint(2)
  return { extensionType: extensionTypes.get(type) ?? type, extensionData: part.opaque() }
}

function byNumber<Name extends string>(numbers: Readonly<Record<Name, number>>): ReadonlyMap<number, Name> {
  const names = Object.keys(numbers) as Name[]
  return new Map(names.map((name) => [numbers[name], name]))
}

/** ts-mls names an unknown value by its decimal number, which its types do not say. */
function openName<Name extends string>(names: ReadonlyMap<number, Name>, number: number): Name {
  return names.get(number) ?? (`${number}` as Name)
}

interface Reader {
  readonly at: number
  /** Big-endian, up to 4 bytes. */
  uint(size: number): number
  uint64(): bigint
  /** A view of the bytes of a vector. */
  opaque(): Uint8Array
  list<T>(read: (part: Reader) => T): T[]
}

function reader(bytes: Uint8Array, start = 0): Reader {
  let at = start
  const part: Reader = {
    get at() {
      return at
    },
    uint(size) {
      demand(at + size <= bytes.length, "MLS_MALFORMED", "the bytes of a leaf are truncated")
      let value = 0
      for (const end = at + size; at < end; at++) value = value * 256 + (bytes[at] ?? 0)
      return value
    },
    uint64: () => BigInt(part.uint(4)) * 2n ** 32n + BigInt(part.uint(4)),
    opaque() {
      const decoded = decodeVarLenData(bytes, at)
      demand(decoded !== undefined, "MLS_MALFORMED", "the bytes of a leaf are truncated")
      at += decoded[1]
      return decoded[0]
    },
    list(read) {
      const inside = part.opaque()
      const inner = reader(inside)
      const values = []
      while (inner.at < inside.length) values.push(read(inner))
      return values
    },
  }
  return part
}
