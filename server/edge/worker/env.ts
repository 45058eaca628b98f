// The Worker's bindings, settings and secrets. docs/reference/edge.md has the same table; a test compares the two.
import type { KeyValueStore } from "@signet/guard/kv-cache"
import type { CounterObject } from "../../store/durable/counter/object.ts"
import type { DurableEnv, Objects } from "../../store/durable/env.ts"
import type { FeedObject } from "./feed/object.ts"

export interface WorkerEnv extends DurableEnv, SettingTexts {
  /** By the keyed hash of the counted subject. */
  readonly COUNTERS: Objects<CounterObject>
  /** By continent: the readers of the revocation feed. */
  readonly FEEDS: Objects<FeedObject>
  /** Caches the issuer's key set. */
  readonly KEYS: KeyValueStore
  /** Parts of attachments. */
  readonly BLOBS: R2Bucket
}

/** Setting values as bound. Secrets are bound as secrets. */
export type SettingTexts = Readonly<Partial<Record<SettingName, string>>>

interface Setting {
  readonly name: string
  readonly isSecret: boolean
  readonly default: string
  readonly what: string
}

export const settings = [
  {
    name: "SIGNET_PROFILE",
    isSecret: false,
    default: "production",
    what: "`development` accepts http addresses and `SIGNET_LIMITS=off`.",
  },
  {
    name: "SIGNET_ISSUER",
    isSecret: false,
    default: "–",
    what: "Issuer: the auth service's `iss`, an https URL without a path.",
  },
  {
    name: "SIGNET_AUTH_URL",
    isSecret: false,
    default: "SIGNET_ISSUER",
    what: "Address of the auth service: an https URL without a path.",
  },
  { name: "SIGNET_AUTH_AUDIENCE", isSecret: false, default: "auth", what: "The auth service's own audience." },
  {
    name: "SIGNET_MESSAGING_AUDIENCE",
    isSecret: false,
    default: "SIGNET_AUTH_AUDIENCE",
    what: "Accepted audience of access tokens.",
  },
  {
    name: "SIGNET_ROOT_KEY",
    isSecret: false,
    default: "–",
    what: "Public root key of the issuer's key set, which clients pin: 32 bytes in base64.",
  },
  {
    name: "SIGNET_ALLOWED_ORIGINS",
    isSecret: false,
    default: "–",
    what: "Allowed origins of web apps, comma-separated.",
  },
  {
    name: "SIGNET_LIMITS",
    isSecret: false,
    default: "–",
    what: "Changes to the rate limits as JSON; `off` disables them, in the development profile only.",
  },
  {
    name: "SIGNET_CONVERSATION_LEAVES",
    isSecret: false,
    default: "512",
    what: "Maximum number of devices of a new conversation, 2 to 1000. Existing conversations keep their limit.",
  },
  {
    name: "SIGNET_PUSH_HOSTS",
    isSecret: false,
    default: "–",
    what: "Enables push hints: host names of Web Push services, with commas; `*.push.example` allows each subdomain.",
  },
  {
    name: "SIGNET_PUSH_KEY",
    isSecret: true,
    default: "–",
    what: "P-256 private key that signs push hints: PKCS #8 in DER, as base64.",
  },
  {
    name: "SIGNET_PUSH_CONTACT",
    isSecret: false,
    default: "–",
    what: "How a push provider reaches you: a `mailto:` or `https:` URI, which each push contains.",
  },
  {
    name: "SIGNET_CLIENT_ID",
    isSecret: false,
    default: "–",
    what: "Client id of this backend's service account at the auth service.",
  },
  { name: "SIGNET_CLIENT_SECRET", isSecret: true, default: "–", what: "Client secret of that service account." },
  {
    name: "SIGNET_RECEIPT_KEY",
    isSecret: true,
    default: "–",
    what: "Ed25519 seed for commit receipts and claim tickets, the only signing key here: 32 bytes in base64.",
  },
  {
    name: "SIGNET_SEALING_KEY",
    isSecret: true,
    default: "–",
    what: "Key that seals page tokens: 32 bytes in base64.",
  },
  {
    name: "SIGNET_PEPPERS",
    isSecret: true,
    default: "–",
    what: "Keys for the hashes of rate-limit counters: `version:key,…`, newest first, each 32 bytes in base64.",
  },
] as const satisfies readonly Setting[]

type SettingName = (typeof settings)[number]["name"]

declare global {
  namespace Cloudflare {
    /** The type of `env` in `cloudflare:workers`. */
    interface Env extends WorkerEnv {}
  }
}
