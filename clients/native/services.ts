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

export interface CoreFacade {
  /** Of its class, such as `PushEndpoint`. */
  readonly name: string
  readonly proto: string
  /** The subject of its calls, for documentation comments. */
  readonly summary: readonly string[]
}

/** A class for each service, in languages with such classes. */
export const coreFacades: readonly CoreFacade[] = [
  {
    name: "Identity",
    proto: "identity_service",
    summary: ["The calls that sign in and out. A token never crosses this interface."],
  },
  {
    name: "Messenger",
    proto: "messenger_service",
    summary: [
      "The calls of the messenger. Keys, group states and tokens never cross this interface. Each request is stored before it",
      "is sent: after QUEUED or CONFLICT_EXHAUSTED a later Sync completes it.",
    ],
  },
  {
    name: "Backup",
    proto: "backup_service",
    summary: [
      "The calls of encrypted backups. They need an open messenger. The recovery key is the only key that this interface",
      "returns: show it to the user once, and do not store it.",
    ],
  },
  {
    name: "History",
    proto: "history_service",
    summary: ["The calls that move the history to a new device of the user. They need an open messenger."],
  },
  {
    name: "PushEndpoint",
    proto: "push_endpoint_service",
    summary: ["The calls that set where the service wakes up this device. They need an open messenger."],
  },
  {
    name: "Peek",
    proto: "peek_service",
    summary: [
      "Previews for a notification, read ahead of what the app has processed. An open messenger is not needed.",
    ],
  },
]

/** Begins with a small letter, as methods do. */
export const lowerFirst = (name: string): string => `${name.charAt(0).toLowerCase()}${name.slice(1)}`
