/** Text that shows as itself: no control characters, and none that turn the direction of what is read. */
const plain = /^[^\p{Cc}\p{Cs}\u200e\u200f\u202a-\u202e\u2066-\u2069]{0,255}$/u
const typePattern = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,62}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,62}$/

/** Whether a name is one of a file, and no path to it. */
export const isFileName = (name: string): boolean =>
  plain.test(name) && !/[/\\]/.test(name) && name !== "." && name !== ".."

/** `type/subtype` without parameters; empty for none. */
export const isMediaType = (type: string): boolean => type === "" || typePattern.test(type)
