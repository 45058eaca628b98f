// All limits of the messaging service. GetLimits returns them and every check reads them here. Sizes are bytes of the
// encoded field; times are milliseconds.

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
  /** A stored and transferred piece of a tree. */
  treeChunk: mib,
  welcome: mib,
  /** Leaves room for a proof of 256 subjects in the GroupInfo. */
  welcomeRecipient: 24 * kib,
  append: 4 * mib,
  keyPackage: 8 * kib,
  /** Signed, as carried in the AAD. */
  proof: 32_900,
  /** All envelopes of one ListMessages response. */
  page: 4 * mib,
  welcomePage: mib,
  /** An envelope that is sent inline with a hint on a stream. */
  inlineEnvelope: 64 * kib,
  /** The winning commit in a conflict error: gRPC sends it base64-encoded in trailers, which hold 64 KiB. */
  conflictEnvelope: 32 * kib,
  attachment: 100 * mib,
  attachmentPart: mib,
  /** All archives of a user at a place. */
  archives: 2_048 * mib,
} as const

export const maxCount = {
  subjectsPerCommit: 256,
  /** The default for an app, and the maximum that the engine is tested with. */
  leaves: { default: 512, most: 1_000 },
  devicesPerUser: 16,
  /** Entries of a device list, including revoked devices. */
  listEntries: 256,
  conversationsPerUser: 5_000,
  keyPackagesPerUpload: 100,
  keyPackages: 200,
  envelopesPerPage: 200,
  openDirectives: 256,
  streamsPerDevice: 4,
  blocksPerUser: 1_000,
  /** Transfers and backups of a user, including those whose chunks are not erased yet. */
  archivesPerUser: 8,
  chunksPerArchive: 4_096,
} as const

export const keyPackagePool = { keep: 50, lowWater: 10 } as const

export const lifetimeMs = {
  credential: 400 * day,
  keyPackage: 35 * day,
  lastResort: 100 * day,
  /** Claims do not return a key package in its last day. */
  keyPackageReserve: day,
  proof: 300 * second,
  claim: day,
  /** Counted from the expiry of its key package. */
  welcome: 7 * day,
  deviceRequest: 300 * second,
  /** A device proof is valid for this time before and after its timestamp. */
  deviceProof: 60 * second,
  idempotency: 14 * day,
  log: 90 * day,
  attachment: 90 * day,
  /** An incomplete upload. */
  upload: day,
  presigned: 15 * minute,
  /** A transfer that is not granted. */
  transferRequest: 10 * minute,
  /** A granted transfer. */
  transfer: 7 * day,
  /** A backup that is not read. */
  backup: 400 * day,
} as const

export const directiveTimesMs = {
  /** During a lease only its holder may commit the directive. */
  lease: 2 * second,
  /** After it an open removal blocks other commits and messages. */
  grace: { COMMIT: second, APPLICATION: 5 * second },
} as const

export const heartbeatMs = 20 * second

/** A member that called within this time counts as online. */
export const onlineMs = 2 * minute

/**
 * A direct conversation may be reset if no member that could help has called within this time, or if none has helped
 * for this time.
 */
export const resetAfterMs = minute

/**
 * The distance of a reset, or of the removal of a rejoining device, from the end of a log that has lost envelopes: more
 * than were assigned since any backup, and a small part of all sequence numbers.
 */
export const lostSeqGap = 2n ** 20n

export const rates = {
  claimPerTarget: { limit: 30, seconds: 3_600 },
  claim: { limit: 300, seconds: 3_600 },
  /** 20 a second sustained, bursts of 60. */
  append: { limit: 60, seconds: 3 },
  commit: { limit: 4, seconds: 2 },
  /** Membership calls of a device: proofs, leases, leaving, welcomes, acknowledgements, blocks. */
  change: { limit: 600, seconds: 60 },
  /** Opened streams of a device. */
  stream: { limit: 60, seconds: 60 },
  register: { limit: 10, seconds: 86_400 },
  forkReport: { limit: 10, seconds: 3_600 },
  rejoin: { limit: 10, seconds: 3_600 },
  /** Requests of a new device, in one conversation each. */
  admission: { limit: 600, seconds: 3_600 },
  /** Pages of at most 50 lost envelopes. */
  resubmit: { limit: 120, seconds: 60 },
  reset: { limit: 10, seconds: 86_400 },
  createConversation: { limit: 60, seconds: 3_600 },
  attachment: { limit: 60, seconds: 60 },
  attachmentPart: { limit: 600, seconds: 60 },
  /** Each part has at most 1 MiB: 10 GiB a day. */
  attachmentPartPerUser: { limit: 10_240, seconds: 86_400 },
} as const
