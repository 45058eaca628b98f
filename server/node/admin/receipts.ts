// `npm run admin -- keys receipts …`: the receipt keys of external messaging backends, for the next root-signed key
// set.
import { parseArgs } from "node:util"
import { equalBytes } from "@signet/canonical/bytes"
import { isPublicKey } from "@signet/canonical/ed25519"
import { maxReceiptKeys, type ReceiptKeyStore } from "@signet/kernel/keys/issuer-keys"
import type { IssuerPublicKey } from "../../keys/root-key.ts"
import { UsageError } from "./command.ts"

interface Receipts {
  readonly receipts: ReceiptKeyStore
  publicKeys(): readonly IssuerPublicKey[]
  readonly nowMs: number
}

const usage = "keys receipts add --key KEY [--name NAME], keys receipts list, keys receipts remove --key KEY"
const next = "It is valid after you request, sign and install a key set."

/** @throws UsageError for invalid arguments. */
export async function receiptsCommand(verb: string, args: readonly string[], of: Receipts): Promise<string> {
  const { key, name = "messaging backend" } = optionsOf(args)
  if (verb === "list") {
    if (args.length > 0) throw new UsageError(usage)
    const lines = (await of.receipts.list()).map(
      (one) => `${text(one.publicKey)} ${new Date(one.createdAtMs).toISOString()} ${one.name}`,
    )
    return lines.length === 0 ? "No receipt key of another backend is registered." : lines.join("\n")
  }
  const publicKey = keyOf(key)
  if (verb === "remove") {
    if (!(await of.receipts.remove(publicKey))) throw new Error("No such receipt key is registered.")
    return `Removed. ${next}`
  }
  if (name.length > 100 || /\p{Cc}/u.test(name)) throw new UsageError(usage)
  await add(of, publicKey, name)
  return `Added. ${next}`
}

async function add({ receipts, publicKeys, nowMs }: Receipts, publicKey: Uint8Array, name: string): Promise<void> {
  // A repeated key makes a key set malformed.
  const known = publicKeys().find((one) => equalBytes(one.publicKey, publicKey))
  if (known !== undefined && known.generation > 0) throw new Error("The key is one of this installation's own keys.")
  if (known === undefined && (await receipts.list()).length >= maxReceiptKeys) {
    throw new Error(`${maxReceiptKeys} receipt keys are registered (the limit): remove an unused one.`)
  }
  await receipts.add({ publicKey, name, createdAtMs: nowMs })
}

function optionsOf(args: readonly string[]): { key?: string; name?: string } {
  try {
    const options = { key: { type: "string" }, name: { type: "string" } } as const
    return parseArgs({ args: [...args], options, strict: true }).values
  } catch {
    throw new UsageError(usage)
  }
}

function keyOf(encoded: string | undefined): Uint8Array {
  const key = new Uint8Array(Buffer.from(encoded ?? "", "base64url"))
  if (key.length !== 32 || !isPublicKey(key)) throw new UsageError(`--key must be an Ed25519 public key. ${usage}`)
  return key
}

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64url")
