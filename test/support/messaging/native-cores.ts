// Members whose client is the core in WebAssembly, each with its own folder, store and secret box.
import { mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import { type Core, type CoreClient, clientOf, type NodeCoreOptions, openNodeCore } from "@signet/client-native"
import type { ClientEvent } from "@signet/proto/client/v1/messenger_service"
import { openMemoryStore } from "../../../clients/core/messaging/store/memory.ts"
import type { MessagingStore } from "../../../clients/core/messaging/store/store.ts"
import { testBox } from "../../../clients/core/messaging/testing/test-box.ts"
import type { SecretBox } from "../../../clients/core/secret-box.ts"
import { type BuiltCore, buildCore } from "../../../clients/native/build.ts"
import type { Deployment } from "../edge-server.ts"
import { fastTmpdir } from "../fast-tmpdir.ts"

/** What outlives a core: another one continues from it. */
export interface Kept {
  readonly folder: string
  readonly store: MessagingStore
  readonly box: SecretBox
}

export interface CoreMember extends CoreClient {
  readonly core: Core
  readonly kept: Kept
  readonly events: ClientEvent[]
  /** Lines of the core's log. */
  readonly lines: string[]
  userId: string
  /** Signs in with the test provider. */
  signIn(subject: string): Promise<void>
  /** Opens the messenger. */
  open(): Promise<string>
}

export interface NativeCores {
  readonly built: BuiltCore
  keep(): Kept
  /** Starts a core, without a sign-in. */
  start(kept?: Kept, change?: Partial<NodeCoreOptions>): Promise<CoreMember>
  /** A new user with one device that others can add. */
  newcomer(subject: string): Promise<CoreMember>
  close(): Promise<void>
}

export async function nativeCoresOn(server: Deployment): Promise<NativeCores> {
  const built = await buildCore()
  const folder = mkdtempSync(join(fastTmpdir(), "signet-native-"))
  const opened: Core[] = []
  let count = 0

  const keep = (): Kept => ({ folder: join(folder, String(++count)), store: openMemoryStore(), box: testBox() })

  async function start(kept = keep(), change: Partial<NodeCoreOptions> = {}): Promise<CoreMember> {
    const events: ClientEvent[] = []
    const lines: string[] = []
    const core = await openNodeCore({
      ...built,
      ...kept,
      identity: {
        appId: server.app.id,
        authBaseUrl: server.url,
        providers: ["IDP_A"],
        audiences: [server.audience],
      },
      onEvent: (event) => events.push(event),
      log: (level, text) => lines.push(`${level} ${text}`),
      ...change,
    })
    opened.push(core)
    const client = clientOf(core)
    const member: CoreMember = {
      ...client,
      ...{ core, kept, events, lines, userId: "" },
      async signIn(subject) {
        const { credential, nonce = "" } = await server.login(subject)
        const idToken = credential?.case === "idToken" ? credential.value : ""
        const { user } = await client.identity.login({ provider: "IDP_A", nonce, credential: { idToken } })
        member.userId = user?.principalId ?? ""
      },
      async open() {
        const { audience, messagingUrl: baseUrl, issuerRootKey } = server
        const request = { baseUrl, audience, issuerRootKeys: [new Uint8Array(issuerRootKey)], keyPackages: 8 }
        return (await client.messenger.open(request)).deviceId
      },
    }
    return member
  }

  return {
    built,
    keep,
    start,
    async newcomer(subject) {
      const member = await start()
      await member.signIn(subject)
      await member.open()
      await member.messenger.sync()
      return member
    },
    async close() {
      for (const core of opened) await core.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The texts of a conversation's timeline, in order. */
export async function coreTexts({ messenger }: CoreClient, conversationId: string): Promise<string[]> {
  const { entries } = await messenger.listTimeline({ conversationId })
  return entries.flatMap(({ entry }) =>
    entry.case === "message" ? [new TextDecoder().decode(entry.value.plaintext)] : [],
  )
}
