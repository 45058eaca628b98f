/** Returns one sentence per broken rule; none when the value is in order. */
export type Check = (value: unknown) => string[]

/** A check of one rule, which says the sentence when the value breaks it. */
export const unless =
  <T>(isOf: (value: unknown) => value is T, isFine: (value: T) => boolean, sentence: string): Check =>
  (value) => {
    // A value of another type is a fault of the program: the message was read by its schema.
    if (!isOf(value)) throw new TypeError(`a value does not match its schema: ${sentence}`)
    return isFine(value) ? [] : [sentence]
  }
