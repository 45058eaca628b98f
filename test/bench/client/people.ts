// Messengers as a Node program has them: a store in SQLite, a box in a file, the engine proven when it is opened.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { createGrpcTransport } from "@connectrpc/connect-node"
import { createFileLock, createFileStorage, createPassphraseBox } from "@signet/client-node"
import { createMessenger, type Messenger, openSqliteStore } from "@signet/client-node/messaging"
import { idOf } from "@signet/kernel/ids"
import { rootPublicKey } from "../../../server/keys/root-key.ts"
import { placeOf } from "../../support/messaging/device-parts.ts"
import type { SignedIn, World } from "../../support/messaging/world.ts"

export interface Person {
  readonly baseUrl: string
  readonly rootKey: Uint8Array
  readonly session: SignedIn
  readonly file: string
  /** Opens the messenger: the same device each time. */
  open(): Promise<Messenger>
  /** The same user with another device, which has an empty store. */
  withNewDevice(): Promise<Person>
}

interface Place {
  readonly rootKey: Uint8Array
  readonly folder: string
}

/** @param folder Of the server in the development profile, where its root is. */
export function issuerRoot(folder: string): Uint8Array {
  const { seed } = JSON.parse(readFileSync(join(folder, "development-root.json"), "utf8"))
  return rootPublicKey(new Uint8Array(Buffer.from(String(seed), "base64url")))
}

export async function newPerson({ baseUrl, newUser }: World, place: Place): Promise<Person> {
  const session = await newUser()
  return personOf(baseUrl, session, join(place.folder, session.userId), place)
}

export function personOf(baseUrl: string, session: SignedIn, file: string, place: Place): Person {
  const transport = createGrpcTransport({ baseUrl })
  const box = createPassphraseBox({
    storage: createFileStorage(`${file}-box`),
    lock: createFileLock(`${file}-lock`),
    passphrase: async () => session.userId,
    parameters: { memoryKiB: 19_456, passes: 2 },
  })
  return {
    ...{ baseUrl, rootKey: place.rootKey, session, file },
    open: () =>
      createMessenger({
        messaging: { baseUrl, issuerRootKeys: [place.rootKey] },
        session: {
          appId: idOf("app", placeOf(session.accessToken).appId),
          tenantId: undefined,
          userId: session.userId,
          accessToken: async () => session.accessToken,
          renewToken: () => session.refresh(),
        },
        transport,
        store: openSqliteStore(file),
        secretBox: box,
      }),
    withNewDevice: async () => personOf(baseUrl, await session.again(), `${file}-new`, place),
  }
}
