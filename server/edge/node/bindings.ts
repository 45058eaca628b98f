// The Worker's bindings, by their names in its environment. wrangler.jsonc has the same; a test compares the two.

/** The Durable Object classes, each with its own SQLite database: binding and class. */
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
  // The second flag aborts a request's signal when its caller disconnects; otherwise a stream would never end.
  flags: ["nodejs_compat", "enable_request_signal"],
} as const
