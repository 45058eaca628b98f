// Every setting of the server: meaning, unit, default and reason. docs/reference/operations.md repeats the table, and a
// test compares them.
import { isIP } from "node:net"
import { availableParallelism } from "node:os"
import { parseId } from "@signet/kernel/ids"
import { defaultLimits, type Limits } from "@signet/kernel/limits/policy"
import { parseLimits } from "@signet/kernel/limits/settings"
import { maxCount } from "@signet/kernel/messaging/limits"
import { parseKey, parsePeppers } from "../keys/key-settings.ts"
import { type PushSettings, parsePushSettings } from "../pushes/push-settings.ts"
import { type BlobSettings, parseBlobSettings } from "./open-blobs.ts"

export type Environment = Readonly<Record<string, string | undefined>>

export interface Config {
  profile: "development" | "production"
  host: string
  port: number
  adminHost: string
  adminPort: number
  /** Processes behind the port. */
  workers: number
  databaseUrl: string | null
  /** For LISTEN behind a pooler; null uses databaseUrl. */
  databaseDirectUrl: string | null
  databaseNamesStatements: boolean
  dataFolder: string
  /** The `iss` of tokens and the base of every URL that the server publishes. Without a trailing slash. */
  issuer: string
  authAudience: string
  messagingAudience: string
  accessTokenSeconds: number
  /** Null in the development profile, where they are generated once and stored in the data folder. */
  secrets: {
    sealingKey: Uint8Array
    /** The second sealing key during a rotation; null otherwise. */
    nextSealingKey: Uint8Array | null
    peppers: readonly { version: number; key: Uint8Array }[]
  } | null
  tls: { certFile: string; keyFile: string } | null
  trustedHops: number
  /** Null disables rate limits. Only in the development profile. */
  limits: Limits | null
  logLevel: LogLevel
  databaseConnections: number
  databaseStatementSeconds: number
  auditCheckpointSeconds: number
  /** Endpoint for spans (OTLP over HTTP); null disables tracing. */
  traceEndpoint: string | null
  /** The output file of `keys root sign`. Null in the development profile and if messaging is disabled. */
  issuerKeySetFile: string | null
  /** Maximum number of devices in a new conversation. */
  leavesPerConversation: number
  /** Push hints; null disables them. */
  push: PushSettings | null
  /** Storage of attachments. */
  blobs: BlobSettings
  /** The app whose administrators sign in to the console; null: production serves no console. */
  consoleAppId: string | null
}

const logLevels = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const
export type LogLevel = (typeof logLevels)[number]

const mostWorkers = 64

interface Setting {
  name: string
  default: string
  what: string
}

