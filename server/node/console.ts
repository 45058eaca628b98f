// Serves the console: pages at /console and /console/chat, hashed assets, and the settings that the pages read.
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { extname } from "node:path"
import { Refused } from "@signet/kernel/errors"
import type { FastifyInstance, FastifyReply } from "fastify"

/** Public: the console reads them before anybody has signed in. */
export interface ConsoleSettings {
  /** The app that people sign in to. */
  readonly appId: string
  /** Offers the development profile's way in. */
  readonly isDevelopment: boolean
  /** The issuer of tokens and statements. The page can have another origin, such as localhost. */
  readonly issuer: string
  readonly authAudience: string
  readonly messagingAudience: string
  /** The root key that the chat pins, base64url. Only the development profile sends it: an app has its own built in. */
  readonly issuerRootKey: string | null
  /** The origin of a second messaging backend, between which and this server the chat can switch. */
  readonly secondBackend: string | null
}

/** File contents by name: `index.html`, `chat.html`, and hashed scripts and styles. */
type ConsoleFiles = ReadonlyMap<string, Uint8Array>

/** The published package has the built files. The repository builds them at the first request. */
const built = new URL("../../clients/console/built/", import.meta.url)
const builder = new URL("../../scripts/console/build.ts", import.meta.url)

async function loadFiles(): Promise<ConsoleFiles> {
  if (!existsSync(built)) {
    const { buildConsole } = (await import(builder.href)) as { buildConsole: () => Promise<ConsoleFiles> }
    return buildConsole()
  }
  return new Map(readdirSync(built).map((name) => [name, readFileSync(new URL(name, built))]))
}

/**
 * @param scripts What `script-src` allows besides this origin.
 * @param calls What `connect-src` allows besides this origin.
 */
const policyWith = (scripts: string, calls = "") =>
  [
    "default-src 'none'",
    `script-src 'self'${scripts}`,
    "style-src 'self'",
    "img-src 'self' data: blob:",
    `connect-src 'self'${calls}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ")

const pagePolicy = policyWith("")
/** The chat's core is WebAssembly, in a Worker: a Worker has the policy of its own script. */
const chatPolicyOf = ({ secondBackend }: ConsoleSettings) =>
  policyWith(" 'wasm-unsafe-eval'", secondBackend === null ? "" : ` ${secondBackend}`)

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".wasm": "application/wasm",
}

/** Adds the console's routes. Every page of the console is one document, which reads the path itself. */
export async function addConsole(app: FastifyInstance, settings: ConsoleSettings): Promise<void> {
  let files: Promise<ConsoleFiles> | undefined
  const load = () => {
    files ??= loadFiles().catch((error: unknown) => {
      files = undefined
      throw error
    })
    return files
  }
  const send = async (reply: FastifyReply, name: string, cache: string): Promise<FastifyReply> => {
    const bytes = (await load()).get(name)
    if (bytes === undefined) throw new Refused("METHOD_UNKNOWN")
    return reply
      .header("content-type", types[extname(name)] ?? "application/octet-stream")
      .header("cache-control", cache)
      .send(bytes)
  }
  const chatPolicy = chatPolicyOf(settings)
  await app.register(async (pages) => {
    pages.addHook("onSend", async ({ url }, reply) => {
      const isChat = /^\/console\/(chat([/?]|$)|assets\/worker-)/.test(url)
      reply
        .header("content-security-policy", isChat ? chatPolicy : pagePolicy)
        // The chat reads codes with the camera, after the person has allowed it.
        .header("permissions-policy", `camera=(${isChat ? "self" : ""}), microphone=(), geolocation=()`)
        .header("x-content-type-options", "nosniff")
        .header("referrer-policy", "no-referrer")
        .header("cross-origin-opener-policy", "same-origin")
        .header("cross-origin-resource-policy", "same-origin")
    })
    pages.get("/console/settings.json", (_, reply) => reply.header("cache-control", "no-store").send(settings))
    pages.get<{ Params: { name: string } }>("/console/assets/:name", ({ params }, reply) =>
      send(reply, params.name, "public, max-age=31536000, immutable"),
    )
    // The scope of the chat's service worker is the chat's document, and no other page.
    pages.get("/console/chat/offline.js", (_, reply) =>
      send(reply.header("service-worker-allowed", "/console/chat"), "offline.js", "no-cache"),
    )
    for (const path of ["/console/chat", "/console/chat/*"]) {
      pages.get(path, (_, reply) => send(reply, "chat.html", "no-cache"))
    }
    for (const path of ["/console", "/console/*"]) {
      pages.get(path, (_, reply) => send(reply, "index.html", "no-cache"))
    }
  })
}
