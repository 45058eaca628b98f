import type { DescService } from "@bufbuild/protobuf"
import type { Client } from "@connectrpc/connect"
import type { Messenger } from "../messenger.ts"
import { callsOf, type RemoteCore } from "./core.ts"
import { toMessengerError } from "./errors.ts"
import type { FileRegistry } from "./files.ts"

/** The core of an open remote messenger, for entries that a page loads separately. */
interface Remote {
  readonly core: RemoteCore
  readonly files: FileRegistry
}

const remotes = new WeakMap<Messenger, Remote>()

/** Remembers the core of a messenger. No property of the messenger leads there. */
export function rememberRemote(messenger: Messenger, remote: Remote): void {
  remotes.set(messenger, remote)
}

export const isRemote = (messenger: Messenger): boolean => remotes.has(messenger)

/** @throws TypeError for a messenger of this VM. */
export function remoteOf(messenger: Messenger): Remote {
  const remote = remotes.get(messenger)
  if (remote === undefined) throw new TypeError("the messenger has no remote core")
  return remote
}

/** The calls of a service of a messenger's core. */
export const serviceOf = <Service extends DescService>(messenger: Messenger, service: Service): Client<Service> =>
  callsOf(remoteOf(messenger).core, service, toMessengerError)
