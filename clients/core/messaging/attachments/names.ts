/** No control characters, surrogates or bidirectional overrides, which could disguise a file name. */
const plain = /^[^\p{Cc}\p{Cs}\u200e\u200f\u202a-\u202e\u2066-\u2069]{0,255}$/u
const typePattern = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,62}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,62}$/

/** True for a file name without a path. */
export const isFileName = (name: string): boolean =>
  plain.test(name) && !/[/\\]/.test(name) && name !== "." && name !== ".."

/** True for `type/subtype` without parameters, and for the empty string. */
export const isMediaType = (type: string): boolean => type === "" || typePattern.test(type)
