// Messengers on a test server: real clients, each with its own store by default.
import { randomBytes } from "node:crypto"
import type { Transport } from "@connectrpc/connect"
import { createMessengerWith } from "../../../clients/core/messaging/create-messenger.ts"
import type { Messenger, MessengerOptions } from "../../../clients/core/messaging/messenger.ts"
import { type Engine, uncheckedEngine } from "../../../clients/core/messaging/mls.ts"
import type { Primitives } from "../../../clients/core/messaging/open.ts"
import { openRemoteMessenger } from "../../../clients/core/messaging/remote/remote-messenger.ts"
import type { MessagingSession } from "../../../clients/core/messaging/session.ts"
import { openMemoryStore } from "../../../clients/core/messaging/store/memory.ts"
import type { MessagingStore } from "../../../clients/core/messaging/store/store.ts"
import { testBox } from "../../../clients/core/messaging/testing/test-box.ts"
import type { SecretBox } from "../../../clients/core/secret-box.ts"
import { suite, verify } from "./device-parts.ts"
import { files, inProcessCore } from "./in-process-core.ts"
import type { MessagingServer } from "./test-server.ts"
import type { SignedIn } from "./world.ts"

export interface OpenedMessenger {
  readonly person: SignedIn
  readonly store: MessagingStore
  readonly box: SecretBox
  readonly messenger: Messenger
}

interface MessengerSetup {
  readonly store?: MessagingStore
  readonly box?: SecretBox
  readonly transport?: Transport
  readonly clock?: MessengerOptions["clock"]
}

export interface Messengers {
  /** The transport of their calls. */
  readonly transport: Transport
  /** The options to open a messenger for a session. */
  optionsFor(
    person: SignedIn,
    setup: MessengerSetup & Pick<OpenedMessenger, "store" | "box">,
  ): [MessengerOptions, Primitives]
  /** Opens a messenger for a session: a new device, or the one of the given store. */
  open(person: SignedIn, setup?: MessengerSetup): Promise<OpenedMessenger>
  /** A new user with one device that others can add. */
  newcomer(name: string, setup?: MessengerSetup): Promise<OpenedMessenger>
  close(): Promise<void>
}

export const systemClock: MessengerOptions["clock"] = {
  nowMs: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms)
    return () => clearTimeout(timer)
  },
}

/** Without the engine's self-test, which has its own test. */
const unproven = async (options: Parameters<typeof uncheckedEngine>[0]): Promise<Engine> => uncheckedEngine(options)

/** SIGNET_CORE=remote runs the stories over the client's service, each messenger behind its messages. */
const opening = process.env.SIGNET_CORE === "remote" ? createRemotely : createMessengerWith

/** Opens a messenger behind the messages of the client's service, in this process. */
export async function createRemotely(options: MessengerOptions, primitives: Primitives): Promise<Messenger> {
  const { messaging, whenKeysChange = "warn" } = options
  const core = inProcessCore(({ baseUrl, issuerRootKeys, refuseChangedKeys }) => {
    const asked = { baseUrl, issuerRootKeys }
    return createMessengerWith(
      { ...options, messaging: asked, whenKeysChange: refuseChangedKeys ? "refuse" : "warn" },
      primitives,
    )
  })
  return openRemoteMessenger(core, { messaging, files, whenKeysChange })
}

/** The parts of a deployment that messengers need. */
export type Serving = Pick<MessagingServer, "app" | "issuerRootKey" | "messagingUrl" | "person" | "transport">

/** @param options.keyPackages Number of key packages per device. Generating them is most of the cost of a new device. */
export function messengersOn(server: Serving, { keyPackages = 12 }: { keyPackages?: number } = {}): Messengers {
  const opened: Messenger[] = []
  const optionsFor: Messengers["optionsFor"] = (person, setup) => {
    const { store, box, transport = server.transport, clock = systemClock } = setup
    const session: MessagingSession = {
      appId: server.app.id,
      tenantId: undefined,
      userId: person.userId,
      accessToken: async () => person.accessToken,
      renewToken: () => person.refresh(),
    }
    const options: MessengerOptions = {
      messaging: { baseUrl: server.messagingUrl, issuerRootKeys: [server.issuerRootKey] },
      session,
      transport,
      store,
      secretBox: box,
      clock,
      random: { bytes: (length) => new Uint8Array(randomBytes(length)) },
      platform: "node-test",
    }
    return [options, { suite, verify, openEngine: unproven, keyPackageTarget: keyPackages }]
  }
  const open: Messengers["open"] = async (person, setup = {}) => {
    const { store = openMemoryStore(), box = testBox() } = setup
    const messenger = await opening(...optionsFor(person, { ...setup, store, box }))
    opened.push(messenger)
    return { person, store, box, messenger }
  }
  return {
    transport: server.transport,
    optionsFor,
    open,
    async newcomer(name, setup) {
      const newcomer = await open(await server.person(name), setup)
      await newcomer.messenger.sync()
      return newcomer
    },
    async close() {
      for (const messenger of opened) await messenger.close()
    },
  }
}

/** The texts of a conversation's timeline, in order. */
export async function textsIn(
  { messenger }: Pick<OpenedMessenger, "messenger">,
  conversationId: string,
): Promise<string[]> {
  return (await messenger.timeline(conversationId)).flatMap((entry) =>
    entry.is === "message" ? [new TextDecoder().decode(entry.plaintext)] : [],
  )
}
