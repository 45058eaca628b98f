import { BoxFailure } from "@signet/proto/host/v1/host"
import { SecretBoxError, type SecretBoxReason } from "../../core/secret-box.ts"

const messages: Readonly<Record<string, string>> = {
  SECURE_STORE_UNAVAILABLE: "there is no secure store: set one up, or choose a passphrase",
  SECURE_STORE_CHANGED: "the secure store is another one, or does not have the key that sealed the data",
  LOCKED: "the secure store is locked: unlock it and try again",
  WRONG_USER: "the data was sealed for another user, app or tenant",
  WRONG_PASSPHRASE: "the passphrase is wrong",
  KEY_MISSING: "the scope has no key",
  KEY_INVALIDATED: "the platform invalidated the key",
  STATE_TAMPERED: "the data was changed, or sealed for another purpose",
  STATE_NEWER_VERSION: "a later version of this program sealed the data",
  INSECURE_CONTEXT: "the page is not in a secure context",
} satisfies Record<SecretBoxReason, string>

/** The error of a secret box that refused, by its number in BoxFailure. */
export function boxError(failure: number): SecretBoxError {
  const name = Object.entries(BoxFailure).find(([, number]) => number === failure)?.[0]
  const reason = isReason(name) ? name : "SECURE_STORE_UNAVAILABLE"
  return new SecretBoxError(reason, messages[reason] ?? reason)
}

const isReason = (name: string | undefined): name is SecretBoxReason =>
  name !== undefined && Object.hasOwn(messages, name)
