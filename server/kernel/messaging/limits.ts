// Every number of the messaging service: GetLimits tells them, and whoever checks one reads it here. Sizes are bytes of
// the field as it is; times are milliseconds.

const kib = 1_024
const mib = 1_024 * kib
const second = 1_000
const minute = 60 * second
const day = 24 * 60 * minute

export const maxBytes = {
  application: 256 * kib,
  commit: 1.5 * mib,
  groupInfo: 64 * kib,
  tree: 4 * mib,
  /** A piece of a tree, as it is kept and as it is handed out. */
  treeChunk: mib,
  welcome: mib,
  /** With a proof of 256 subjects in its GroupInfo. */
  welcomeRecipient: 24 * kib,
  append: 4 * mib,
  keyPackage: 8 * kib,
  /** Signed, as it is in the AAD. */
  proof: 32_900,
  /** All envelopes of one ListMessages. */
  page: 4 * mib,
  welcomePage: mib,
  /** An envelope that comes along with a hint on a stream. */
  inlineEnvelope: 64 * kib,
  /** The winner that comes along with a conflict: over gRPC in trailers, as base64 in 64 KiB. */
  conflictEnvelope: 32 * kib,
  attachment: 100 * mib,
  attachmentPart: mib,
} as const

export const maxCount = {
  subjectsPerCommit: 256,
  /** What an app gets, and the most that the engine is known to carry. */
  leaves: { default: 512, most: 1_000 },
  devicesPerUser: 16,
  /** Entries of a device list, revoked devices among them. */
  listEntries: 256,
  conversationsPerUser: 5_000,
  keyPackagesPerUpload: 100,
  keyPackages: 200,
  envelopesPerPage: 200,
  openDirectives: 256,
  streamsPerDevice: 4,
} as const

export const keyPackagePool = { keep: 50, lowWater: 10 } as const

export const lifetimeMs = {
  credential: 400 * day,
  keyPackage: 35 * day,
  lastResort: 100 * day,
  /** A key package is not handed out in its last day. */
  keyPackageReserve: day,
  proof: 300 * second,
  claim: day,
  /** After its key package's end. */
  welcome: 7 * day,
  deviceRequest: 300 * second,
  /** A device proof counts for so long before and after its time. */
  deviceProof: 60 * second,
  idempotency: 14 * day,
  log: 90 * day,
  attachment: 90 * day,
  /** An upload that is not completed. */
  upload: day,
  presigned: 15 * minute,
} as const

export const directiveTimesMs = { lease: 10 * second, grace: 30 * second } as const

export const heartbeatMs = 20 * second

/** A member that called within this time is online. */
export const onlineMs = 2 * minute

/** A direct conversation is reset when no member that could help has called within this time. */
export const resetAfterMs = minute

export const rates = {
  claimPerTarget: { limit: 30, seconds: 3_600 },
  claim: { limit: 300, seconds: 3_600 },
  /** 20 a second for good, 60 at once. */
  append: { limit: 60, seconds: 3 },
  commit: { limit: 4, seconds: 2 },
  /** What a device asks for about members and places: proofs, leases, leaving, welcomes, acknowledgements. */
  change: { limit: 600, seconds: 60 },
  /** Streams that a device opens. */
  stream: { limit: 60, seconds: 60 },
  register: { limit: 10, seconds: 86_400 },
  forkReport: { limit: 10, seconds: 3_600 },
  rejoin: { limit: 10, seconds: 3_600 },
  reset: { limit: 10, seconds: 86_400 },
  createConversation: { limit: 60, seconds: 3_600 },
  attachment: { limit: 60, seconds: 60 },
  attachmentPart: { limit: 600, seconds: 60 },
  /** Each is 1 MiB at most: 10 GiB a day. */
  attachmentPartPerUser: { limit: 10_240, seconds: 86_400 },
} as const
