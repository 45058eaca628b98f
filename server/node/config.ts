// Every setting of the server program: what it is, its unit, its default and why. docs/reference/operations.md repeats the table
// and a test holds the two together.
import { isIP } from "node:net"
import { defaultLimits, type Limits } from "@signet/kernel/limits/policy"
import { parseLimits } from "@signet/kernel/limits/settings"
import { maxCount } from "@signet/kernel/messaging/limits"
import { parseKey, parsePeppers } from "../keys/key-settings.ts"
import { type BlobSettings, parseBlobSettings } from "./open-blobs.ts"

export type Environment = Readonly<Record<string, string | undefined>>

export interface Config {
  profile: "development" | "production"
  host: string
  port: number
  adminPort: number
  databaseUrl: string | null
  dataFolder: string
  /** The tokens' `iss` and the base of every address that the service tells. Without a slash at the end. */
  issuer: string
  authAudience: string
  messagingAudience: string
  accessTokenSeconds: number
  /** Null in the development profile, where they are made once and kept in the data folder. */
  secrets: {
    sealingKey: Uint8Array
    /** The other sealing key while a rotation lasts; null otherwise. */
    nextSealingKey: Uint8Array | null
    peppers: readonly { version: number; key: Uint8Array }[]
  } | null
  tls: { certFile: string; keyFile: string } | null
  trustedHops: number
  /** Null counts no calls: only in the development profile. */
  limits: Limits | null
  logLevel: LogLevel
  databaseConnections: number
  databaseStatementSeconds: number
  auditCheckpointSeconds: number
  /** Where spans are sent (OTLP over HTTP); null for nowhere. */
  traceEndpoint: string | null
  /** What `keys root sign` wrote; null in the development profile, and where messaging is not offered. */
  issuerKeySetFile: string | null
  /** Devices that a new conversation may have. */
  leavesPerConversation: number
  /** Where attachments are kept. */
  blobs: BlobSettings
}

const logLevels = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const
export type LogLevel = (typeof logLevels)[number]

interface Setting {
  name: string
  default: string
  what: string
}

export const settings: readonly Setting[] = [
  {
    name: "HOST",
    default: "127.0.0.1",
    what: "Address to listen on. Loopback, so that nothing is public by accident.",
  },
  { name: "PORT", default: "8080", what: "Port for Connect, gRPC, gRPC-Web and REST; 0 takes a free one." },
  { name: "ADMIN_PORT", default: "9464", what: "Loopback port for /metrics; 0 takes a free one." },
  { name: "DATABASE_URL", default: "–", what: "PostgreSQL to use; without it, PGlite in the data folder." },
  { name: "DATABASE_CONNECTIONS", default: "16", what: "Connections to PostgreSQL at most, 1 to 500." },
  {
    name: "DATABASE_STATEMENT_SECONDS",
    default: "30",
    what: "What a statement may take on PostgreSQL at most, 1 to 600; half of it a wait for a lock, a third an idle transaction.",
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
    what: "The tokens' `iss`: an https URL without path.",
  },
  { name: "SIGNET_AUTH_AUDIENCE", default: "auth", what: "The service's own audience." },
  {
    name: "SIGNET_MESSAGING_AUDIENCE",
    default: "SIGNET_AUTH_AUDIENCE",
    what: "The audience of the messaging services' tokens.",
  },
  {
    name: "SIGNET_ISSUER_KEY_SET",
    default: "–",
    what: "File with the issuer key set that the root has signed (see below); production needs it to offer messaging.",
  },
  {
    name: "SIGNET_CONVERSATION_LEAVES",
    default: String(maxCount.leaves.default),
    what: `Devices that a new conversation may have at most, 2 to ${maxCount.leaves.most}. Older ones keep what they were made with.`,
  },
  {
    name: "SIGNET_BLOBS",
    default: "SIGNET_DATA/blobs",
    what: "Where attachments are kept: a folder, or `s3://BUCKET?endpoint=https://HOST&region=REGION` (see below).",
  },
  { name: "SIGNET_BLOBS_KEY_ID", default: "–", what: "Access key id of the bucket." },
  { name: "SIGNET_BLOBS_SECRET", default: "–", what: "Secret access key of the bucket." },
  { name: "SIGNET_ACCESS_TOKEN_SECONDS", default: "600", what: "Lifetime of access tokens, 300 to 900 seconds." },
  {
    name: "SIGNET_AUDIT_CHECKPOINT_SECONDS",
    default: "3600",
    what: "How often the ends of the audit's chains are signed, 60 to 86400 seconds.",
  },
  {
    name: "SIGNET_SEALING_KEY",
    default: "–",
    what: "32 bytes as base64: seals signing keys, provider secrets and the audit's personal fields at rest, and stamps the audit.",
  },
  {
    name: "SIGNET_SEALING_KEY_NEXT",
    default: "–",
    what: "The sealing key that takes over, while a rotation lasts (see below).",
  },
  {
    name: "SIGNET_PEPPERS",
    default: "–",
    what: "`version:key,…`, newest first, each 32 bytes as base64: hashes of refresh tokens and other secrets.",
  },
  { name: "TLS_CERT_FILE", default: "–", what: "PEM certificate chain; with TLS_KEY_FILE, serves TLS with ALPN." },
  { name: "TLS_KEY_FILE", default: "–", what: "PEM key of the certificate." },
  {
    name: "SIGNET_TRUSTED_HOPS",
    default: "0",
    what: "Proxies in front whose X-Forwarded-For entry is believed, 0 to 8.",
  },
  {
    name: "SIGNET_LIMITS",
    default: "–",
    what: "Changes to the rate limits as JSON (see below); `off`, in the development profile only, counts nothing.",
  },
  {
    name: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    default: "–",
    what: "Where OpenTelemetry spans are sent, over HTTP; without it they only pass their caller's trace on.",
  },
  { name: "LOG_LEVEL", default: "info", what: `One of ${logLevels.join(", ")}.` },
]

