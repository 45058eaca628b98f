// Every setting of the server: meaning, unit, default and reason. docs/reference/operations.md repeats the table, and a
// test compares them.
import { maxCount } from "@signet/kernel/messaging/limits"

export const logLevels = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const
export type LogLevel = (typeof logLevels)[number]

export const mostWorkers = 64

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
    name: "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
    default: "–",
    what: "OTLP/HTTP endpoint (JSON) for metrics, once a minute, beside /metrics.",
  },
  {
    name: "SIGNET_CONSOLE_APP",
    default: "the seeded app in development",
    what: "Serves the console at /console, for administrators of this app: its id (`app_…`).",
  },
  {
    name: "SIGNET_CONSOLE_BACKEND",
    default: "–",
    what: "Origin of a second messaging backend that the console's chat offers, in the development profile.",
  },
  { name: "LOG_LEVEL", default: "info", what: `One of ${logLevels.join(", ")}.` },
]
