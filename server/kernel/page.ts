/** A page of a listing, newest first, that begins after the cursor `before`. */
export interface Page {
  size: number
  before: { createdAtMs: number; id: string } | null
}
