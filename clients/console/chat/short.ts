/** The end of an id, which differs between people. */
export const short = (id: string): string => (id.startsWith("prn_") ? `prn_…${id.slice(-6)}` : id)
