// What the Worker is bound to, by the names that its environment has them by. wrangler.jsonc says the same, and a test
// holds the two together.

/** The objects, each with its own SQLite database: the binding and the class. */
export const objects = {
  CONVERSATIONS: "ConversationObject",
  DEVICES: "DeviceObject",
  USERS: "UserObject",
  NAMES: "NameObject",
  ATTACHMENTS: "AttachmentObject",
  PLACES: "PlaceObject",
  COUNTERS: "CounterObject",
  FEEDS: "FeedObject",
} as const

export const keyValueNamespaces = ["KEYS"] as const
export const buckets = ["BLOBS"] as const

export const compatibility = {
  date: "2026-06-01",
  // The second tells a call that its caller went away: a stream would never end otherwise.
  flags: ["nodejs_compat", "enable_request_signal"],
} as const
