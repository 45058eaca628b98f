/** Returns one sentence per broken rule; none for a valid value. */
export type Check = (value: unknown) => string[]

/** A check of one rule; returns `sentence` for a value that breaks it. */
export const unless =
  <T>(isOf: (value: unknown) => value is T, isFine: (value: T) => boolean, sentence: string): Check =>
  (value) => {
    // A value of another type is a bug: the message was decoded by its schema.
    if (!isOf(value)) throw new TypeError(`a value does not match its schema: ${sentence}`)
    return isFine(value) ? [] : [sentence]
  }
