// A conversation of two people, end-to-end encrypted: what is kept is in a folder, and is gone on with at the next start.
import { join } from "node:path"
import { configure, failureOf, type ProviderSignIn, type SecretBox } from "@signet/client-node"
import {
  createMessenger,
  isMessagingError,
  type MessengerEvent,
  messagingSession,
  openSqliteStore,
} from "@signet/client-node/messaging"

export interface ChatOptions {
  readonly appId: string
  readonly authBaseUrl: string
  /** Whom the messaging service's keys must come from: in the app itself, and never from a server. */
  readonly rootKey: Uint8Array
  readonly folder: string
  readonly box: SecretBox
  /** How the person signs in, the first time. */
  readonly signIn: () => Promise<ProviderSignIn>
  readonly show: (line: string) => void
}

export async function openChat({ appId, authBaseUrl, rootKey, folder, box, signIn, show }: ChatOptions) {
  const signet = configure({ appId, authBaseUrl, providers: ["IDP_A"], folder, box })
  await signet.session.ready
  if (signet.session.current.is !== "signedIn") await signet.login(await signIn())
  const session = await messagingSession(signet.session, { appId })
  const messenger = await createMessenger({
    messaging: { baseUrl: authBaseUrl, issuerRootKeys: [rootKey] },
    session,
    store: openSqliteStore(join(folder, `${session.userId}.db`)),
    secretBox: box,
  })
  messenger.subscribe((event) => show(lineOf(event)))
  // From here on others can write to this device. Without a network the same is done as soon as there is one.
  await messenger.sync().catch((error: unknown) => show(`offline: ${error}`))
  const ending = new AbortController()
  const running = messenger.run(ending.signal).catch((error: unknown) => show(`ended: ${error}`))
  return {
    userId: session.userId,
    async say(peerUserId: string, text: string): Promise<void> {
      try {
        // The one with this person that there is, or a new one. It takes messages at once, also where nobody reads yet.
        const { id } = await messenger.createDirectConversation(peerUserId)
        const { state } = await messenger.send(id, new TextEncoder().encode(text))
        if (state === "queued") show("waits for the other one's device")
      } catch (error) {
        // Stored, and sent as soon as it can be: asking again would send it twice.
        const isKept = isMessagingError(error, "QUEUED", "CONFLICT_EXHAUSTED")
        show(isKept ? "waits for the network" : `not sent: ${failureOf(error)?.reason ?? error}`)
      }
    },
    /** Sixty digits for the two of them to compare, over another way than this one. */
    safetyNumber: async (peerUserId: string) => (await messenger.verification.of(peerUserId)).safetyNumber,
    async close(): Promise<void> {
      ending.abort()
      await running
      await messenger.close()
      signet.close()
    },
  }
}

function lineOf(event: MessengerEvent): string {
  switch (event.is) {
    case "entry":
      if (event.entry.is === "reset") return "the conversation goes on in a new group: compare the safety number"
      if (event.entry.is === "newKeys") return `new keys: ${event.entry.devices.map(({ userId }) => userId).join(", ")}`
      if (event.entry.is === "missing") return `${event.entry.count} messages of ${event.entry.from.userId} are missing`
      if (event.entry.is !== "message") return `(${event.entry.is})`
      return `${event.entry.from.userId}: ${new TextDecoder().decode(event.entry.plaintext)}`
    case "status":
      return `the conversation is ${event.status}`
    case "keysChanged":
      return `${event.userId} has new keys: compare the safety number before you write on`
    case "blockedUsers":
      return `you block ${event.userIds.length} users`
    case "queued":
      return "stored, and sent later"
    case "unsent":
      return `never sent: ${failureOf(event.error)?.reason ?? event.error}`
    case "failed":
      return `not done yet: ${event.error}`
    case "lagged":
      return "there is more in the timeline"
  }
}
