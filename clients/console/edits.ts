// Concurrent edits. A save sends the etag of the opened record, and only the fields that the person changed. The service
// refuses an outdated etag: the form then shows what somebody else has changed.
import { failureOf } from "@signet/client-web"

export type Fields = Readonly<Record<string, string | boolean | number>>

interface Conflict {
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
export const changedFields = <Form extends Fields>(opened: Form, edited: Form): readonly (keyof Form & string)[] =>
  Object.keys(edited).filter((field) => edited[field] !== opened[field])

interface Opened {
  readonly opened: Fields
  /** Reads the fields again, for the comparison that a conflict shows. */
  readonly read: () => Promise<Fields>
}

/** @throws EditConflict if the service refuses the etag of the save as outdated. */
export async function saveUnlessChanged<T>(save: () => Promise<T>, { opened, read }: Opened): Promise<T> {
  try {
    return await save()
  } catch (error) {
    const failure = failureOf(error)
    if (failure?.reason !== "ETAG_MISMATCH") throw error
    throw new EditConflict(conflictsOf(opened, await read(), failure.metadata.changed))
  }
}

/** The changed fields of the form; the names of the service, if it changed only fields that the form does not have. */
function conflictsOf(opened: Fields, now: Fields, changed = ""): readonly Conflict[] {
  const shown = Object.keys(opened)
    .filter((field) => opened[field] !== now[field])
    .map((field) => ({ field, opened: String(opened[field]), now: String(now[field]) }))
  if (shown.length > 0) return shown
  return changed.split(",").map((field) => ({ field, opened: "", now: "" }))
}
