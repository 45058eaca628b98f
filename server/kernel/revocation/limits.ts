/** How often a stream says that nothing was revoked: well within the ten seconds that the strictest requirements wait. */
export const heartbeatMs = 3_000

/** Streams and waiting calls in one process. */
export const maxReaders = { ofOne: 16, ofAll: 1_000 } as const
