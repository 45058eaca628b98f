/** Interval of empty statements on a stream: well below ten seconds, the strictest freshness requirement. */
export const heartbeatMs = 3_000

/** Maximum number of streams and long-polling calls of one process. */
export const maxReaders = { ofOne: 16, ofAll: 1_000 } as const
