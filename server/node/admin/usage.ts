/** The arguments are not those of a command. Its message is what there is. */
export class UsageError extends Error {
  override readonly name = "UsageError"
}
