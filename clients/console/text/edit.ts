import { plural } from "./frame.ts"

export const edit = {
  edit: "Edit",
  /** The title of a form over one record. */
  of: (name: string) => `Edit ${name}`,
  newSecret: "New client secret",
  newSecretHint: "Empty keeps the stored one",
  connectionSignup: "People without an invitation may sign in with it",
  scopesHint: "In addition to the app's default scopes, one per line",
  shownName: "Name that the app shows",
  field: "Field",
  opened: "When you opened it",
  now: "Now",
  unsaved: (count: number) => `${plural(count, "field has", "fields have")} unsaved changes.`,
  conflict: "Somebody else has changed this since you opened it. Nothing was saved.",
  conflictNext: "Look at what changed, load the current state, then make your change again.",
  reload: "Load the current state",
}
