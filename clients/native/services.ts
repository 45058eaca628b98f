// The calls of the native core, for the generators of other languages' methods.
import { readFileSync } from "node:fs"
import { join } from "node:path"

const contracts = join(import.meta.dirname, "../../proto/signet/client/v1")

interface CoreMethod {
  readonly name: string
  /** Its comment in the contract, on one line. */
  readonly comment: string
  /** True for a request without fields. */
  readonly isEmpty: boolean
}

interface CoreService {
  /** Such as `MessengerService`. */
  readonly name: string
  readonly methods: readonly CoreMethod[]
}

/** @param proto Name of a file of signet/client/v1, without its suffix. */
export function readCoreService(proto: string): CoreService {
  const contract = readFileSync(join(contracts, `${proto}.proto`), "utf8")
  const methods = [...contract.matchAll(/((?: {2}\/\/ .*\n)+) {2}rpc (\w+)\(/g)].map(([, comment = "", name = ""]) => ({
    name,
    comment: comment
      .replaceAll(/ *\/\/ /g, "")
      .trim()
      .replaceAll("\n", " "),
    isEmpty: contract.includes(`\nmessage ${name}Request {}\n`),
  }))
  const name = proto.replaceAll(/(^|_)([a-z])/g, (_, _line, letter: string) => letter.toUpperCase())
  return { name, methods }
}

/** Begins with a small letter, as methods do. */
export const lowerFirst = (name: string): string => `${name.charAt(0).toLowerCase()}${name.slice(1)}`