/** All that is wrong with the environment, in sentences for the operator. */
export class ConfigError extends Error {
  override readonly name = "ConfigError"
}

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."))
}

/** @throws ConfigError with one sentence a line. */
export function parseConfig(env: Environment): Config {
  const problems: string[] = []
  const text = (name: string): string | undefined => env[name]?.trim() || undefined
  const number = (name: string, fallback: number, min: number, max: number): number => {
    const value = Number(text(name) ?? fallback)
    if (Number.isInteger(value) && value >= min && value <= max) return value
    problems.push(`${name} must be a whole number from ${min} to ${max}.`)
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
    problems.push("The production profile needs DATABASE_URL; for a trial say SIGNET_PROFILE=development.")
  }

  const issuer =
    text("SIGNET_ISSUER") ?? (isProduction ? undefined : `http://${host.includes(":") ? `[${host}]` : host}:${port}`)
  problems.push(...judgeIssuer(issuer, isProduction))

  const certFile = text("TLS_CERT_FILE")
  const keyFile = text("TLS_KEY_FILE")
  if ((certFile === undefined) !== (keyFile === undefined)) problems.push("TLS_CERT_FILE and TLS_KEY_FILE go together.")

  const logLevel = logLevels.find((level) => level === (text("LOG_LEVEL") ?? "info"))
  if (logLevel === undefined) problems.push(`LOG_LEVEL must be one of ${logLevels.join(", ")}.`)

  const sealingKey = parseKey("SIGNET_SEALING_KEY", text("SIGNET_SEALING_KEY"), problems)
  const nextSealingKey = parseKey("SIGNET_SEALING_KEY_NEXT", text("SIGNET_SEALING_KEY_NEXT"), problems) ?? null
  if (nextSealingKey !== null && sealingKey === undefined) {
    problems.push("SIGNET_SEALING_KEY_NEXT needs SIGNET_SEALING_KEY.")
  }
  if (nextSealingKey !== null && sealingKey !== undefined && Buffer.compare(sealingKey, nextSealingKey) === 0) {
    problems.push("SIGNET_SEALING_KEY_NEXT must be another key than SIGNET_SEALING_KEY.")
  }
  const peppers = parsePeppers(text("SIGNET_PEPPERS"), problems)
  const hasSecrets = sealingKey !== undefined && peppers.length > 0
  if (isProduction && !hasSecrets) problems.push("The production profile needs SIGNET_SEALING_KEY and SIGNET_PEPPERS.")
  if (!isProduction && (sealingKey === undefined) !== (peppers.length === 0)) {
    problems.push("SIGNET_SEALING_KEY and SIGNET_PEPPERS go together.")
  }

  const dataFolder = text("SIGNET_DATA") ?? "./.signet"
  const config: Config = {
    profile,
    host,
    port,
    adminPort: number("ADMIN_PORT", 9464, 0, 65_535),
    databaseUrl,
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
    databaseConnections: number("DATABASE_CONNECTIONS", 16, 1, 500),
    databaseStatementSeconds: number("DATABASE_STATEMENT_SECONDS", 30, 1, 600),
    auditCheckpointSeconds: number("SIGNET_AUDIT_CHECKPOINT_SECONDS", 3_600, 60, 86_400),
    traceEndpoint: text("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") ?? null,
    issuerKeySetFile: text("SIGNET_ISSUER_KEY_SET") ?? null,
    leavesPerConversation: number("SIGNET_CONVERSATION_LEAVES", maxCount.leaves.default, 2, maxCount.leaves.most),
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
  }
  if (problems.length > 0) throw new ConfigError(problems.join("\n"))
  return config
}

function judgeIssuer(issuer: string | undefined, isProduction: boolean): string[] {
  if (issuer === undefined) return ["The production profile needs SIGNET_ISSUER."]
  if (!URL.canParse(issuer)) return ["SIGNET_ISSUER must be a URL."]
  const url = new URL(issuer)
  if (url.origin !== issuer)
    return ["SIGNET_ISSUER must be an origin: scheme, host and port, without a slash at the end."]
  if (isProduction && url.protocol !== "https:" && !isLoopback(url.hostname)) return ["SIGNET_ISSUER must be https."]
  return []
}

function limitsOf(text: string | undefined, isProduction: boolean, problems: string[]): Limits | null {
  if (text === undefined) return defaultLimits
  if (text === "off") {
    if (isProduction) problems.push("SIGNET_LIMITS may be off in the development profile only.")
    return null
  }
  const parsed = parseLimits(text)
  if (!("problems" in parsed)) return parsed
  problems.push(...parsed.problems.map((problem) => `SIGNET_LIMITS: ${problem}`))
  return defaultLimits
}
