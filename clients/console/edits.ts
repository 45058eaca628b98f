// Concurrent edits. The contract has no etag: before saving, the console reads the record again and refuses to overwrite
// fields that somebody else has changed since the form was opened. A save sends only the fields that the person changed.
export type Fields = Readonly<Record<string, string | boolean | number>>

export interface Conflict {
  readonly field: string
  readonly opened: string
  readonly now: string
}

/** A save that was refused: the record has changed since the form was opened. */
export class EditConflict extends Error {
  override readonly name = "EditConflict"
  readonly conflicts: readonly Conflict[]

  constructor(conflicts: readonly Conflict[]) {
    super("the record has changed since it was opened")
    this.conflicts = conflicts
  }
}

/** The fields that the person changed. Empty: nothing is saved. */
export const changedFields = (opened: Fields, edited: Fields): readonly string[] =>
  Object.keys(edited).filter((field) => edited[field] !== opened[field])

/** @throws EditConflict if somebody else changed a field since `opened`, whether or not the person changed it, too. */
export function checkUnchanged(opened: Fields, now: Fields): void {
  const conflicts = Object.keys(opened)
    .filter((field) => opened[field] !== now[field])
    .map((field) => ({ field, opened: String(opened[field]), now: String(now[field]) }))
  if (conflicts.length > 0) throw new EditConflict(conflicts)
}
