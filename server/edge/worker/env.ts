// What the Worker is deployed with: bindings, settings and secrets. docs/reference/edge.md repeats the table and a test holds the two
// together.
import type { KeyValueStore } from "@signet/guard/kv-cache"
import type { CounterObject } from "../../store/durable/counter/object.ts"
import type { DurableEnv, Objects } from "../../store/durable/env.ts"
import type { FeedObject } from "./feed/object.ts"

export interface WorkerEnv extends DurableEnv, SettingTexts {
  /** By the keyed hash of what is counted. */
  readonly COUNTERS: Objects<CounterObject>
  /** By continent: who reads the revocation feed for the isolates there. */
  readonly FEEDS: Objects<FeedObject>
  /** For the issuer's keys alone. */
  readonly KEYS: KeyValueStore
  /** Parts of attachments. */
  readonly BLOBS: R2Bucket
}

/** Values as they are bound; secrets are bound as secrets. */
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
    what: "`development` takes http addresses and lets `SIGNET_LIMITS` be off.",
  },
  {
    name: "SIGNET_ISSUER",
    isSecret: false,
    default: "–",
    what: "The tokens' `iss`, as the auth service has it: an https URL without path.",
  },
  {
    name: "SIGNET_AUTH_URL",
    isSecret: false,
    default: "SIGNET_ISSUER",
    what: "Where the auth service answers: an https URL without path.",
  },
  { name: "SIGNET_AUTH_AUDIENCE", isSecret: false, default: "auth", what: "The auth service's own audience." },
  {
    name: "SIGNET_MESSAGING_AUDIENCE",
    isSecret: false,
    default: "SIGNET_AUTH_AUDIENCE",
    what: "The audience of the tokens that are taken here.",
  },
  {
    name: "SIGNET_ROOT_KEY",
    isSecret: false,
    default: "–",
    what: "32 bytes as base64: the public root that signs the issuer's key set, the one that clients pin.",
  },
  {
    name: "SIGNET_ALLOWED_ORIGINS",
    isSecret: false,
    default: "–",
    what: "Origins of web apps that may call, with a comma between.",
  },
  {
    name: "SIGNET_LIMITS",
    isSecret: false,
    default: "–",
    what: "Changes to the rate limits as JSON; `off`, in the development profile only, counts nothing.",
  },
  {
    name: "SIGNET_CONVERSATION_LEAVES",
    isSecret: false,
    default: "512",
    what: "Devices that a new conversation may have at most, 2 to 1000. Older ones keep what they were made with.",
  },
  {
    name: "SIGNET_CLIENT_ID",
    isSecret: false,
    default: "–",
    what: "The service account that this backend is at the auth service.",
  },
  { name: "SIGNET_CLIENT_SECRET", isSecret: true, default: "–", what: "The secret of that service account." },
  {
    name: "SIGNET_RECEIPT_KEY",
    isSecret: true,
    default: "–",
    what: "32 bytes as base64: the Ed25519 seed that receipts and claim tickets are signed with. The only signing key here.",
  },
  {
    name: "SIGNET_SEALING_KEY",
    isSecret: true,
    default: "–",
    what: "32 bytes as base64: seals page tokens.",
  },
  {
    name: "SIGNET_PEPPERS",
    isSecret: true,
    default: "–",
    what: "`version:key,…`, newest first, each 32 bytes as base64: keyed hashes of what is counted.",
  },
] as const satisfies readonly Setting[]

export type SettingName = (typeof settings)[number]["name"]

declare global {
  namespace Cloudflare {
    /** What `env` of `cloudflare:workers` is. */
    interface Env extends WorkerEnv {}
  }
}
