// `npm run admin -- keys …`: the root key and what it signs. `root` commands use neither server nor database, so the
// root key can stay on an offline machine.
import { randomBytes } from "node:crypto"
import { readFileSync, writeFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { type IssuerPurpose, issuerPurposes, type ReceiptKeyStore } from "@signet/kernel/keys/issuer-keys"
import { type IssuerPublicKey, rootPublicKey, signKeySet } from "../../keys/root-key.ts"
import { formatKeySet } from "../issuer-key-set.ts"
import { UsageError } from "./command.ts"
import { receiptsCommand } from "./receipts.ts"

/** The dependencies of a command. */
export interface KeysIo {
  readonly nowMs: number
  /** Opens the issuer's keys in the configured database and closes it afterwards. */
  readonly withIssuerKeys: <T>(work: (keys: OpenIssuerKeys) => Promise<T>) => Promise<T>
}

export interface OpenIssuerKeys {
  readonly issuer: string
  publicKeys(): readonly IssuerPublicKey[]
  rotate(purpose: IssuerPurpose): Promise<void>
  readonly receipts: ReceiptKeyStore
}

export const keysUsage = `keys root new --out FILE
    Creates a root key and prints the public key that clients pin. Keep FILE offline: its holder can sign any key set.
keys root sign --root FILE --keys REQUEST --out FILE [--days 365]
    Signs the keys of a request for that many days. Set SIGNET_ISSUER_KEY_SET to the resulting file.
keys issuer request --out FILE
    Writes the installation's public keys, to be signed. Creates missing keys.
keys tokens list
    Lists the keys of tokens, statements and contexts with their status: NEXT, CURRENT, PREVIOUS, RETIRED or COMPROMISED.
keys tokens rotate PURPOSE [--early]
    Makes the next key the current one for tokens (ACCESS), statements (STATEMENT) or contexts (CONTEXT). --early allows
    a key that was published less than 24 hours ago: verifiers fetch it when they see its id.
keys tokens compromise KID
    Retires a key at once. Everything that it signed becomes invalid.
keys sealing list
    Lists the sealing keys by id, with their status and the number of values under each.
keys sealing rotate
    Replaces SIGNET_SEALING_KEY by SIGNET_SEALING_KEY_NEXT and seals every row again. If interrupted, run it again: it
    continues.
keys sealing finish
    Retires the previous key once no server uses it: it neither seals nor opens afterwards. Requires the tables' owner.
keys receipts add --key KEY [--name NAME]
    Adds the public receipt key of an external messaging backend to the next signed set: 32 bytes as base64url.
keys receipts list
keys receipts remove --key KEY
    Removes it from the next set: its signatures are refused from then on.
keys issuer rotate PURPOSE
    Creates a new key for ${issuerPurposes.join(", ")}. It signs once a signed set contains it.`

/**
 * @returns The text for the terminal.
 * @throws UsageError for invalid arguments.
 */
export async function keysCommand(args: readonly string[], io: KeysIo): Promise<string> {
  const [what, verb, ...rest] = args
  switch (`${what} ${verb}`) {
    case "root new":
      return newRoot(rest)
    case "root sign":
      return signRoot(rest, io)
    case "issuer request":
      return io.withIssuerKeys(async (keys) => writeRequest(rest, keys))
    case "issuer rotate": {
      const purpose = issuerPurposes.find((one) => one === rest[0])
      if (purpose === undefined || rest.length > 1) throw new UsageError(keysUsage)
      await io.withIssuerKeys((keys) => keys.rotate(purpose))
      return `Created a new ${purpose} key. It signs after you request, sign and install a key set.`
    }
    case "receipts add":
    case "receipts list":
    case "receipts remove":
      return io.withIssuerKeys((keys) => receiptsCommand(verb ?? "", rest, { ...keys, nowMs: io.nowMs }))
    default:
      throw new UsageError(keysUsage)
  }
}

function newRoot(args: readonly string[]): string {
  const { out } = optionsOf(args, ["out"])
  const seed = randomBytes(32)
  const rootKey = text(rootPublicKey(seed))
  // Never overwrites a file: a lost root key cannot be restored.
  writeFileSync(out, `${JSON.stringify({ rootKey, seed: text(seed) }, null, 2)}\n`, { flag: "wx", mode: 0o600 })
  return `Clients pin ${rootKey}`
}

async function signRoot(args: readonly string[], { nowMs }: KeysIo): Promise<string> {
  const { root, keys: request, out, days = "365" } = optionsOf(args, ["root", "keys", "out"], ["days"])
  if (!/^[1-9]\d{0,3}$/.test(days)) throw new UsageError(keysUsage)
  const seed = bytesIn(readJson(root), "seed")
  if (seed.length !== 32) throw new Error(`${root} has no root key`)
  const { issuer, keys } = parseRequest(readJson(request))
  const version = BigInt(Math.floor(nowMs / 1_000))
  const signed = await signKeySet({ seed, issuer, keys, version, nowMs, days: Number(days) })
  writeFileSync(out, formatKeySet(signed))
  return `Signed ${keys.length} keys of ${issuer} as version ${version}, for ${days} days. Sign the next set before it expires.`
}

function writeRequest(args: readonly string[], { issuer, publicKeys }: OpenIssuerKeys): string {
  const { out } = optionsOf(args, ["out"])
  const keys = publicKeys().map(({ publicKey, createdAtMs, ...key }) => ({
    ...key,
    publicKey: text(publicKey),
    createdAt: new Date(createdAtMs).toISOString(),
  }))
  writeFileSync(out, `${JSON.stringify({ issuer, keys }, null, 2)}\n`)
  return `Wrote ${keys.length} public keys of ${issuer}. Compare them on the machine that signs them.`
}

function parseRequest(json: unknown): { issuer: string; keys: readonly IssuerPublicKey[] } {
  const issuer = memberOf(json, "issuer")
  const keys = memberOf(json, "keys")
  if (typeof issuer !== "string" || !Array.isArray(keys)) throw new Error("that is no request for a key set")
  return { issuer, keys: keys.map(parsePublicKey) }
}

function parsePublicKey(json: unknown): IssuerPublicKey {
  const purpose = issuerPurposes.find((one) => one === memberOf(json, "purpose"))
  const generation = Number(memberOf(json, "generation"))
  const createdAtMs = Date.parse(String(memberOf(json, "createdAt")))
  const publicKey = bytesIn(json, "publicKey")
  const isKey = publicKey.length === 32 && Number.isInteger(generation) && Number.isFinite(createdAtMs)
  if (purpose === undefined || !isKey) throw new Error("a key of the request is invalid")
  return { purpose, generation, publicKey, createdAtMs }
}

/** @throws UsageError for a missing or unknown option, or one without a value. */
function optionsOf<R extends string, O extends string = never>(
  args: readonly string[],
  required: readonly R[],
  optional: readonly O[] = [],
): Record<R, string> & Partial<Record<O, string>> {
  const options = Object.fromEntries([...required, ...optional].map((name) => [name, { type: "string" } as const]))
  try {
    const { values } = parseArgs({ args: [...args], options, strict: true })
    if (required.some((name) => !values[name])) throw new UsageError(keysUsage)
    return values as Record<R, string> & Partial<Record<O, string>>
  } catch (error) {
    throw error instanceof UsageError ? error : new UsageError(keysUsage)
  }
}

const readJson = (file: string): unknown => JSON.parse(readFileSync(file, "utf8"))
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64url")

const memberOf = (json: unknown, name: string): unknown =>
  typeof json === "object" && json !== null && name in json ? (json as Record<string, unknown>)[name] : undefined

const bytesIn = (json: unknown, name: string): Uint8Array =>
  new Uint8Array(Buffer.from(String(memberOf(json, name) ?? ""), "base64url"))
