// Where an actor's messages are posted, and who may post there.

/** The service that receives, by an audience that it owns, and a name of its choice. */
export interface Mailbox {
  readonly audience: string
  readonly name: string
}

const name = /^[A-Za-z0-9._-]{1,64}$/

/** `audience/name`; undefined for what is no mailbox. An audience may have slashes of its own. */
export function parseMailbox(text: string): Mailbox | undefined {
  const mailbox = split(text)
  return mailbox !== undefined && name.test(mailbox.name) ? mailbox : undefined
}

/** A mailbox, or `audience/*` for all of an audience; undefined for what is neither. */
export function parseMailboxPattern(text: string): Mailbox | undefined {
  const pattern = split(text)
  return pattern !== undefined && (pattern.name === "*" || name.test(pattern.name)) ? pattern : undefined
}

/** Whether one of the patterns is of this mailbox. */
export function isPostable(patterns: readonly string[], mailbox: string): boolean {
  const audience = parseMailbox(mailbox)?.audience
  return audience !== undefined && patterns.some((one) => one === mailbox || one === `${audience}/*`)
}

function split(text: string): Mailbox | undefined {
  const at = text.lastIndexOf("/")
  return at < 1 || at > 128 ? undefined : { audience: text.slice(0, at), name: text.slice(at + 1) }
}
