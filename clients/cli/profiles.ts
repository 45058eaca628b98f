// The profiles: servers, and how to sign in to each. The file contains no secret.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"
import { CommandError, exitCodes, usage } from "./failure.ts"

export type Environment = Readonly<Record<string, string | undefined>>

/** The browser sign-in of an app's provider client. */
export interface BrowserClient {
  /** OpenID Connect issuer of the provider. */
  readonly issuer: string
  readonly clientId: string
  /** The client's registered loopback addresses; the first one with a free port is used. */
  readonly redirectUris: readonly string[]
}

export interface Profile {
  /** The auth service's URL, without a trailing slash. */
  readonly server: string
  /** The server's `iss`, if the server is reached at a loopback address: before DNS exists, or through a tunnel. */
  readonly serverIssuer?: string
  /** The app of the sign-in, `app_…`; undefined for a personal access token, which names its own. */
  readonly appId?: string
  /** The auth service's own audience. */
  readonly authAudience?: string
  readonly platform?: "WEB" | "ANDROID" | "IOS"
  readonly browser?: BrowserClient
  /** The default place of administrative commands. */
  readonly administers?: { readonly appId?: string | undefined; readonly tenantId?: string | undefined }
  /** The secret box. */
  readonly store?: "os" | "passphrase"
  /** The stored sign-in: a session's refresh token or a personal access token. */
  readonly signIn?: "session" | "pat"
}

export interface Profiles {
  readonly current: string
  readonly all: ReadonlyMap<string, Profile>
}

export const defaultServer = "http://127.0.0.1:8080"
export const namePattern = /^[a-z0-9][a-z0-9._-]{0,63}$/

/** The folder of the command's data, which only the user can access. */
export function homeOf(env: Environment, platform: string = process.platform): string {
  if (env.SIGNET_HOME) return env.SIGNET_HOME
  if (platform === "win32") return join(env.APPDATA ?? join(homedir(), "AppData", "Roaming"), "signet")
  return join(env.XDG_CONFIG_HOME || join(env.HOME || homedir(), ".config"), "signet")
}

/** @throws CommandError for an invalid file, which is not changed. */
export function readProfiles(home: string): Profiles {
  const file = join(home, "profiles.json")
  let text: string
  try {
    text = readFileSync(file, "utf8")
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT")
      return { current: "default", all: new Map() }
    throw error
  }
  try {
    return parse(JSON.parse(text))
  } catch (cause) {
    throw new CommandError("PROFILES_INVALID", exitCodes.usage, `${file} is not a file of profiles`, { cause })
  }
}

export function writeProfiles(home: string, { current, all }: Profiles): void {
  mkdirSync(home, { recursive: true, mode: 0o700 })
  const file = join(home, "profiles.json")
  const beside = `${file}.${process.pid}`
  writeFileSync(beside, `${JSON.stringify({ current, profiles: Object.fromEntries(all) }, null, 2)}\n`, { mode: 0o600 })
  renameSync(beside, file)
}

/** @throws CommandError for a URL with a path, and for http to another machine. */
export function parseServer(text: string): string {
  if (!URL.canParse(text)) throw usage(`${text} is not a server address`)
  const url = new URL(text)
  const isWeb = url.protocol === "https:" || url.protocol === "http:"
  if (
    !isWeb ||
    url.pathname !== "/" ||
    url.search !== "" ||
    url.hash !== "" ||
    url.username !== "" ||
    url.password !== ""
  ) {
    throw usage("a server address is like https://auth.example, without a path or a password")
  }
  if (url.protocol === "http:" && !isLoopbackHost(url.hostname)) {
    throw usage("the server's address must begin with https://, because tokens require TLS")
  }
  return url.origin
}

/**
 * @param server The called URL. Calls to loopback stay on this machine; at any other URL, TLS proves that the server is
 *   the issuer.
 * @throws CommandError
 */
export function parseServerIssuer(text: string, server: string): string {
  const issuer = parseServer(text)
  if (issuer === server || isLoopbackHost(new URL(server).hostname)) return issuer
  throw usage(
    "--server-issuer is only for a server at a loopback address: elsewhere the address is the issuer",
    "Reach it through a tunnel, as in ssh -L 8080:127.0.0.1:8080 HOST, with --server http://127.0.0.1:8080.",
  )
}

export const issuerOf = ({ server, serverIssuer }: Pick<Profile, "server" | "serverIssuer">): string =>
  serverIssuer ?? server

export const isLoopbackHost = (host: string): boolean =>
  host === "localhost" || host === "[::1]" || /^127(\.\d{1,3}){3}$/.test(host)

function parse(json: unknown): Profiles {
  const { current, profiles } = record(json)
  if (typeof current !== "string") throw new Error("no current profile")
  return { current, all: new Map(Object.entries(record(profiles)).map(([name, one]) => [name, parseProfile(one)])) }
}

function parseProfile(json: unknown): Profile {
  const { server, serverIssuer, appId, authAudience, platform, browser, administers, store, signIn } = record(json)
  return {
    server: parseServer(text(server)),
    serverIssuer: optional(serverIssuer, (value) => parseServerIssuer(text(value), parseServer(text(server)))),
    appId: optional(appId, text),
    authAudience: optional(authAudience, text),
    platform: optional(platform, (value) => oneOf(value, ["WEB", "ANDROID", "IOS"] as const)),
    browser: optional(browser, parseBrowser),
    administers: optional(administers, (value) => {
      const place = record(value)
      return { appId: optional(place.appId, text), tenantId: optional(place.tenantId, text) }
    }),
    store: optional(store, (value) => oneOf(value, ["os", "passphrase"] as const)),
    signIn: optional(signIn, (value) => oneOf(value, ["session", "pat"] as const)),
  }
}

const optional = <T>(json: unknown, parse: (value: unknown) => T): T | undefined =>
  json === undefined ? undefined : parse(json)

function parseBrowser(json: unknown): BrowserClient {
  const { issuer, clientId, redirectUris } = record(json)
  if (!Array.isArray(redirectUris)) throw new Error("no redirect addresses")
  return { issuer: text(issuer), clientId: text(clientId), redirectUris: redirectUris.map(text) }
}

function record(json: unknown): Readonly<Record<string, unknown>> {
  if (typeof json !== "object" || json === null || Array.isArray(json)) throw new Error("no object")
  return Object.fromEntries(Object.entries(json))
}

function text(json: unknown): string {
  if (typeof json !== "string") throw new Error("no text")
  return json
}

function oneOf<T extends string>(json: unknown, values: readonly T[]): T {
  const found = values.find((value) => value === json)
  if (found === undefined) throw new Error("an unknown value")
  return found
}