export const settings: readonly Setting[] = [
  {
    name: "HOST",
    default: "127.0.0.1",
    what: "Address to listen on. The default is loopback, so that nothing becomes public by accident.",
  },
  { name: "PORT", default: "8080", what: "Port for Connect, gRPC, gRPC-Web and REST; 0 selects a free port." },
  {
    name: "ADMIN_HOST",
    default: "127.0.0.1",
    what: "Address for /metrics. Change it only where the network is private, as inside a cluster.",
  },
  { name: "ADMIN_PORT", default: "9464", what: "Port for /metrics; 0 selects a free port." },
  {
    name: "SIGNET_WORKERS",
    default: "one for each core up to 4 in production, else 1",
    what: `Processes behind the port, 1 to ${mostWorkers} (see below). The development profile has one.`,
  },
  {
    name: "DATABASE_URL",
    default: "–",
    what: "PostgreSQL connection URL. Of several hosts, with commas, the server uses the one that accepts writes. Without it the server uses PGlite in the data folder.",
  },
  {
    name: "DATABASE_DIRECT_URL",
    default: "DATABASE_URL",
    what: "Address without a pooler, for notifications between processes (see below).",
  },
  {
    name: "DATABASE_NAMED_STATEMENTS",
    default: "on",
    what: "`off` behind a pooler that does not know prepared statements, such as PgBouncer before 1.21.",
  },
  {
    name: "DATABASE_CONNECTIONS",
    default: "16",
    what: "Maximum number of PostgreSQL connections, 1 to 500. Workers share them evenly.",
  },
  {
    name: "DATABASE_STATEMENT_SECONDS",
    default: "30",
    what: "Statement timeout on PostgreSQL in seconds, 1 to 600. The lock timeout is half of it, the idle-transaction timeout a third.",
  },
  { name: "SIGNET_DATA", default: "./.signet", what: "Folder for PGlite and for the development profile's secrets." },
  {
    name: "SIGNET_PROFILE",
    default: "development on loopback without DATABASE_URL, else production",
    what: "`development` adds stand-in providers and a seeded app; `production` refuses to start with either.",
  },
  {
    name: "SIGNET_ISSUER",
    default: "http://HOST:PORT in development",
    what: "Issuer of tokens (`iss`): an https URL without a path.",
  },
  { name: "SIGNET_AUTH_AUDIENCE", default: "auth", what: "The service's own audience." },
  {
    name: "SIGNET_MESSAGING_AUDIENCE",
    default: "SIGNET_AUTH_AUDIENCE",
    what: "Audience of tokens for the messaging services.",
  },
  {
    name: "SIGNET_ISSUER_KEY_SET",
    default: "–",
    what: "File with the issuer key set, signed by the root key (see below). Production requires it for messaging.",
  },
  {
    name: "SIGNET_CONVERSATION_LEAVES",
    default: String(maxCount.leaves.default),
    what: `Maximum number of devices of a new conversation, 2 to ${maxCount.leaves.most}. Existing conversations keep their limit.`,
  },
  {
    name: "SIGNET_BLOBS",
    default: "SIGNET_DATA/blobs",
    what: "Store of attachments: a folder, or `s3://BUCKET?endpoint=https://HOST&region=REGION` (see below).",
  },
  { name: "SIGNET_BLOBS_KEY_ID", default: "–", what: "Access key id for the bucket." },
  { name: "SIGNET_BLOBS_SECRET", default: "–", what: "Secret access key for the bucket." },
  {
    name: "SIGNET_PUSH_HOSTS",
    default: "–",
    what: "Enables push hints (see below): host names that endpoints may have, with commas; `*.push.example` allows each subdomain.",
  },
  {
    name: "SIGNET_PUSH_KEY",
    default: "–",
    what: "P-256 private key that signs push hints: PKCS #8 in DER, as base64.",
  },
  {
    name: "SIGNET_PUSH_CONTACT",
    default: "–",
    what: "How a push provider reaches you: a `mailto:` or `https:` URI, which each push contains.",
  },
  { name: "SIGNET_ACCESS_TOKEN_SECONDS", default: "600", what: "Lifetime of access tokens in seconds, 300 to 900." },
  {
    name: "SIGNET_AUDIT_CHECKPOINT_SECONDS",
    default: "3600",
    what: "Interval of signed audit checkpoints in seconds, 60 to 86400.",
  },
  {
    name: "SIGNET_SEALING_KEY",
    default: "–",
    what: "Key that seals signing keys, provider secrets and personal fields of the audit log, and stamps the audit log: 32 bytes in base64.",
  },
  {
    name: "SIGNET_SEALING_KEY_NEXT",
    default: "–",
    what: "Next sealing key, during a rotation (see below).",
  },
  {
    name: "SIGNET_PEPPERS",
    default: "–",
    what: "Keys for the hashes of refresh tokens and other secrets: `version:key,…`, newest first, each 32 bytes in base64.",
  },
  {
    name: "TLS_CERT_FILE",
    default: "–",
    what: "File with the PEM certificate chain. With TLS_KEY_FILE the server uses TLS with ALPN.",
  },
  { name: "TLS_KEY_FILE", default: "–", what: "File with the PEM private key of the certificate." },
  {
    name: "SIGNET_TRUSTED_HOPS",
    default: "0",
    what: "Number of trusted proxies in front, whose X-Forwarded-For entries count: 0 to 8.",
  },
  {
    name: "SIGNET_LIMITS",
    default: "–",
    what: "Changes to the rate limits as JSON (see below); `off` disables them, in the development profile only.",
  },
  {
    name: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    default: "–",
    what: "OTLP/HTTP endpoint for OpenTelemetry spans. Without it the server only propagates the caller's trace context.",
  },
  {
    name: "SIGNET_CONSOLE_APP",
    default: "the seeded app in development",
    what: "Serves the console at /console, for administrators of this app: its id (`app_…`).",
  },
  { name: "LOG_LEVEL", default: "info", what: `One of ${logLevels.join(", ")}.` },
]

