// A bot at the edge: it answers each message that its user gets. One Durable Object is one device of one user.

import { DurableObject } from "cloudflare:workers"
import { createHash, timingSafeEqual } from "node:crypto"
import { type CoreClient, clientOf, openWorkersCore } from "@signet/client-native/workers"
// Of `npm run native:core`. A Worker gets them as modules: it may not compile WebAssembly from bytes.
import bytecode from "./core.bc"
import engine from "./quickjs.wasm"

interface Env {
  readonly BOT: DurableObjectNamespace<Bot>
  readonly APP_ID: string
  readonly AUTH_URL: string
  readonly MESSAGING_URL: string
  readonly AUDIENCE: string
  /** The issuer's root key, in base64. */
  readonly ROOT_KEY: string
  /** Secrets: 32 random bytes in base64, and what the operator's requests carry. */
  readonly SECRET_KEY: string
  readonly OPERATOR_TOKEN: string
}

const everyMs = 5_000
const bytesFrom = (base64: string) => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))

export class Bot extends DurableObject<Env> {
  #client: Promise<CoreClient> | undefined
  #device: Promise<string> | undefined
  readonly #received: { conversationId: string; text: string }[] = []

  /** Signs the bot in. @returns Its user's id. */
  async signIn(nonce: string, idToken: string): Promise<string> {
    const { identity } = await this.#opened()
    const { user } = await identity.login({ provider: "IDP_A", nonce, credential: { idToken } })
    await this.wake()
    await this.ctx.storage.setAlarm(Date.now() + everyMs)
    return user?.principalId ?? ""
  }

  /** Reads what has arrived, and answers. @returns The device's id. */
  async wake(): Promise<string> {
    const { messenger } = await this.#opened()
    // An alarm and a request may come at once: a messenger is opened once.
    this.#device ??= this.#openDevice().catch((error: unknown) => {
      this.#device = undefined
      throw error
    })
    const deviceId = await this.#device
    await messenger.sync()
    for (let next = this.#received.shift(); next !== undefined; next = this.#received.shift()) {
      const { conversationId, text } = next
      await messenger.send({ conversationId, plaintext: new TextEncoder().encode(`You wrote: ${text}`) })
    }
    return deviceId
  }

  async #openDevice(): Promise<string> {
    const { messenger } = await this.#opened()
    const { AUDIENCE: audience, MESSAGING_URL: baseUrl, ROOT_KEY } = this.env
    return (await messenger.open({ baseUrl, audience, issuerRootKeys: [bytesFrom(ROOT_KEY)] })).deviceId
  }

  override async alarm(): Promise<void> {
    await this.wake()
    await this.ctx.storage.setAlarm(Date.now() + everyMs)
  }

  /** Once per life of the object. The next life continues from the stored rows. */
  #opened(): Promise<CoreClient> {
    const { APP_ID: appId, AUTH_URL: authBaseUrl, AUDIENCE, SECRET_KEY } = this.env
    this.#client ??= openWorkersCore({
      ...{ module: engine, bytecode, storage: this.ctx.storage, secretKey: bytesFrom(SECRET_KEY) },
      identity: { appId, authBaseUrl, providers: ["IDP_A"], audiences: [AUDIENCE] },
      onEvent: ({ event }) => {
        if (event.case !== "entry") return
        const { conversationId, entry } = event.value
        // An own message has an outbox id.
        if (entry?.entry.case !== "message" || entry.entry.value.outboxId !== "") return
        this.#received.push({ conversationId, text: new TextDecoder().decode(entry.entry.value.plaintext) })
      },
    }).then(clientOf)
    return this.#client
  }
}

/** The operator's requests: POST /sign-in with the provider's ID token, and POST /wake. */
export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const token = request.headers.get("authorization") ?? ""
    if (!timingSafeEqual(hashOf(token), hashOf(`Bearer ${env.OPERATOR_TOKEN}`)))
      return new Response(null, { status: 401 })
    const bot = env.BOT.getByName("bot")
    switch (`${request.method} ${new URL(request.url).pathname}`) {
      case "POST /sign-in": {
        const { nonce, idToken } = (await request.json()) as { nonce: string; idToken: string }
        return Response.json({ userId: await bot.signIn(nonce, idToken) })
      }
      case "POST /wake":
        return Response.json({ deviceId: await bot.wake() })
      default:
        return new Response(null, { status: 404 })
    }
  },
}

const hashOf = (text: string) => createHash("sha256").update(text).digest()
