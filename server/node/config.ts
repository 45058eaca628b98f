// Parses the settings of the server, which settings.ts lists.
import { isIP } from "node:net"
import { availableParallelism } from "node:os"
import { parseId } from "@signet/kernel/ids"
import { defaultLimits, type Limits } from "@signet/kernel/limits/policy"
import { parseLimits } from "@signet/kernel/limits/settings"
import { maxCount } from "@signet/kernel/messaging/limits"
import { parseKey, parsePeppers } from "../keys/key-settings.ts"
import { type PushSettings, parsePushSettings } from "../pushes/push-settings.ts"
import { type BlobSettings, parseBlobSettings } from "./open-blobs.ts"
import { type LogLevel, logLevels, mostWorkers } from "./settings.ts"

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
  /** Endpoint for metrics (OTLP over HTTP); null sends none. */
  metricsEndpoint: string | null
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
  /** The origin of a second messaging backend that the chat offers; null for none. */
  consoleBackend: string | null
}

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
    metricsEndpoint: text("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT") ?? null,
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
    ...parseConsole({ app: text("SIGNET_CONSOLE_APP"), backend: text("SIGNET_CONSOLE_BACKEND") }, problems),
  }
  if (problems.length > 0) throw new ConfigError(problems.join("\n"))
  return config
}

function parseConsole(
  { app, backend }: { app: string | undefined; backend: string | undefined },
  problems: string[],
): Pick<Config, "consoleAppId" | "consoleBackend"> {
  if (app !== undefined && parseId("app", app) === undefined) {
    problems.push("SIGNET_CONSOLE_APP must be the id of an app (`app_…`).")
  }
  // It becomes part of the chat's policy.
  if (backend !== undefined && (!URL.canParse(backend) || new URL(backend).origin !== backend)) {
    problems.push("SIGNET_CONSOLE_BACKEND must be an origin: scheme, host and port, without a trailing slash.")
  }
  return { consoleAppId: app ?? null, consoleBackend: backend ?? null }
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
