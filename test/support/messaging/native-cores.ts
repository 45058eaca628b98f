// Members whose client is the core in WebAssembly, each with its own folder, store and secret box.
import { mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import {
  type Core,
  type CoreClient,
  clientOf,
  type NodeCoreOptions,
  nodePlatform,
  openNodeCore,
} from "@signet/client-native"
import { openCore, type Platform } from "@signet/client-native/wasm"
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

export interface Changes extends Partial<NodeCoreOptions> {
  /** Watches or disturbs what the core has of its platform. */
  readonly around?: (platform: Platform) => Platform
  /** Gets every reply and failure, in base64. */
  readonly replies?: string[]
}

export interface NativeCores {
  readonly built: BuiltCore
  keep(): Kept
  /** Starts a core, without a sign-in. */
  start(kept?: Kept, change?: Changes): Promise<CoreMember>
  /** A new user with one device that others can add. */
  newcomer(subject: string, change?: Changes): Promise<CoreMember>
  close(): Promise<void>
}

export async function nativeCoresOn(server: Deployment): Promise<NativeCores> {
  const built = await buildCore()
  const folder = mkdtempSync(join(fastTmpdir(), "signet-native-"))
  const opened: Core[] = []
  let count = 0

  const keep = (): Kept => ({ folder: join(folder, String(++count)), store: openMemoryStore(), box: testBox() })

  const module = new WebAssembly.Module(built.wasm)

  async function openAround(options: NodeCoreOptions, around: (platform: Platform) => Platform): Promise<Core> {
    const { platform, info, identity, close } = nodePlatform(options)
    const { bytecode, onEvent = () => undefined } = options
    const core = await openCore({ module, bytecode, info, identity, onEvent, platform: around(platform) })
    return {
      ...core,
      async close() {
        await core.close()
        close()
      },
    }
  }

  async function start(kept = keep(), { around, replies, ...change }: Changes = {}): Promise<CoreMember> {
    const events: ClientEvent[] = []
    const lines: string[] = []
    const options: NodeCoreOptions = {
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
    }
    const core = await (around === undefined ? openNodeCore(options) : openAround(options, around))
    opened.push(core)
    const client = clientOf(replies === undefined ? core : recorded(core, replies))
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
    async newcomer(subject, change) {
      const member = await start(keep(), change)
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

const recorded = (core: Core, replies: string[]): Pick<Core, "call"> => ({
  async call(method, request) {
    try {
      const answer = await core.call(method, request)
      replies.push(Buffer.from(answer).toString("base64"))
      return answer
    } catch (error) {
      replies.push(String(Object(error).message))
      throw error
    }
  },
})
