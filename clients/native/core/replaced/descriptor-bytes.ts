/** Replaces base64Decode for descriptors of the contract: the build stores each byte as a character. */
export function base64Decode(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0))
}