/** All errors in the settings, as sentences for the operator. */
export class ConfigError extends Error {
  override readonly name = "ConfigError"
}

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."))
}

/**
 * @param cores The cores that this process may use.
 * @throws ConfigError with one sentence per line.
 */
export function parseConfig(env: Environment, cores = availableParallelism()): Config {
  const problems: string[] = []
  const text = (name: string): string | undefined => env[name]?.trim() || undefined
  const number = (name: string, fallback: number, min: number, max: number): number => {
    const value = Number(text(name) ?? fallback)
    if (Number.isInteger(value) && value >= min && value <= max) return value
    problems.push(`${name} must be an integer from ${min} to ${max}.`)
    return fallback
  }

  const host = text("HOST") ?? "127.0.0.1"
  const port = number("PORT", 8080, 0, 65_535)
  const databaseUrl = text("DATABASE_URL") ?? null
  const isLocal = isLoopback(host) && databaseUrl === null
  const profile = text("SIGNET_PROFILE") ?? (isLocal ? "development" : "production")
  if (profile !== "development" && profile !== "production") {
    throw new ConfigError("SIGNET_PROFILE must be development or production.")
  }
  const isProduction = profile === "production"
  if (isProduction && databaseUrl === null) {
    problems.push("The production profile requires DATABASE_URL; for a trial set SIGNET_PROFILE=development.")
  }

  const issuer =
    text("SIGNET_ISSUER") ?? (isProduction ? undefined : `http://${host.includes(":") ? `[${host}]` : host}:${port}`)
  problems.push(...judgeIssuer(issuer, isProduction))

  const certFile = text("TLS_CERT_FILE")
  const keyFile = text("TLS_KEY_FILE")
  if ((certFile === undefined) !== (keyFile === undefined))
    problems.push("TLS_CERT_FILE and TLS_KEY_FILE must be set together.")

  const namesStatements = text("DATABASE_NAMED_STATEMENTS") ?? "on"
  if (!/^(on|off)$/.test(namesStatements)) problems.push("DATABASE_NAMED_STATEMENTS must be on or off.")

  const logLevel = logLevels.find((level) => level === (text("LOG_LEVEL") ?? "info"))
  if (logLevel === undefined) problems.push(`LOG_LEVEL must be one of ${logLevels.join(", ")}.`)

  const sealingKey = parseKey("SIGNET_SEALING_KEY", text("SIGNET_SEALING_KEY"), problems)
  const nextSealingKey = parseKey("SIGNET_SEALING_KEY_NEXT", text("SIGNET_SEALING_KEY_NEXT"), problems) ?? null
  if (nextSealingKey !== null && sealingKey === undefined) {
    problems.push("SIGNET_SEALING_KEY_NEXT needs SIGNET_SEALING_KEY.")
  }
  if (nextSealingKey !== null && sealingKey !== undefined && Buffer.compare(sealingKey, nextSealingKey) === 0) {
    problems.push("SIGNET_SEALING_KEY_NEXT must differ from SIGNET_SEALING_KEY.")
  }
  const peppers = parsePeppers(text("SIGNET_PEPPERS"), problems)
  const hasSecrets = sealingKey !== undefined && peppers.length > 0
  if (isProduction && !hasSecrets)
    problems.push("The production profile requires SIGNET_SEALING_KEY and SIGNET_PEPPERS.")
  if (!isProduction && (sealingKey === undefined) !== (peppers.length === 0)) {
    problems.push("SIGNET_SEALING_KEY and SIGNET_PEPPERS must be set together.")
  }

  const consoleAppId = text("SIGNET_CONSOLE_APP") ?? null
  if (consoleAppId !== null && parseId("app", consoleAppId) === undefined) {
    problems.push("SIGNET_CONSOLE_APP must be the id of an app (`app_…`).")
  }

  const dataFolder = text("SIGNET_DATA") ?? "./.signet"
  const databaseConnections = number("DATABASE_CONNECTIONS", 16, 1, 500)
  const workers = number("SIGNET_WORKERS", isProduction ? Math.min(4, cores, databaseConnections) : 1, 1, mostWorkers)
  if (!isProduction && workers > 1) problems.push("SIGNET_WORKERS must be 1 in the development profile.")
  if (workers > databaseConnections) problems.push("SIGNET_WORKERS must not be greater than DATABASE_CONNECTIONS.")
  const config: Config = {
    profile,
    host,
    port,
    adminHost: text("ADMIN_HOST") ?? "127.0.0.1",
    adminPort: number("ADMIN_PORT", 9464, 0, 65_535),
    workers,
    databaseUrl,
    databaseDirectUrl: text("DATABASE_DIRECT_URL") ?? null,
    databaseNamesStatements: namesStatements === "on",
    dataFolder,
    issuer: issuer ?? "",
    authAudience: text("SIGNET_AUTH_AUDIENCE") ?? "auth",
    messagingAudience: text("SIGNET_MESSAGING_AUDIENCE") ?? text("SIGNET_AUTH_AUDIENCE") ?? "auth",
    accessTokenSeconds: number("SIGNET_ACCESS_TOKEN_SECONDS", 600, 300, 900),
    secrets: hasSecrets ? { sealingKey, nextSealingKey, peppers } : null,
    tls: certFile && keyFile ? { certFile, keyFile } : null,
    limits: limitsOf(text("SIGNET_LIMITS"), isProduction, problems),
    trustedHops: number("SIGNET_TRUSTED_HOPS", 0, 0, 8),
    logLevel: logLevel ?? "info",
    databaseConnections,
    databaseStatementSeconds: number("DATABASE_STATEMENT_SECONDS", 30, 1, 600),
    auditCheckpointSeconds: number("SIGNET_AUDIT_CHECKPOINT_SECONDS", 3_600, 60, 86_400),
    traceEndpoint: text("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") ?? null,
    issuerKeySetFile: text("SIGNET_ISSUER_KEY_SET") ?? null,
    leavesPerConversation: number("SIGNET_CONVERSATION_LEAVES", maxCount.leaves.default, 2, maxCount.leaves.most),
    push: parsePushSettings(
      { hosts: text("SIGNET_PUSH_HOSTS"), key: text("SIGNET_PUSH_KEY"), contact: text("SIGNET_PUSH_CONTACT") },
      !isProduction,
      problems,
    ),
    blobs: parseBlobSettings(
      {
        place: text("SIGNET_BLOBS"),
        keyId: text("SIGNET_BLOBS_KEY_ID"),
        secret: text("SIGNET_BLOBS_SECRET"),
        dataFolder,
        isProduction,
      },
      problems,
    ),
    consoleAppId,
  }
  if (problems.length > 0) throw new ConfigError(problems.join("\n"))
  return config
}

function judgeIssuer(issuer: string | undefined, isProduction: boolean): string[] {
  if (issuer === undefined) return ["The production profile requires SIGNET_ISSUER."]
  if (!URL.canParse(issuer)) return ["SIGNET_ISSUER must be a URL."]
  const url = new URL(issuer)
  if (url.origin !== issuer)
    return ["SIGNET_ISSUER must be an origin: scheme, host and port, without a trailing slash."]
  if (isProduction && url.protocol !== "https:" && !isLoopback(url.hostname)) return ["SIGNET_ISSUER must be https."]
  return []
}

function limitsOf(text: string | undefined, isProduction: boolean, problems: string[]): Limits | null {
  if (text === undefined) return defaultLimits
  if (text === "off") {
    if (isProduction) problems.push("SIGNET_LIMITS can be off only in the development profile.")
    return null
  }
  const parsed = parseLimits(text)
  if (!("problems" in parsed)) return parsed
  problems.push(...parsed.problems.map((problem) => `SIGNET_LIMITS: ${problem}`))
  return defaultLimits
}
